import assert from "node:assert/strict";
import { INGRESSES } from "../../controller/kube/types.ts";
import { unreadOf } from "./unread.ts";

/** What fails, as the TLS library says it, and what helps. */
for (
  const [message, remedy] of [
    ["self-signed certificate", /^Write the CA of this API server into certificate-authority-data/],
    ["self signed certificate in certificate chain", /^Write the CA of this API server/],
    ["unable to verify the first certificate", /^Write the CA of this API server/],
    ["invalid peer certificate: UnknownIssuer", /^Write the CA of this API server/],
    ["certificate has expired", /^Renew the certificate of the API server, or set the clock/],
    ["Hostname/IP does not match certificate's altnames", /^Write a name that the server's/],
    ['invalid peer certificate: certificate not valid for name "a"', /^Write a name that/],
    [
      "connect ECONNREFUSED 127.0.0.1:6443",
      /^Check the server of the kubeconfig and the way to it/,
    ],
  ] as const
) {
  Deno.test(`the remedy for "${message}" fits it`, () => {
    const error = { code: 0, reason: "Unreachable", message, retryAfter: null };
    const call = { verb: "list", resource: INGRESSES, namespace: null, timeout: 1000, error };
    assert.match(unreadOf(call).remedy, remedy);
  });
}
