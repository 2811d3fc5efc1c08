package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n" +
	// nginx would hold events back until a buffer is full; no other proxy reads this.
	"X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n"

// Turns in a second.
const turns = 100

// Events are streams with an event a second that says when it was sent, in µs since 1970. Those of
// /events take turns, so that the proxy sees single events; those of /burst have theirs all at once.
type events struct {
	lock   sync.Mutex
	opened int
	// Streams by the turn that they have.
	streams [turns]map[net.Conn]struct{}
}

func newEvents() *events {
	all := &events{}
	for turn := range all.streams {
		all.streams[turn] = make(map[net.Conn]struct{})
	}
	return all
}

// Serve keeps a stream open until its client goes away.
func (all *events) serve(connection net.Conn, request *http.Request) error {
	if _, err := io.WriteString(connection, head+event()); err != nil {
		return err
	}
	turn := all.add(connection, request.URL.Path == "/burst")
	_, err := io.Copy(io.Discard, connection)
	all.lock.Lock()
	defer all.lock.Unlock()
	delete(all.streams[turn], connection)
	return err
}

func (all *events) add(connection net.Conn, isBurst bool) int {
	all.lock.Lock()
	defer all.lock.Unlock()
	turn := 0
	if !isBurst {
		turn = all.opened % turns
		all.opened++
	}
	all.streams[turn][connection] = struct{}{}
	return turn
}

// Send gives each stream its turn; on a busy machine one may be late, and none is left out.
func (all *events) send() {
	begin := time.Now()
	for turn := 0; ; turn++ {
		time.Sleep(time.Until(begin.Add(time.Duration(turn) * time.Second / turns)))
		for _, connection := range all.due(turn % turns) {
			// A stream that has gone away meanwhile is no event here; its reader sees it too.
			io.WriteString(connection, event())
		}
	}
}

func (all *events) due(turn int) []net.Conn {
	all.lock.Lock()
	defer all.lock.Unlock()
	due := make([]net.Conn, 0, len(all.streams[turn]))
	for connection := range all.streams[turn] {
		due = append(due, connection)
	}
	return due
}

// Event is `data: 1795306782726093`, and an empty line, as a chunk of 24 bytes.
func event() string {
	return fmt.Sprintf("18\r\ndata: %d\n\n\r\n", time.Now().UnixMicro())
}
