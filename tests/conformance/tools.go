//go:build tools

// The program that the suite forwards requests to is built from this module.
package conformance

import _ "sigs.k8s.io/gateway-api/conformance/echo-basic"
