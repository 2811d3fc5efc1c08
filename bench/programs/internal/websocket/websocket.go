// Package websocket has the little of RFC 6455 that the benchmark's load and backend need of each
// other: messages of up to 125 bytes, and the handshake's answer to a key.
package websocket

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"io"
)

const (
	// Binary and Close are opcodes (§5.2).
	Binary = 2
	Close  = 8
	// MaxPayload is what a head of two bytes can say (§5.2).
	MaxPayload = 125
	// MaxFrame has a head, a mask and a payload.
	MaxFrame = 2 + 4 + MaxPayload

	masked = 0x80
)

var mask = [4]byte{0x12, 0x34, 0x56, 0x78}

// Accept answers a key (§1.3).
func Accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// ClientFrame is a whole message with a mask, ServerFrame one without, which must not have one.
func ClientFrame(opcode byte, payload []byte) []byte {
	frame := append([]byte{0x80 | opcode, masked | byte(len(payload))}, mask[:]...)
	for at, one := range payload {
		frame = append(frame, one^mask[at&3])
	}
	return frame
}

func ServerFrame(opcode byte, payload []byte) []byte {
	return append([]byte{0x80 | opcode, byte(len(payload))}, payload...)
}

// ReadClientFrame reads a frame with a mask into frame, which has room for MaxFrame bytes, and returns
// the same message as a server sends it, in the same memory.
func ReadClientFrame(reader *bufio.Reader, frame []byte) ([]byte, error) {
	if _, err := io.ReadFull(reader, frame[:2]); err != nil {
		return nil, err
	}
	length := int(frame[1] &^ masked)
	if length > MaxPayload || frame[1]&masked == 0 {
		return nil, errors.New("a frame that is long or has no mask")
	}
	end := 6 + length
	if _, err := io.ReadFull(reader, frame[2:end]); err != nil {
		return nil, err
	}
	for at := 6; at < end; at++ {
		frame[at] ^= frame[2+((at-6)&3)]
	}
	// The head without a mask is four bytes shorter, and ends where the message begins.
	frame[4], frame[5] = frame[0], byte(length)
	return frame[4:end], nil
}
