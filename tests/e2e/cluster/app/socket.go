package main

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

const (
	acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	opClose    = 8
	opPing     = 9
	opPong     = 10
	// What a test sends is shorter.
	maxFrame = 1 << 20
)

// The WebSockets that are open.
var sockets = &openSockets{all: map[*echo]bool{}}

type openSockets struct {
	mutex sync.Mutex
	all   map[*echo]bool
}

// end tells every client that this server goes away (1001).
func (s *openSockets) end() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for e := range s.all {
		e.write(opClose, []byte{0x03, 0xe9})
	}
}

// One WebSocket. RFC 6455, without extensions and without messages in several frames.
type echo struct {
	mutex  sync.Mutex
	conn   net.Conn
	closed bool
}

func socket(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Sec-WebSocket-Key")
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || key == "" {
		http.Error(w, "a WebSocket is wanted", http.StatusUpgradeRequired)
		return
	}
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	sum := sha1.Sum([]byte(key + acceptGUID))
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nX-Pod: "+pod+"\r\n"+
		"Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	e := &echo{conn: conn}
	sockets.mutex.Lock()
	sockets.all[e] = true
	sockets.mutex.Unlock()
	e.serve(buffered.Reader)
	sockets.mutex.Lock()
	delete(sockets.all, e)
	sockets.mutex.Unlock()
}

func (e *echo) serve(reader *bufio.Reader) {
	for {
		op, payload, err := readFrame(reader)
		if err != nil {
			return
		}
		if op == opPing {
			op = opPong
		}
		if e.write(op, payload) != nil || op == opClose {
			return
		}
	}
}

func (e *echo) write(op byte, payload []byte) error {
	head := []byte{0x80 | op, byte(len(payload))}
	if len(payload) > 0xffff {
		head[1] = 127
		head = binary.BigEndian.AppendUint64(head, uint64(len(payload)))
	} else if len(payload) > 125 {
		head[1] = 126
		head = binary.BigEndian.AppendUint16(head, uint16(len(payload)))
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.closed {
		return net.ErrClosed
	}
	e.closed = op == opClose
	_, err := e.conn.Write(append(head, payload...))
	return err
}

func readFrame(reader *bufio.Reader) (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(reader, head[:]); err != nil {
		return
	}
	size := uint64(head[1] & 127)
	if size > 125 {
		var more [8]byte
		wanted := more[6:]
		if size == 127 {
			wanted = more[:]
		}
		if _, err = io.ReadFull(reader, wanted); err != nil {
			return
		}
		size = binary.BigEndian.Uint64(more[:])
	}
	if size > maxFrame {
		return 0, nil, io.ErrShortBuffer
	}
	var mask [4]byte
	if head[1]&0x80 != 0 {
		if _, err = io.ReadFull(reader, mask[:]); err != nil {
			return
		}
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(reader, payload)
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	return head[0] & 15, payload, err
}
