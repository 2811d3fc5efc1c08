// External_dns is the command of external-dns, unchanged. In: its flags. Out: as of external-dns.
package main

import "sigs.k8s.io/external-dns/controller"

func main() {
	controller.Execute()
}
