// Websocket_load is WebSocket clients in a closed loop: each sends a message, waits for its echo,
// compares it, and sends another. In: port, connections, seconds. Out: the line "open" when all are,
// then a line of JSON, see report, while they still are; they end with standard input.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
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
	"sync"
	"time"

	"pingress.io/bench/internal/latency"
	"pingress.io/bench/internal/websocket"
)

type report struct {
	latency.Report
	// Clients that were refused, cut off, left without an answer, or got another message back.
	Errors int `json:"errors"`
	// In ms.
	Duration float64 `json:"duration"`
}

const (
	// How long after the end an answer may still come.
	patience = 5 * time.Second
	// RFC 6455 §1.3 has this one; proxies look at its form only.
	key = "dGhlIHNhbXBsZSBub25jZQ=="
	// Of a message, in bytes.
	size = 32
	// Connections that are being opened at a time: more would be dropped from the queue of a listener.
	opening = 64
	// Echoes that a connection has room for at first, so that little is copied while it counts.
	room = 1024
)

type client struct {
	connection net.Conn
	reader     *bufio.Reader
	// In turns, so that an echo which comes twice or late is noticed.
	sent, expected [2][]byte
	latencies      []time.Duration
	err            error
}

func main() {
	// What is measured is not to wait for this program's collector: it allocates little.
	debug.SetGCPercent(-1)
	port, connections, seconds := argument(1), argument(2), argument(3)
	clients := make([]*client, connections)
	slots := make(chan struct{}, opening)
	all(clients, func(index int) {
		slots <- struct{}{}
		clients[index] = open(port, index)
		<-slots
	})
	fmt.Println("open")
	begin := time.Now()
	end := begin.Add(time.Duration(seconds) * time.Second)
	all(clients, func(index int) { clients[index].run(end) })
	duration := time.Since(begin)
	result := report{Duration: float64(duration) / float64(time.Millisecond)}
	latencies := make([][]time.Duration, connections)
	for index, one := range clients {
		latencies[index] = one.latencies
		if one.err != nil {
			result.Errors++
			fmt.Fprintln(os.Stderr, one.err)
		}
	}
	result.Report = latency.Of(latencies)
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
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

// All runs work for each client at the same time, and returns when it is done for all.
func all(clients []*client, work func(index int)) {
	var group sync.WaitGroup
	for index := range clients {
		group.Go(func() { work(index) })
	}
	group.Wait()
}

// Open fails, by its err, where the proxy does not switch protocols as it should.
func open(port, index int) *client {
	one := &client{latencies: make([]time.Duration, 0, room)}
	for turn := range 2 {
		message := bytes.Repeat([]byte{byte(turn)}, size)
		binary.BigEndian.PutUint32(message, uint32(index))
		one.sent[turn] = websocket.ClientFrame(websocket.Binary, message)
		one.expected[turn] = websocket.ServerFrame(websocket.Binary, message)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	if one.connection, one.err = net.Dial("tcp", address); one.err != nil {
		return one
	}
	one.reader = bufio.NewReaderSize(one.connection, 1024)
	if _, one.err = fmt.Fprintf(one.connection, "GET /echo HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
		address, key); one.err != nil {
		return one
	}
	response, err := http.ReadResponse(one.reader, nil)
	if err != nil {
		one.err = err
	} else if response.StatusCode != http.StatusSwitchingProtocols ||
		response.Header.Get("Sec-WebSocket-Accept") != websocket.Accept(key) {
		one.err = fmt.Errorf("no WebSocket: %s", response.Status)
	}
	return one
}

// Run sends and receives until end.
func (one *client) run(end time.Time) {
	if one.err != nil {
		return
	}
	one.connection.SetDeadline(end.Add(patience))
	answer := make([]byte, len(one.expected[0]))
	for turn := 0; ; turn++ {
		sent := time.Now()
		if !sent.Before(end) {
			return
		}
		if _, one.err = one.connection.Write(one.sent[turn&1]); one.err != nil {
			return
		}
		if _, one.err = io.ReadFull(one.reader, answer); one.err != nil {
			return
		}
		if !bytes.Equal(answer, one.expected[turn&1]) || one.reader.Buffered() > 0 {
			one.err = errors.New("another message came back")
			return
		}
		one.latencies = append(one.latencies, time.Since(sent))
	}
}
