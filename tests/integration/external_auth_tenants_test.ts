/**
 * External authentication by hosts of tenants. In: Ingresses of two namespaces, of which one has the
 * other's host, or what may be it, as auth-url. Out: nothing admitted, and nothing requested from the
 * other's backend, that its owner does not allow.
 */
import assert from "node:assert/strict";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

const ROOT = [["/", "Prefix"]] as const;

/** Of the owner of victim.test: who admits the client at all. */
const OPEN = {};
const CLOSED = { "allowlist-source-range": "10.0.0.0/8" };
const AUTHENTICATED = { "auth-url": "http://web.default.svc/" };

function victim(
  annotations: AnnotatedIngress["annotations"],
  more: Partial<AnnotatedIngress> = {},
): AnnotatedIngress {
  return { host: "victim.test", annotations, paths: ROOT, ...more };
}

/** The status of a request that the tenant has authenticated by this URL. */
const CASES: readonly (readonly [
  says: string,
  url: string,
  victim: AnnotatedIngress,
  status: number,
])[] = [
  ["a host of another namespace", "http://victim.test/x", victim(OPEN), 503],
  ["a protected one", "http://victim.test/x", victim(CLOSED), 503],
  ["one below a wildcard", "https://a.victim.test/", victim(OPEN, { host: "*.victim.test" }), 503],
  ["one in capitals, with a port", "http://VICTIM.test.:8080/", victim(OPEN), 503],
  ["one with its namespace", "http://$namespace.test/", victim(OPEN, { host: "tenant.test" }), 503],
  ["one with the host of the request", "http://x-$host/", victim(OPEN, { host: "x-tenant" }), 500],
  ["a Service of another namespace", "http://web.default.svc/", victim(OPEN), 503],
  ["a shared host", "http://victim.test/x", victim(OPEN, { sharesWith: "tenant" }), 200],
  [
    "a shared and closed one",
    "http://victim.test/x",
    victim(CLOSED, { sharesWith: "tenant" }),
    403,
  ],
  [
    "a shared one that authenticates itself",
    "http://victim.test/x",
    victim(AUTHENTICATED, { sharesWith: "tenant" }),
    500,
  ],
];

for (const profile of ["pingress", "nginx"] as const) {
  for (const [says, url, other, status] of CASES) {
    Deno.test(`auth-url with ${says} gives ${status} in the profile ${profile}`, async () => {
      const forwarded: string[] = [];
      await using backend = new Backend(async (peer) => {
        for (let one = await peer.request(); one !== null; one = await peer.request()) {
          forwarded.push(one.head);
          await peer.send(reply("ok"));
        }
      });
      using proxy = new TestProxy([], { connectTimeout: 300, tries: 1 });
      const tenant: AnnotatedIngress = {
        namespace: "tenant",
        // What clients of HTTP/2 request in these tests.
        host: "a.test",
        annotations: { "auth-url": url },
        paths: ROOT,
      };
      proxy.server.apply(annotatedSnapshot({ a: other, b: tenant }, [backend.port], profile));
      using client = await Peer.connect(proxy.port);
      const answer = await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
      assert.equal(statusOf(answer), status);
      await using peer = await H2Peer.connect(proxy.port);
      assert.equal((await peer.ask("/", [])).status, status);
      // A subrequest and a request for each.
      assert.equal(forwarded.length, status === 200 ? 4 : 0);
    });
  }
}
