/** A proxy's /explain for the listeners of a Gateway. */
import assert from "node:assert/strict";
import {
  freeRange,
  gatewaySnapshot,
  listener,
  route,
  secureListener,
} from "../support/gateway_listeners.ts";
import { sharedListenerId } from "../../shared/snapshot/listener_id.ts";
import { ProxyProcess } from "../support/proxy_process.ts";

Deno.test("a proxy's /explain names listener and route of a Gateway, and why others lost", async () => {
  const range = freeRange(4);
  const any = listener("any", range.from);
  const star = listener("star", range.from, { hostname: "*.example.com" });
  const secure = secureListener("secure", range.from + 1, { certificates: [] });
  const other = listener("x", range.from + 2, { id: "test/other/x" });
  const routes = [
    { ...route([star], "a.example.com", "web"), id: "of star" },
    { ...route([any], "*", "web"), id: "of any" },
    { ...route([secure], "*", "web"), id: "of secure" },
    { ...route([other], "*", "web"), id: "of other" },
  ];
  await using proxy = await ProxyProcess.start({
    snapshot: gatewaySnapshot({
      listeners: [any, star, secure, other],
      routes,
      upstreams: { web: 1 },
    }),
    args: [`--listen-range=${range.from}-${range.to}`],
  });
  const explain = async (url: string, gateway: string, accept = "text/plain") => {
    const query = new URLSearchParams({ url, gateway });
    return await proxy.admin(`/explain?${query}`, { accept });
  };
  const plain = await explain("http://a.example.com/x", "test/gw");
  assert.equal(plain.status, 200, plain.text);
  assert.deepEqual(plain.text.split("\n").filter((line) => !line.startsWith("  from")), [
    "http://a.example.com/x",
    "Listener: test/gw/star",
    "Route: of star",
    "  forwards to web",
    "  with 1 endpoint",
    "Considered: of any",
    "  lost because it is on test/gw/any only, not on test/gw/star",
    "Considered: of secure",
    "  lost because it is on test/gw/secure only, not on test/gw/star",
    "",
  ]);
  const tls = await explain("https://b.test/", "test/gw");
  assert.match(tls.text, /^Listener: test\/gw\/secure\nRoute: of secure\n/m);
  assert.match(tls.text, /\nCertificates: none, so handshakes fail\n$/);
  const data = JSON.parse((await explain("http://b.test/", "test/gw", "application/json")).text);
  assert.deepEqual([data.listener, data.outcome.route.id, data.redirect], [
    "test/gw/any",
    "of any",
    undefined,
  ]);
  for (
    const [url, gateway, text] of [
      ["http://b.test/", "test/gone", "The snapshot has no listener of Gateway test/gone\n"],
      [
        "http://b.test:81/",
        "test/gw",
        "Gateway test/gw has no listener for http on port 81, only http 80, https 443\n",
      ],
    ]
  ) {
    const { status, text: reply } = await explain(url, gateway);
    assert.deepEqual([status, reply], [404, text]);
  }
});

Deno.test("a proxy's /explain for a Gateway on the ports of Ingresses says what has a host there", async () => {
  const shared = listener("http", "http", { id: sharedListenerId("test/gw", "http", "http") });
  const snapshot = gatewaySnapshot({
    listeners: [shared],
    routes: [
      { ...route([shared], "a.example.com", "web"), id: "of gw" },
      { ...route([shared], "*.example.com", "web"), id: "of gw, any" },
    ],
    upstreams: { web: 1 },
  });
  await using proxy = await ProxyProcess.start({ snapshot });
  for (const gateway of ["", "&gateway=test/gw"]) {
    const { text } = await proxy.admin(`/explain?url=http://a.example.com/x${gateway}`);
    assert.match(text, /^Route: of gw\n/m);
    assert.match(
      text,
      /^Considered: of gw, any\n +lost because its host .* is less specific than/m,
    );
  }
  const { text } = await proxy.admin("/explain?url=http://other.test/&gateway=test/gw");
  assert.match(text, /^Route: \* Prefix \/\n/m);
});
