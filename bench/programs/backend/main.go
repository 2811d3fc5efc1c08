// Backend is what is behind the proxies in cases of many connections, with next to no cost of its own.
// In: a port of 127.0.0.1, and one request on each connection. Out: /echo speaks WebSocket, /events
// and /burst are streams of events. It trusts its clients (the benchmark's proxies), and is no example.
package main

import (
	"bufio"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	events := newEvents()
	go events.send()
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer connection.Close()
			reader := bufio.NewReaderSize(connection, 1024)
			request, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			// A client that goes away in the middle is no event here.
			if request.URL.Path == "/echo" {
				echo(connection, reader, request)
			} else {
				events.serve(connection, request)
			}
		}()
	}
}
