/** Plain HTTP to a host that has a certificate goes to HTTPS. */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import type { Route, Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer } from "../support/backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { certificateFor, TlsProxy, type TlsProxyOptions } from "../support/tls_proxy.ts";

const CERTIFICATES = [
  await certificateFor("a", { names: ["a.test"] }),
  await certificateFor("w", { names: ["*.w.test"] }),
];

/** What plain requests get: `308 https://…`, or the status alone. */
async function answers(
  options: TlsProxyOptions,
  requests: readonly string[],
): Promise<string[]> {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: CERTIFICATES,
    endpoints: [backend.port],
    sslRedirect: true,
    ...options,
  });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  using client = await Peer.connect(port);
  const found: string[] = [];
  for (const request of requests) {
    const { head } = await client.ask(`${request}\r\n\r\n`);
    const location = /\r\nlocation: (\S+)/i.exec(head)?.[1];
    found.push([head.slice(9, 12), location?.replace(`:${proxy.port}`, ":PORT")].join(" ").trim());
  }
  return found;
}

const get = (target: string, host: string, more = "") =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}${more}`;

Deno.test("a plain request is redirected to HTTPS with method, path and query", async () => {
  assert.deepEqual(
    await answers({}, [
      get("/", "a.test"),
      get("/x%20y/z?q=1&r=%0d%0a", "A.TEST:8080"),
      get("http://a.test/abs", "a.test"),
      get("/", "x.w.test"),
      "POST /form HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0",
      get("/", "w.test"),
      get("/", "other.test"),
    ]),
    [
      "308 https://a.test:PORT/",
      "308 https://a.test:PORT/x%20y/z?q=1&r=%0d%0a",
      "308 https://a.test:PORT/abs",
      "308 https://x.w.test:PORT/",
      "308 https://a.test:PORT/form",
      "200",
      "200",
    ],
  );
});

Deno.test("a certificate that does not apply to a host causes no redirect", async () => {
  const unnamed = await certificateFor("u", { names: ["u.test"] });
  const certificates = [
    { ...unnamed, hosts: ["u.test", "unnamed.test"], plain: ["unnamed.test"] },
    { ...CERTIFICATES[1], plain: ["foreign.w.test"] },
  ];
  assert.deepEqual(
    await answers({ certificates }, [
      get("/", "u.test"),
      get("/", "unnamed.test"),
      get("/", "own.w.test"),
      get("/", "foreign.w.test"),
    ]),
    ["308 https://u.test:PORT/", "200", "308 https://own.w.test:PORT/", "200"],
  );
});

Deno.test("the default certificate redirects the hosts that it is listed for", async () => {
  assert.deepEqual(
    await answers({ defaultCertificate: "a" }, [get("/", "a.test"), get("/", "other.test")]),
    ["308 https://a.test:PORT/", "200"],
  );
});

Deno.test("redirects are cached for five minutes", async () => {
  using proxy = await TlsProxy.start({ certificates: CERTIFICATES, sslRedirect: true });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  using client = await Peer.connect(port);
  const { head } = await client.ask(`${get("/", "a.test")}\r\n\r\n`);
  assert.match(head, /^HTTP\/1\.1 308 /);
  assert.match(head, /\r\ncache-control: max-age=300\r\n/i);
});

Deno.test("the port is the public one; 443 is omitted", async () => {
  assert.deepEqual(
    [
      await answers({ sslRedirectPort: 8443 }, [get("/", "a.test")]),
      await answers({ sslRedirectPort: 443 }, [get("/", "a.test")]),
    ],
    [["308 https://a.test:8443/"], ["308 https://a.test/"]],
  );
});

Deno.test("ACME challenges stay on plain HTTP", async () => {
  assert.deepEqual(
    await answers({}, [
      get("/.well-known/acme-challenge/token", "a.test"),
      get("/.well-known/acme-challenge", "a.test"),
      get("/.well-known/acme-challenge/../../admin", "a.test"),
    ]),
    [
      "200",
      "308 https://a.test:PORT/.well-known/acme-challenge",
      "308 https://a.test:PORT/admin",
    ],
  );
});

Deno.test("requests that a trusted proxy received over HTTPS are not redirected", async () => {
  const requests = [
    get("/", "a.test", "\r\nX-Forwarded-Proto: https"),
    get("/", "a.test", "\r\nX-Forwarded-Proto: HTTPS"),
    get("/", "a.test", "\r\nX-Forwarded-Proto: http"),
    get("/", "a.test"),
  ];
  const sent = "308 https://a.test:PORT/";
  const trusted = CidrList.parse("127.0.0.0/8") as CidrList;
  assert.deepEqual(await answers({ trustedProxies: trusted }, requests), [
    "200",
    "200",
    sent,
    sent,
  ]);
  assert.deepEqual(await answers({}, requests), [sent, sent, sent, sent]);
});

Deno.test("nothing is redirected without --ssl-redirect", async () => {
  assert.deepEqual(await answers({ sslRedirect: false }, [get("/", "a.test")]), ["200"]);
});

/** A route of `a.test` or `*.w.test` to the backend. */
function routeOf(host: string, value: string, httpsRedirect?: boolean): Route {
  return {
    id: `${host} Prefix ${value}`,
    host,
    match: { path: { type: "Prefix", value } },
    action: { kind: "forward", backends: [{ upstream: "test/web:80" }] },
    ...(httpsRedirect === undefined ? {} : { httpsRedirect }),
    origin: { kind: "Ingress", namespace: "test", name: "web", field: "spec" },
  };
}

Deno.test("a host's settings decide whether it is redirected, the most specific pattern first", async () => {
  const hostSettings = [
    { id: "*.w.test", httpsRedirect: false },
    { id: "a.test", httpsRedirect: false },
    { id: "other.test", httpsRedirect: true },
    { id: "silent.w.test" },
    { id: "x.w.test", httpsRedirect: true },
  ];
  assert.deepEqual(
    await answers({ parts: { hostSettings } }, [
      get("/", "a.test"),
      get("/", "x.w.test"),
      get("/", "y.w.test"),
      get("/", "silent.w.test"),
      get("/", "other.test"),
    ]),
    // No certificate names other.test.
    ["200", "308 https://x.w.test:PORT/", "200", "200", "200"],
  );
});

Deno.test("a host is also redirected where no route matches", async () => {
  const routes = [routeOf("a.test", "/api")];
  const requests = [get("/", "a.test"), get("/api", "a.test"), get("/", "x.w.test")];
  assert.deepEqual(await answers({ parts: { routes } }, requests), [
    "308 https://a.test:PORT/",
    "308 https://a.test:PORT/api",
    "308 https://x.w.test:PORT/",
  ]);
  const hostSettings = [{ id: "*", httpsRedirect: false }];
  assert.deepEqual(await answers({ parts: { routes, hostSettings } }, requests), [
    "404",
    "200",
    "404",
  ]);
});

Deno.test("a route overrides its host's redirect, and only for itself", async () => {
  const routes = [
    routeOf("a.test", "/plain", false),
    routeOf("a.test", "/"),
    routeOf("x.w.test", "/secure", true),
    routeOf("x.w.test", "/"),
    routeOf("*", "/", true),
  ];
  const hostSettings = [{ id: "*.w.test", httpsRedirect: false }];
  assert.deepEqual(
    await answers({ parts: { routes, hostSettings } }, [
      get("/plain", "a.test"),
      get("/plain/.well-known", "a.test"),
      get("/", "a.test"),
      get("/secure?q=1", "x.w.test"),
      get("/", "x.w.test"),
      // No certificate names it, so clients would refuse HTTPS.
      get("/", "other.test"),
      get("/.well-known/acme-challenge/token", "x.w.test"),
    ]),
    [
      "200",
      "200",
      "308 https://a.test:PORT/",
      "308 https://x.w.test:PORT/secure?q=1",
      "200",
      "200",
      "200",
    ],
  );
});

Deno.test("changed settings of hosts and routes take effect with the next request", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: CERTIFICATES, sslRedirect: true });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  using client = await Peer.connect(port);
  const steps: readonly (readonly [status: string, parts: Partial<Snapshot>])[] = [
    ["308", {}],
    ["200", { hostSettings: [{ id: "a.test", httpsRedirect: false }] }],
    ["308", { hostSettings: [{ id: "a.test", httpsRedirect: true }] }],
    ["200", { routes: [routeOf("a.test", "/", false)] }],
    ["308", { routes: [routeOf("a.test", "/")] }],
    ["200", { hostSettings: [{ id: "*", httpsRedirect: false }] }],
    ["308", {}],
  ];
  for (const [status, parts] of steps) {
    proxy.server.apply({ ...snapshotOf([backend.port]), ...parts }, CERTIFICATES);
    const { head } = await client.ask(`${get("/", "a.test")}\r\n\r\n`);
    assert.equal(head.slice(9, 12), status, JSON.stringify(parts));
  }
});

Deno.test("a looping request is redirected before it is rejected as a loop", async () => {
  const marks = Array.from({ length: 20 }, () => "CDN-Loop: pingress-test").join("\r\n");
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: CERTIFICATES, sslRedirect: true });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  const looped = { ...snapshotOf([backend.port]), loopMark: "pingress-test" };
  proxy.server.apply(looped, CERTIFICATES);
  using client = await Peer.connect(port);
  const statusOf = async (host: string) =>
    (await client.ask(`${get("/", host, `\r\n${marks}`)}\r\n\r\n`)).head.slice(9, 12);
  assert.deepEqual([await statusOf("a.test"), await statusOf("other.test")], ["308", "508"]);
});

Deno.test("HTTP/2 in plain text is redirected by the same settings", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: CERTIFICATES,
    endpoints: [backend.port],
    sslRedirect: true,
    sslRedirectPort: 443,
    parts: { routes: [routeOf("a.test", "/plain", false), routeOf("a.test", "/")] },
  });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  await using client = await H2Peer.connect(port);
  const redirected = await client.ask("/x?q=1");
  assert.equal(redirected.status, 308);
  const fields = new Map(redirected.heads.at(-1));
  assert.equal(fields.get("location"), "https://a.test/x?q=1");
  assert.equal(fields.get("cache-control"), "max-age=300");
  assert.equal((await client.ask("/plain")).status, 200);
});
