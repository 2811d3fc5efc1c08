// The application behind the proxies in end-to-end tests. In: requests on port 8080, in HTTP/1.1 or in
// HTTP/2 (plain text, prior knowledge), SIGTERM. Out:
// answers that say which pod gave them, and an end as a well-kept application's: on SIGTERM it is
// unready at once, goes on for LINGER (an application that does not would have a preStop sleep),
// then takes no more, finishes what it has, and exits with 0.
//
//	GET  /anything?id=X        200 "POD X"
//	POST /anything?id=X        200 "POD X HASH", where HASH is SHA-256 of the body in hex
//	     …&ms=500              the same after so long
//	     …&status=503          the same with another status
//	POST /test.Echo/…          gRPC: messages come back as they came
//	GET  /socket               a WebSocket that echoes
//	GET  /ready                200, or 503 once it is ending
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// How long requests may take once no more are taken.
const patience = 20 * time.Second

var (
	pod    = name()
	ending atomic.Bool
)

func main() {
	linger, err := time.ParseDuration(os.Getenv("LINGER"))
	if err != nil {
		linger = 5 * time.Second
	}
	routes := http.NewServeMux()
	routes.HandleFunc("/", answer)
	routes.HandleFunc("/ready", ready)
	routes.HandleFunc("/socket", socket)
	routes.HandleFunc("/test.Echo/", call)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Addr: ":8080", Handler: routes, ReadHeaderTimeout: patience, Protocols: protocols,
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case <-signals:
	}
	ending.Store(true)
	time.Sleep(linger)
	sockets.end()
	within, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := server.Shutdown(within); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func name() string {
	if name := os.Getenv("POD_NAME"); name != "" {
		return name
	}
	name, _ := os.Hostname()
	return name
}

func ready(w http.ResponseWriter, _ *http.Request) {
	if ending.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func answer(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r.Body); err != nil {
		return
	}
	query := r.URL.Query()
	if ms, err := strconv.Atoi(query.Get("ms")); err == nil {
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
	text := pod + " " + query.Get("id")
	if r.Method == http.MethodPost {
		text += fmt.Sprintf(" %x", hash.Sum(nil))
	}
	w.Header().Set("Content-Type", "text/plain")
	if status, err := strconv.Atoi(query.Get("status")); err == nil {
		w.WriteHeader(status)
	}
	io.WriteString(w, text)
}

func call(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	stream := http.NewResponseController(w)
	part := make([]byte, 32<<10)
	for {
		count, err := r.Body.Read(part)
		if count > 0 {
			w.Write(part[:count])
			stream.Flush()
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return
		}
	}
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
}
