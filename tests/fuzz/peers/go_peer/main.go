// Go's net/http. In: frames on standard input (32-bit little-endian length, bytes), each a client's
// whole stream. Out: a line of JSON for each, as ../../peer.ts describes.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
)

type request struct {
	Method string      `json:"method"`
	Target string      `json:"target"`
	Fields [][2]string `json:"fields"`
	Body   string      `json:"body"`
	End    int         `json:"end"`
}

type result struct {
	Requests []request `json:"requests"`
	Outcome  string    `json:"outcome"`
	Detail   string    `json:"detail"`
}

func parse(stream []byte) result {
	source := bytes.NewReader(stream)
	reader := bufio.NewReader(source)
	requests := []request{}
	ended := func(err error) result {
		outcome := "rejected"
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			outcome = "incomplete"
		}
		return result{requests, outcome, err.Error()}
	}
	for {
		if _, err := reader.Peek(1); err == io.EOF {
			return result{requests, "complete", ""}
		}
		parsed, err := http.ReadRequest(reader)
		if err != nil {
			return ended(err)
		}
		body, err := io.ReadAll(parsed.Body)
		if err != nil {
			return ended(err)
		}
		requests = append(requests, request{
			Method: latin1([]byte(parsed.Method)),
			Target: latin1([]byte(parsed.RequestURI)),
			Fields: fieldsOf(parsed.Header),
			Body:   latin1(body),
			End:    len(stream) - source.Len() - reader.Buffered(),
		})
	}
}

func fieldsOf(header http.Header) [][2]string {
	fields := [][2]string{}
	for name, values := range header {
		for _, value := range values {
			fields = append(fields, [2]string{latin1([]byte(name)), latin1([]byte(value))})
		}
	}
	return fields
}

// latin1 gives a string with one character a byte, which JSON carries without loss.
func latin1(data []byte) string {
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return string(runes)
}

func main() {
	source := bufio.NewReader(os.Stdin)
	sink := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(sink)
	for {
		var length uint32
		if err := binary.Read(source, binary.LittleEndian, &length); err != nil {
			return
		}
		stream := make([]byte, length)
		if _, err := io.ReadFull(source, stream); err != nil {
			return
		}
		if err := encoder.Encode(parse(stream)); err != nil {
			log.Fatal(err)
		}
		if source.Buffered() == 0 {
			if err := sink.Flush(); err != nil {
				log.Fatal(err)
			}
		}
	}
}
