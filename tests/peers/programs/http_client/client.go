package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// How long any of the checks waits for what should come.
const patience = 30 * time.Second

type client struct {
	base      string
	transport *http.Transport
	// Connections so far.
	dialled atomic.Int64
}

func (c *client) dial(dialer *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c.dialled.Add(1)
		return dialer.DialContext(ctx, network, address)
	}
}

// do sends a request; the answer must have come by HTTP/2.
func (c *client) do(request *http.Request) (*http.Response, error) {
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.ProtoMajor != 2 {
		response.Body.Close()
		return nil, fmt.Errorf("answered by %s", response.Proto)
	}
	return response, nil
}

func (c *client) request(method, path string, body io.Reader) *http.Request {
	request, err := http.NewRequest(method, c.base+path, body)
	if err != nil {
		panic(err)
	}
	return request
}

// read is the whole answer with status 200.
func (c *client) read(request *http.Request) (*http.Response, []byte, error) {
	response, err := c.do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", response.StatusCode, body)
	}
	return response, body, err
}

// What the origin says that came to it.
type received struct {
	Proto    string
	Method   string
	Target   string
	Length   int64
	Declared int64
	Sum      string
	Fields   map[string][]string
	Trailers map[string][]string
}

func (c *client) what(request *http.Request) (*received, error) {
	_, body, err := c.read(request)
	if err != nil {
		return nil, err
	}
	came := new(received)
	return came, json.Unmarshal(body, came)
}

type counts struct{ Hanging, Cancelled int }

func (c *client) counts() (counts, error) {
	var found counts
	_, body, err := c.read(c.request("GET", "/counts", nil))
	if err == nil {
		err = json.Unmarshal(body, &found)
	}
	return found, err
}

// until waits for the origin to count what holds.
func (c *client) until(what string, holds func(counts) bool) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		found, err := c.counts()
		if err != nil || holds(found) {
			return err
		}
	}
	return fmt.Errorf("%s: not within %v", what, patience)
}

// pattern is what /bytes sends.
type pattern struct{ at, length int }

func (p *pattern) Read(into []byte) (int, error) {
	if p.at == p.length {
		return 0, io.EOF
	}
	count := min(len(into), p.length-p.at)
	for i := range count {
		into[i] = byte((p.at + i) % 251)
	}
	p.at += count
	return count, nil
}

func sumOf(length int) string {
	sum := sha256.New()
	io.Copy(sum, &pattern{length: length})
	return hex.EncodeToString(sum.Sum(nil))
}

// isPattern reads a body, which must be of this length and hold the pattern.
func isPattern(body io.Reader, length int) error {
	wanted := make([]byte, 64*1024)
	got := make([]byte, 64*1024)
	source := &pattern{length: length}
	for at := 0; ; {
		count, err := io.ReadFull(body, got)
		expected, _ := io.ReadFull(source, wanted)
		if count != expected || !bytes.Equal(got[:count], wanted[:expected]) {
			return fmt.Errorf("other bytes from %d on, of %d: %d came, %v", at, length, count, err)
		}
		at += count
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
