// Acme_solver is what cert-manager runs in the pod of a challenge: its module has no command. In: the
// arguments of that pod. Out: answers on the port of -listen-port, until it is killed.
package main

import (
	"flag"
	"log"

	"github.com/cert-manager/cert-manager/pkg/issuer/acme/http/solver"
	"k8s.io/klog/v2"
)

func main() {
	var challenge solver.HTTP01Solver
	flag.IntVar(&challenge.ListenPort, "listen-port", 8089, "port of HTTP")
	flag.StringVar(&challenge.Domain, "domain", "", "host of the challenge")
	flag.StringVar(&challenge.Token, "token", "", "token of the challenge")
	flag.StringVar(&challenge.Key, "key", "", "what the challenge is answered with")
	flag.Parse()
	log.Fatal(challenge.Listen(klog.Background()))
}
