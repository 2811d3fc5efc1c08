// Origin is the server behind the proxy, in each version of HTTP, by Go's net/http. In: -cert and
// -key, PEM files. Out: a line of JSON with its ports by how they are spoken to, then answers, until
// its standard input ends.
package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// What came, as /what tells it.
type received struct {
	Proto    string              `json:"proto"`
	Method   string              `json:"method"`
	Target   string              `json:"target"`
	Host     string              `json:"host"`
	Length   int64               `json:"length"`
	Declared int64               `json:"declared"`
	Sum      string              `json:"sum"`
	Fields   map[string][]string `json:"fields"`
	Trailers map[string][]string `json:"trailers"`
}

var hanging, cancelled atomic.Int64

func main() {
	certificate := flag.String("cert", "", "PEM file of the certificate")
	key := flag.String("key", "", "PEM file of its key")
	flag.Parse()
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		log.Fatal(err)
	}
	ports := map[string]int{
		"http":   serve(nil, func(p *http.Protocols) { p.SetHTTP1(true) }),
		"h2c":    serve(nil, func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }),
		"https1": serve(&pair, func(p *http.Protocols) { p.SetHTTP1(true) }),
		"h2":     serve(&pair, func(p *http.Protocols) { p.SetHTTP2(true) }),
		"https": serve(&pair, func(p *http.Protocols) {
			p.SetHTTP1(true)
			p.SetHTTP2(true)
		}),
	}
	if err := json.NewEncoder(os.Stdout).Encode(ports); err != nil {
		log.Fatal(err)
	}
	io.Copy(io.Discard, os.Stdin)
}

func serve(pair *tls.Certificate, choose func(*http.Protocols)) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: handler(), Protocols: new(http.Protocols)}
	choose(server.Protocols)
	if pair == nil {
		go server.Serve(listener)
	} else {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*pair}}
		go server.ServeTLS(listener, "", "")
	}
	return listener.Addr().(*net.TCPAddr).Port
}

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/what", what)
	mux.HandleFunc("/bytes", bytes)
	mux.HandleFunc("/trailers", trailers)
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/hang", hang)
	mux.HandleFunc("/early", early)
	mux.HandleFunc("/counts", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"hanging":%d,"cancelled":%d}`, hanging.Load(), cancelled.Load())
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.URL.Query().Get("code"))
		w.Header().Set("Etag", `"same"`)
		w.WriteHeader(code)
	})
	return mux
}

// what reads the whole request and tells of it.
func what(w http.ResponseWriter, r *http.Request) {
	sum := sha256.New()
	length, err := io.Copy(sum, r.Body)
	if err != nil {
		log.Printf("a body broke off: %v", err)
		return
	}
	fields := map[string][]string{}
	for name, values := range r.Header {
		fields[strings.ToLower(name)] = values
	}
	came := map[string][]string{}
	for name, values := range r.Trailer {
		came[strings.ToLower(name)] = values
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(received{
		r.Proto, r.Method, r.RequestURI, r.Host, length, r.ContentLength,
		hex.EncodeToString(sum.Sum(nil)), fields, came,
	})
}

// bytes sends ?n= bytes, each the last of its place's number modulo 251; with &length it says so.
func bytes(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	left, _ := strconv.Atoi(query.Get("n"))
	if query.Has("length") {
		w.Header().Set("Content-Length", strconv.Itoa(left))
	}
	part := make([]byte, 251*64)
	for i := range part {
		part[i] = byte(i % 251)
	}
	for left > 0 {
		count, err := w.Write(part[:min(left, len(part))])
		if err != nil {
			return
		}
		left -= count
	}
}

// trailers sends one trailer that is announced and one that is not.
func trailers(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Trailer", "X-Sum")
	io.WriteString(w, "with trailers\n")
	// Without a length: some clients look no further than to its end.
	http.NewResponseController(w).Flush()
	w.Header().Set("X-Sum", "abc")
	w.Header().Set(http.TrailerPrefix+"X-Late", "unannounced")
}

// echo sends back what comes as it comes.
func echo(w http.ResponseWriter, r *http.Request) {
	controller := http.NewResponseController(w)
	if err := controller.EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		log.Print(err)
	}
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	w.WriteHeader(http.StatusOK)
	controller.Flush()
	part := make([]byte, 32*1024)
	for {
		count, err := r.Body.Read(part)
		if count > 0 {
			if _, failed := w.Write(part[:count]); failed != nil {
				return
			}
			controller.Flush()
		}
		if err != nil {
			return
		}
	}
}

// hang answers nothing until its client has gone.
func hang(_ http.ResponseWriter, r *http.Request) {
	hanging.Add(1)
	<-r.Context().Done()
	hanging.Add(-1)
	cancelled.Add(1)
}

// early sends 103 before its answer.
func early(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Link", "</style.css>; rel=preload")
	w.WriteHeader(http.StatusEarlyHints)
	w.Header().Del("Link")
	io.WriteString(w, "final\n")
}
