/** Spans of a running proxy, and the trace headers that backends get, as a collector sees them. */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import type { FilterSpec, Policy } from "../../shared/snapshot/types.ts";
import {
  Backend,
  Peer,
  recordingBackend,
  refusingPort,
  reply,
  statusOf,
} from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { type CollectedSpan, OtlpCollector } from "../support/otlp_collector.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const TRUSTED = { trustedProxies: CidrList.parse("127.0.0.0/8") as CidrList };
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const SERVER = 2;
const CLIENT = 3;

function headerOf(head: string, name: string): string | null {
  const lines = [...head.matchAll(new RegExp(`^${name}: (.*)\\r$`, "gim"))];
  return lines.length === 0 ? null : lines.map(([, value]) => value).join(",");
}

function request(...headers: string[]): string {
  return `GET /a HTTP/1.1\r\nHost: App.example.com:8443\r\n${
    headers.map((line) => `${line}\r\n`).join("")
  }\r\n`;
}

Deno.test("a request has a span, and its attempt one below it, whose id the backend gets", async () => {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([backend.port], { traces: { url: collector.url } });
  using client = await Peer.connect(observed.port);
  const before = Date.now();
  assert.equal(
    statusOf(
      await client.ask(
        "GET /a/../b?token=secret HTTP/1.1\r\nHost: App.example.com:8443\r\nUser-Agent: test/1\r\n\r\n",
      ),
    ),
    200,
  );
  const [line] = await observed.lines();
  await observed.spansSent();
  const [server, ...others] = collector.ofKind(SERVER);
  const [attempt, ...more] = collector.ofKind(CLIENT);
  assert.deepEqual([others, more], [[], []]);
  assert.equal(server.parentSpanId, undefined);
  assert.equal(attempt.parentSpanId, server.spanId);
  assert.equal(attempt.traceId, server.traceId);
  assert.match(server.traceId, /^[0-9a-f]{32}$/);
  assert.equal(
    headerOf(received[0], "traceparent"),
    `00-${server.traceId}-${attempt.spanId}-01`,
  );
  // A request id on an error page leads to the trace.
  assert.equal(headerOf(received[0], "x-request-id"), server.traceId);
  assert.deepEqual([line.traceId, line.requestId], [server.traceId, server.traceId]);
  const { "network.peer.port": peerPort, ...attributes } = server.attributes;
  assert.ok(Number(peerPort) > 0);
  assert.deepEqual(attributes, {
    "http.request.method": "GET",
    "http.response.status_code": "200",
    "http.route": "/",
    "url.scheme": "http",
    "url.path": "/b",
    "server.address": "app.example.com",
    "server.port": "8443",
    "client.address": "127.0.0.1",
    "network.peer.address": "127.0.0.1",
    "network.protocol.version": "1.1",
    "user_agent.original": "test/1",
    "k8s.namespace.name": "test",
    "k8s.service.name": "web",
    "pingress.request_id": server.traceId,
    "pingress.route": "* Prefix /",
  });
  assert.deepEqual(attempt.attributes, {
    "http.request.method": "GET",
    "http.response.status_code": "200",
    "url.full": `http://127.0.0.1:${backend.port}/b`,
    "server.address": "127.0.0.1",
    "server.port": String(backend.port),
    "k8s.namespace.name": "test",
    "k8s.service.name": "web",
  });
  assert.deepEqual([server.name, attempt.name], ["GET /", "GET"]);
  assert.deepEqual([server.status, attempt.status], [{}, {}]);
  const times = [server.startTimeUnixNano, attempt.startTimeUnixNano]
    .concat(attempt.endTimeUnixNano, server.endTimeUnixNano).map((nanos) => BigInt(nanos));
  assert.deepEqual(times, times.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0));
  assert.ok(times[0] >= BigInt(before - 1) * 1_000_000n, String(times[0]));
  assert.ok(times[3] <= BigInt(Date.now() + 1) * 1_000_000n, String(times[3]));
  const [resource] = collector.resources;
  assert.deepEqual(Object.keys(resource), [
    "service.name",
    "service.version",
    "service.instance.id",
  ]);
});

Deno.test("a trusted proxy's request is the child of its span, and sampled as that is", async () => {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  const traces = { url: collector.url, ratio: 0.5 };
  using observed = new ObservedProxy([backend.port], { traces, server: TRUSTED });
  using client = await Peer.connect(observed.port);
  const states = ["a=1,b@c=2", "", "d= e"];
  for (const flags of ["01", "03", "00", "fe"]) {
    await client.ask(
      request(
        `traceparent: 00-${TRACE}-${SPAN}-${flags}`,
        `Tracestate: ${states[0]}`,
        `tracestate: ${states[2]}`,
      ),
    );
  }
  await observed.spansSent();
  assert.deepEqual(
    received.map((head) => headerOf(head, "traceparent")?.replace(/-[0-9a-f]{16}-/, "-…-")),
    ["01", "01", "00", "00"].map((flags) => `00-${TRACE}-…-${flags}`),
  );
  for (const head of received) assert.equal(headerOf(head, "tracestate"), "a=1,b@c=2,d= e");
  const servers = collector.ofKind(SERVER);
  assert.equal(servers.length, 2);
  for (const { traceId, parentSpanId, traceState, flags } of servers) {
    const expected = [TRACE, SPAN, "a=1,b@c=2,d= e", 0x301];
    assert.deepEqual([traceId, parentSpanId, traceState, flags], expected);
  }
  const told = received.map((head) => headerOf(head, "traceparent")?.slice(36, 52));
  assert.deepEqual(collector.ofKind(CLIENT).map(({ spanId }) => spanId), told.slice(0, 2));
  assert.equal(new Set(told).size, 4);
});

Deno.test("the id of a request has that of a new trace, unless a trusted proxy has given it", async () => {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  const traces = { url: collector.url };
  using observed = new ObservedProxy([backend.port], { traces, server: TRUSTED });
  using client = await Peer.connect(observed.port);
  const given = "0123456789abcdef".repeat(2);
  for (const lines of [[], [`X-Request-Id: ${given}`], ["X-Request-Id: two words"], []]) {
    await client.ask(request(...lines));
  }
  await observed.spansSent();
  const ids = received.map((head) => headerOf(head, "x-request-id"));
  const traceIds = collector.ofKind(SERVER).map(({ traceId }) => traceId);
  assert.equal(ids[1], given);
  assert.notEqual(traceIds[1], given);
  assert.deepEqual([0, 2, 3].map((i) => traceIds[i]), [0, 2, 3].map((i) => ids[i]));
  assert.equal(new Set([...ids, ...traceIds]).size, 5);
});

/** None is to be the child of. */
const BAD_PARENTS: Readonly<Record<string, readonly string[]>> = {
  "of zeros": [`00-${"0".repeat(32)}-${SPAN}-01`],
  "with a parent of zeros": [`00-${TRACE}-${"0".repeat(16)}-01`],
  "of version ff": [`ff-${TRACE}-${SPAN}-01`],
  "in capitals": [`00-${TRACE.toUpperCase()}-${SPAN}-01`],
  "with more behind it": [`00-${TRACE}-${SPAN}-01-what`],
  "that is too short": [`00-${TRACE}-${SPAN}-0`],
  "with other separators": [`00_${TRACE}_${SPAN}_01`],
  "that is empty": [""],
  "given twice": [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`],
  "of 4 KiB": [`00-${TRACE}-${SPAN}-01${"x".repeat(4096)}`],
  "of a later version, run together": [`cc-${TRACE}-${SPAN}-01what`],
};

Deno.test("a traceparent that says nothing begins a new trace, and its tracestate ends", async (t) => {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  const traces = { url: collector.url };
  using observed = new ObservedProxy([backend.port], { traces, server: TRUSTED });
  using client = await Peer.connect(observed.port);
  for (const [name, values] of Object.entries(BAD_PARENTS)) {
    await t.step(name, async () => {
      const lines = values.map((value) => `traceparent: ${value}`);
      const answer = await client.ask(request(...lines, "tracestate: a=1"));
      assert.equal(statusOf(answer), 200);
      const head = received.at(-1)!;
      const value = headerOf(head, "traceparent") ?? "";
      assert.match(value, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
      assert.ok(!value.includes(TRACE) && !value.includes("0".repeat(16)));
      assert.equal(headerOf(head, "tracestate"), null);
    });
  }
  await t.step("of a later version it counts as far as it is known", async () => {
    await client.ask(request(`traceparent: cc-${TRACE}-${SPAN}-01-what`));
    assert.ok(headerOf(received.at(-1)!, "traceparent")?.startsWith(`00-${TRACE}-`));
  });
  await observed.spansSent();
  const roots = collector.ofKind(SERVER).filter(({ parentSpanId }) => parentSpanId === undefined);
  assert.equal(roots.length, Object.keys(BAD_PARENTS).length);
});

Deno.test("a stranger's trace headers end at the proxy", async () => {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  const traces = { url: collector.url, ratio: 0 };
  using observed = new ObservedProxy([backend.port], { traces });
  using client = await Peer.connect(observed.port);
  await client.ask(request(`traceparent: 00-${TRACE}-${SPAN}-01`, "tracestate: a=1"));
  await client.ask(request());
  await observed.spansSent();
  for (const head of received) {
    assert.match(headerOf(head, "traceparent") ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    assert.ok(!headerOf(head, "traceparent")?.includes(TRACE));
    assert.equal(headerOf(head, "tracestate"), null);
  }
  assert.deepEqual(collector.spans, []);
});

Deno.test("a tracestate that is too long or malformed is dropped, and the trace continues", async (t) => {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([backend.port], {
    traces: { url: collector.url },
    server: TRUSTED,
  });
  using client = await Peer.connect(observed.port);
  const members = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=v`).join(",");
  const long = (length: number) => `k=${"v".repeat(250)},l=${"v".repeat(length - 255)}`;
  const states: readonly [name: string, state: string, passes: boolean][] = [
    ["32 members", members(32), true],
    ["33 members", members(33), false],
    ["512 bytes", long(510) + ",m", false],
    ["of 510 bytes", long(510), true],
    ["513 bytes", `${long(500)},m=${"v".repeat(10)}`, false],
    ["a key twice", "a=1,a=2", false],
    ["no value", "a", false],
    ["an empty value", "a=", false],
    ["blanks around members", "a=1 , b=2", true],
    ["empty members", "a=1,,b=2", true],
    ["a capital in a key", "A=1", false],
    ["bytes beyond ASCII", "a=\xe9", false],
  ];
  for (const [name, state, passes] of states) {
    await t.step(name, async () => {
      await client.ask(request(`traceparent: 00-${TRACE}-${SPAN}-01`, `tracestate: ${state}`));
      const head = received.at(-1)!;
      assert.ok(headerOf(head, "traceparent")?.startsWith(`00-${TRACE}-`));
      assert.equal(headerOf(head, "tracestate"), passes ? state : null);
    });
  }
  await observed.spansSent();
});

Deno.test("each attempt has a span, and a retry says how many came before it", async () => {
  await using backend = new Backend();
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([refusingPort(), backend.port], {
    traces: { url: collector.url },
  });
  using client = await Peer.connect(observed.port);
  for (let i = 0; i < 2; i++) assert.equal(statusOf(await client.ask(request())), 200);
  await observed.spansSent();
  const failed = collector.ofKind(CLIENT).find(({ status }) => status.code === 2);
  const { attributes, traceId } = failed!;
  assert.equal(attributes["error.type"], "connect_failed");
  assert.equal(attributes["pingress.error.side"], "upstream");
  assert.equal(attributes["http.response.status_code"], undefined);
  const again = collector.ofKind(CLIENT).find((span) =>
    span.traceId === traceId && span.status.code === undefined
  );
  assert.equal(again?.attributes["http.request.resend_count"], "1");
  const server = collector.ofKind(SERVER).find((span) => span.traceId === traceId);
  assert.deepEqual(server?.status, {});
});

Deno.test("failed requests have spans though they are not sampled, 50 a second", async () => {
  await using collector = await OtlpCollector.start();
  const traces = { url: collector.url, ratio: 0 };
  using observed = new ObservedProxy([refusingPort()], { traces, limits: { ejectionFailures: 0 } });
  using client = await Peer.connect(observed.port);
  assert.equal(statusOf(await client.ask(request())), 502);
  await observed.spansSent();
  const [server] = collector.ofKind(SERVER);
  const [attempt] = collector.ofKind(CLIENT);
  assert.equal(attempt.parentSpanId, server.spanId);
  assert.deepEqual([server.status, attempt.status], [{ code: 2 }, { code: 2 }]);
  assert.equal(server.attributes["http.response.status_code"], "502");
  assert.equal(server.attributes["error.type"], "connect_failed");
  assert.equal(server.attributes["pingress.error"], "connect_failed");
  assert.equal(server.attributes["pingress.error.side"], "upstream");
  assert.equal(server.flags & 1, 0);
});

Deno.test("an outage makes no flood of spans, and those left out are counted", async () => {
  await using collector = await OtlpCollector.start();
  const traces = { url: collector.url, ratio: 0 };
  using observed = new ObservedProxy([refusingPort()], { traces, limits: { ejectionFailures: 0 } });
  using client = await Peer.connect(observed.port);
  const REQUESTS = 400;
  const began = performance.now();
  for (let i = 0; i < REQUESTS; i++) await client.ask(request());
  const seconds = Math.floor((performance.now() - began) / 1000) + 2;
  await observed.spansSent();
  const series = await observed.series();
  const exported = series.get("pingress_spans_exported_total") ?? 0;
  const left = series.get('pingress_spans_dropped_total{reason="error_limit"}') ?? 0;
  assert.equal(exported, collector.spans.length);
  assert.equal(exported + left, 2 * REQUESTS);
  assert.ok(exported > 0 && exported <= 50 * seconds, `${exported} spans in ${seconds} s`);
});

Deno.test("requests that no route takes have a span, malformed ones have none", async () => {
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([], { traces: { url: collector.url } });
  observed.apply({ ...snapshotOf([]), routes: [] });
  using client = await Peer.connect(observed.port);
  assert.equal(statusOf(await client.ask(request())), 404);
  await client.send("nonsense\r\n\r\n");
  await client.ended();
  await observed.spansSent();
  const [{ name, attributes, status }, ...more] = collector.spans;
  assert.deepEqual(more, []);
  assert.deepEqual([name, status], ["GET", {}]);
  assert.equal(attributes["pingress.error"], "no_route");
  assert.equal(attributes["error.type"], undefined);
});

const AUTH = "test/auth:80";
const REPLIES: readonly [
  says: string,
  filters: readonly FilterSpec[],
  ratio: number,
  filter: string,
  status: string,
  error: string | undefined,
][] = [
  [
    "a redirect",
    [{ kind: "redirect", location: "https://b.test/", status: 301 }],
    1,
    "redirect",
    "301",
    undefined,
  ],
  [
    "a list of networks",
    [{ kind: "access", deny: ["127.0.0.0/8"] }],
    1,
    "access",
    "403",
    "forbidden",
  ],
  [
    "an authenticator that is down, though the request is not sampled,",
    [{
      kind: "access",
      external: {
        scheme: "http",
        authority: [{ kind: "text", text: "auth.test" }],
        target: [{ kind: "text", text: "/" }],
        namespace: "test",
        upstream: AUTH,
      },
    }],
    0,
    "access",
    "500",
    "auth_failed",
  ],
];
for (const [says, filters, ratio, filter, status, error] of REPLIES) {
  Deno.test(`the span of a response of ${says} names the filter`, async () => {
    await using backend = new Backend();
    await using collector = await OtlpCollector.start();
    using observed = new ObservedProxy([], { traces: { url: collector.url, ratio } });
    observed.apply(
      filteredSnapshot({ a: { filters }, plain: {} }, [
        upstreamTo(AUTH, [refusingPort()]),
        upstreamTo(WEB, [backend.port]),
      ]),
    );
    using client = await Peer.connect(observed.port);
    await client.ask(request());
    await client.ask("GET /plain HTTP/1.1\r\nHost: a\r\n\r\n");
    await observed.spansSent();
    const [replied, plain] = collector.ofKind(SERVER).map(({ attributes }) => attributes);
    assert.equal(replied["pingress.filter"], filter);
    assert.equal(replied["pingress.route"], "* Prefix /a");
    assert.equal(replied["http.response.status_code"], status);
    assert.equal(replied["pingress.error"], error);
    assert.equal(plain?.["pingress.filter"], undefined);
  });
}

Deno.test("methods of a client's invention share one name", async () => {
  await using backend = new Backend();
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([backend.port], { traces: { url: collector.url } });
  using client = await Peer.connect(observed.port);
  await client.ask("FANCY /a HTTP/1.1\r\nHost: a\r\n\r\n");
  await observed.spansSent();
  const [{ name, attributes }] = collector.ofKind(SERVER);
  assert.equal(name, "HTTP /");
  assert.equal(attributes["http.request.method"], "_OTHER");
  assert.equal(attributes["http.request.method_original"], "FANCY");
});

/** Requests of a stranger and of a trusted proxy, each with a parent, by a route with this policy. */
async function tracedBy(
  tracing: Policy["tracing"],
  trusted: boolean,
): Promise<{ head: string; server: CollectedSpan | undefined }> {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([backend.port], {
    traces: { url: collector.url },
    server: trusted ? TRUSTED : {},
  });
  const snapshot = snapshotOf([backend.port]);
  observed.apply({
    ...snapshot,
    routes: snapshot.routes.map((route) => ({ ...route, policy: "traces" })),
    policies: [{ id: "traces", ...(tracing === undefined ? {} : { tracing }) }],
  });
  using client = await Peer.connect(observed.port);
  await client.ask(request(`traceparent: 00-${TRACE}-${SPAN}-01`, "tracestate: a=1"));
  await observed.spansSent();
  return { head: received[0], server: collector.ofKind(SERVER)[0] };
}

Deno.test("a route without traces has no spans, and trace headers pass unchanged", async () => {
  for (const trusted of [true, false]) {
    const { head, server } = await tracedBy({ enabled: false }, trusted);
    assert.equal(server, undefined);
    assert.equal(headerOf(head, "traceparent"), `00-${TRACE}-${SPAN}-01`);
    assert.equal(headerOf(head, "tracestate"), "a=1");
  }
});

Deno.test("a route can trust every client's parent span, or none", async () => {
  for (const trusted of [true, false]) {
    const all = await tracedBy({ trust: true }, trusted);
    assert.equal(all.server?.parentSpanId, SPAN);
    assert.equal(headerOf(all.head, "tracestate"), "a=1");
    const none = await tracedBy({ trust: false }, trusted);
    assert.equal(none.server?.parentSpanId, undefined);
    assert.notEqual(none.server?.traceId, TRACE);
    assert.equal(headerOf(none.head, "tracestate"), null);
  }
});

Deno.test("a route can name its spans", async () => {
  const { server } = await tracedBy({ name: "checkout" }, false);
  assert.equal(server?.name, "checkout");
});

Deno.test("a route without traces leaves those of the connection's next request alone", async () => {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([backend.port], { traces: { url: collector.url } });
  const snapshot = snapshotOf([backend.port]);
  const [route] = snapshot.routes;
  const quiet = { type: "Exact", value: "/quiet" } as const;
  observed.apply({
    ...snapshot,
    routes: [{ ...route, id: "* Exact /quiet", match: { path: quiet }, policy: "quiet" }, route],
    policies: [{ id: "quiet", tracing: { enabled: false } }],
  });
  using client = await Peer.connect(observed.port);
  for (const path of ["/", "/quiet", "/", "/quiet"]) {
    await client.ask(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  }
  await observed.spansSent();
  const told = received.map((head) => headerOf(head, "traceparent"));
  assert.deepEqual(told.map((value) => value !== null), [true, false, true, false]);
  assert.equal(collector.ofKind(SERVER).length, 2);
});

Deno.test("with traces off, trace headers pass unchanged and the log has no trace id", async () => {
  const received: string[] = [];
  await using backend = recordingBackend(received);
  using observed = new ObservedProxy([backend.port]);
  using client = await Peer.connect(observed.port);
  await client.ask(request("traceparent: 00-what", "tracestate: anything"));
  await client.ask(request());
  assert.equal(headerOf(received[0], "traceparent"), "00-what");
  assert.equal(headerOf(received[0], "tracestate"), "anything");
  assert.equal(headerOf(received[1], "traceparent"), null);
  for (const line of await observed.lines()) assert.ok(!("traceId" in line));
});

Deno.test("queries are in spans if they are in the access log", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(reply("ok"));
  });
  await using collector = await OtlpCollector.start();
  const traces = { url: collector.url, query: true };
  using observed = new ObservedProxy([backend.port], { traces });
  using client = await Peer.connect(observed.port);
  await client.ask("GET /a?b=%22c HTTP/1.1\r\nHost: a\r\n\r\n");
  await observed.spansSent();
  const [{ attributes: server }] = collector.ofKind(SERVER);
  const [{ attributes: attempt }] = collector.ofKind(CLIENT);
  assert.equal(server["url.query"], "b=%22c");
  assert.ok(attempt["url.full"].endsWith("/a?b=%22c"));
});
