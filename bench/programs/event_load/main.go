// Event_load is clients that hold many streams of events open. In: URL, the certificate's authority
// (a file; empty without TLS), the version of HTTP, connections, streams on each, seconds. Out: the
// line "open" when each stream has brought an event, then a line of JSON, see report, while all are
// still open; they end with standard input.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pingress.io/bench/internal/latency"
)

type report struct {
	latency.Report
	// Streams that were refused, cut off, or brought fewer events than they should have.
	Errors int `json:"errors"`
	// In ms.
	Duration float64 `json:"duration"`
}

const (
	// Until each stream has brought an event.
	patience = 20 * time.Second
	// Requests under way on their way to an open stream.
	opening = 64
)

type load struct {
	streams []stream
	// Whether events count.
	counting atomic.Bool
	ended    atomic.Int32
	opened   chan error
	slots    chan struct{}
}

type stream struct {
	lock      sync.Mutex
	isOpen    bool
	latencies []time.Duration
}

func main() {
	// What is measured is not to wait for this program's collector: it allocates little.
	debug.SetGCPercent(-1)
	url, authority := os.Args[1], os.Args[2]
	version, connections, streams, seconds := argument(3), argument(4), argument(5), argument(6)
	expected := connections * streams
	all := &load{
		streams: make([]stream, expected),
		opened:  make(chan error, expected),
		slots:   make(chan struct{}, opening),
	}
	for connection := range connections {
		transport, err := transportFor(version, authority)
		if err != nil {
			log.Fatal(err)
		}
		go all.connect(transport, url, connection*streams, streams)
	}
	timeout := time.After(patience)
	for open := range expected {
		select {
		case err := <-all.opened:
			if err != nil {
				log.Fatal(err)
			}
		case <-timeout:
			log.Fatalf("%d of %d streams brought an event", open, expected)
		}
	}
	fmt.Println("open")
	begin := time.Now()
	all.counting.Store(true)
	time.Sleep(time.Duration(seconds) * time.Second)
	all.counting.Store(false)
	duration := time.Since(begin)
	if err := json.NewEncoder(os.Stdout).Encode(all.report(duration, seconds)); err != nil {
		log.Fatal(err)
	}
	io.Copy(io.Discard, os.Stdin)
}

func argument(index int) int {
	value, err := strconv.Atoi(os.Args[index])
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// TransportFor is one connection, of the version that is asked for and no other.
func transportFor(version int, authority string) (*http.Transport, error) {
	protocols := new(http.Protocols)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true, ReadBufferSize: 1024}
	if version == 1 {
		protocols.SetHTTP1(true)
		return transport, nil
	}
	protocols.SetHTTP2(true)
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", authority)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	// Names of the benchmark's certificate are for this machine, and nothing else is to be dialled.
	var connected atomic.Bool
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Swap(true) {
			return nil, errors.New("more streams than one connection carries")
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return transport, nil
}

// Connect holds streams open on one connection. The first one opens it; the others share it.
func (all *load) connect(transport *http.Transport, url string, from, count int) {
	for index := range count {
		all.slots <- struct{}{}
		response, err := get(transport, url)
		<-all.slots
		if err != nil {
			all.end(from+index, err)
			continue
		}
		go func() { all.end(from+index, all.listen(response, &all.streams[from+index])) }()
	}
}

func get(transport *http.Transport, url string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := transport.RoundTrip(request)
	if err == nil && response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("a stream ended before its first event: %s", response.Status)
	}
	return response, err
}

// Listen takes events until the stream ends.
func (all *load) listen(response *http.Response, one *stream) error {
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		text, isEvent := strings.CutPrefix(lines.Text(), "data: ")
		if !isEvent {
			continue
		}
		micros, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		all.take(one, time.Since(time.UnixMicro(micros)))
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("a stream ended before its first event")
}

func (all *load) take(one *stream, latency time.Duration) {
	one.lock.Lock()
	defer one.lock.Unlock()
	if !one.isOpen {
		one.isOpen = true
		all.opened <- nil
	}
	if all.counting.Load() {
		one.latencies = append(one.latencies, latency)
	}
}

func (all *load) end(index int, err error) {
	all.ended.Add(1)
	one := &all.streams[index]
	one.lock.Lock()
	defer one.lock.Unlock()
	if !one.isOpen {
		one.isOpen = true
		all.opened <- err
	}
}

func (all *load) report(duration time.Duration, seconds int) report {
	latencies := make([][]time.Duration, len(all.streams))
	silent := 0
	for index := range all.streams {
		one := &all.streams[index]
		one.lock.Lock()
		latencies[index] = one.latencies
		one.lock.Unlock()
		// One event a second, and one may fall just outside at each end.
		if len(latencies[index]) < seconds-1 {
			silent++
		}
	}
	return report{
		Report:   latency.Of(latencies),
		Errors:   max(int(all.ended.Load()), silent),
		Duration: float64(duration) / float64(time.Millisecond),
	}
}
