package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"

	"pingress.io/bench/internal/websocket"
)

// Echo sends messages of up to 125 bytes back, until the client closes.
func echo(connection net.Conn, reader *bufio.Reader, request *http.Request) error {
	_, err := fmt.Fprintf(connection, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		websocket.Accept(request.Header.Get("Sec-WebSocket-Key")))
	frame := make([]byte, websocket.MaxFrame)
	for err == nil {
		var answer []byte
		if answer, err = websocket.ReadClientFrame(reader, frame); err != nil {
			return err
		}
		if _, err = connection.Write(answer); answer[0]&0x0f == websocket.Close {
			return err
		}
	}
	return err
}
