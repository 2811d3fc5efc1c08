// Http_client asks the origin behind the proxy, by HTTP/2 of Go's net/http. In: -url of the proxy,
// -ca and -name where that is https. Out: a line of JSON for each check, with what was wrong.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
)

type result struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

func main() {
	base := flag.String("url", "", "the proxy: http://127.0.0.1:8080")
	ca := flag.String("ca", "", "PEM file of the authority to trust")
	name := flag.String("name", "", "what the certificate is made out for")
	only := flag.String("only", "", "the one check to make; all without it")
	flag.Parse()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	if *ca == "" {
		transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		transport.Protocols.SetHTTP2(true)
		transport.TLSClientConfig = &tls.Config{RootCAs: authority(*ca), ServerName: *name}
	}
	c := &client{base: *base, transport: transport}
	transport.DialContext = c.dial(&net.Dialer{})
	encoder := json.NewEncoder(os.Stdout)
	for _, one := range checks {
		if *only != "" && one.name != *only {
			continue
		}
		text := ""
		if err := one.run(c); err != nil {
			text = err.Error()
		}
		encoder.Encode(result{one.name, text})
	}
}

func authority(file string) *x509.CertPool {
	pem, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		log.Fatal("no certificate in " + file)
	}
	return pool
}
