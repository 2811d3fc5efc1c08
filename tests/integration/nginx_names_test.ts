/**
 * Other names of hosts by annotations of ingress-nginx, from the Ingresses to what clients get over
 * HTTP/1.1 and HTTP/2, plain and over TLS.
 */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { type Field, get, headers } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { certificateFor, TlsProxy } from "../support/tls_proxy.ts";
import { headerOf } from "../support/wire_message.ts";

const CERTIFICATES = [await certificateFor("a", { names: ["a.test", "www.a.test"] })];

function ingress(
  host: string,
  annotations: AnnotatedIngress["annotations"] = {},
  path = "/",
): AnnotatedIngress {
  return { host, annotations, paths: [[path, "Prefix"]] };
}

const WWW = { "from-to-www-redirect": "true" };

const CASES: readonly (readonly [
  says: string,
  ingresses: Readonly<Record<string, AnnotatedIngress>>,
  /** By host and target; a status alone has no Location. */
  gets: Readonly<Record<string, string>>,
])[] = [
  ["from-to-www-redirect leads from www. to the host", { a: ingress("a.test", WWW, "/x") }, {
    "a.test/x": "200",
    "www.a.test/": "308 http://a.test",
    "www.a.test/y/?q=1": "308 http://a.test/y/?q=1",
    "WWW.A.test:8080/y/": "308 http://a.test:8080/y",
    "www.www.a.test/": "404",
  }],
  ["from-to-www-redirect leads to www. where the host has it", { a: ingress("www.a.test", WWW) }, {
    "www.a.test/": "200",
    "a.test/y?q=/": "308 http://www.a.test/y?q=",
  }],
  ["from-to-www-redirect leaves a host that a rule names", {
    a: ingress("a.test", WWW),
    b: ingress("www.a.test"),
  }, { "a.test/": "200", "www.a.test/": "200" }],
  ["server-alias serves all paths of the host, those of other Ingresses too", {
    a: ingress("a.test", { "server-alias": "b.test, *.c.test" }),
    b: ingress("a.test", { "denylist-source-range": "127.0.0.0/8" }, "/denied"),
  }, {
    "b.test/": "200",
    "x.c.test/": "200",
    "b.test/denied": "403",
    "c.test/": "404",
    "a.b.test/": "404",
  }],
  ["server-alias is weaker than the host of a rule, and than a redirect", {
    a: ingress("a.test", { "server-alias": "b.test,www.c.test", ...WWW }),
    b: ingress("b.test", { "denylist-source-range": "127.0.0.0/8" }),
    c: ingress("c.test", WWW),
  }, { "b.test/": "403", "www.c.test/": "308 http://c.test", "www.a.test/": "308 http://a.test" }],
  ["an alias of a closed host is closed, and regular expressions name no host", {
    a: ingress("a.test", { "server-alias": "b.test,~^v.*$", "force-ssl-redirect": "maybe" }),
  }, { "a.test/": "503", "b.test/": "503", "v.test/": "404" }],
];

for (const [says, ingresses, gets] of CASES) {
  Deno.test(says, async () => {
    await using backend = new Backend();
    using proxy = new TestProxy([]);
    proxy.server.apply(annotatedSnapshot(ingresses, [backend.port]));
    using client = await Peer.connect(proxy.port);
    await using http2 = await H2Peer.connect(proxy.port);
    for (const [url, expected] of Object.entries(gets)) {
      const [host] = url.split("/", 1);
      const target = url.slice(host.length);
      const answer = await client.ask(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const location = headerOf(answer.head, "Location") ?? "";
      assert.equal(`${statusOf(answer)} ${location}`.trim(), expected, url);
      const stream = http2.nextStream();
      const fields = get(target).map(([name, value]): Field =>
        name === ":authority" ? [name, host] : [name, value]
      );
      await http2.send(headers(stream, fields, { end: true }));
      const { status, heads } = await http2.answer(stream);
      const found = new Map(heads.at(-1)).get("location") ?? "";
      assert.equal(`${status} ${found}`.trim(), expected, `${url} over HTTP/2`);
    }
  });
}

Deno.test("from-to-www-redirect keeps the scheme, that of a trusted proxy too", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: CERTIFICATES,
    sslRedirect: true,
    trustedProxies: CidrList.parse("127.0.0.0/8") as CidrList,
  });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  proxy.server.apply(
    annotatedSnapshot({ a: ingress("a.test", WWW) }, [backend.port]),
    CERTIFICATES,
  );
  const request = "GET /x HTTP/1.1\r\nHost: www.a.test";
  using secure = await proxy.connect({ name: "www.a.test" });
  assert.match(await secure.ask(request), /\r\nLocation: https:\/\/a\.test\/x\r\n/i);
  using plain = await Peer.connect(port);
  const lines = [["", "http"], ["\r\nX-Forwarded-Proto: https", "https"]];
  for (const [more, scheme] of lines) {
    const { head } = await plain.ask(`${request}${more}\r\n\r\n`);
    assert.match(head, new RegExp(`^HTTP/1.1 308 [^]*\r\nLocation: ${scheme}://a.test/x\r\n`, "i"));
  }
});

Deno.test("an alias follows changes of its host with the next request", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  const denied = { "denylist-source-range": "127.0.0.0/8" };
  const aliased = ingress("a.test", { "server-alias": "b.test" });
  const steps: readonly (readonly [number, Record<string, AnnotatedIngress>])[] = [
    [200, { a: aliased }],
    [403, { a: { ...aliased, annotations: { ...aliased.annotations, ...denied } } }],
    [403, { a: aliased, b: ingress("b.test", denied) }],
    [200, { a: aliased }],
    [404, { a: ingress("a.test") }],
    [200, { a: ingress("c.test", { "server-alias": "b.test" }) }],
    [404, {}],
  ];
  using client = await Peer.connect(proxy.port);
  for (const [i, [status, ingresses]] of steps.entries()) {
    proxy.server.apply(annotatedSnapshot(ingresses, [backend.port]));
    const answer = await client.ask("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n");
    assert.equal(statusOf(answer), status, `step ${i}`);
  }
});
