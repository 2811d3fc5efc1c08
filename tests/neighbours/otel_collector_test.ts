/** The real collector of OpenTelemetry, with spans of a real proxy. */
import assert from "node:assert/strict";
import { Backend, Peer, recordingBackend, refusingPort, statusOf } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { Collector, type PrintedSpan } from "./collector.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

async function proxyFor(
  collector: Collector,
  endpoints: readonly number[],
  ratio = 1,
): Promise<ProxyProcess> {
  return await ProxyProcess.start({
    snapshot: snapshotOf(endpoints),
    args: [
      "--allow-loopback-upstreams",
      "--workers=2",
      "--trusted-proxies=127.0.0.1",
      "--access-log-query",
      `--trace-ratio=${ratio}`,
      `--otlp-endpoint=http://127.0.0.1:${collector.port}`,
    ],
  });
}

const ofKind = (spans: readonly PrintedSpan[], kind: string) =>
  spans.filter((span) => span.kind === kind);

Deno.test("a collector accepts every span, and reads what was sent", async () => {
  await using collector = await Collector.start("otel_collector");
  if (collector === null) return;
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using proxy = await proxyFor(collector, [backend.port]);
  using client = await Peer.connect(proxy.httpPort);
  const agent = String.fromCharCode(
    ...Array.from({ length: 0x5f }, (_, i) => 0x20 + i),
    ...Array.from({ length: 0x80 }, (_, i) => 0x80 + i),
  );
  const head = "GET /a?b=%22%5C HTTP/1.1\r\nHost: app.example.com\r\n";
  const parent = `traceparent: 00-${TRACE}-${SPAN}-01\r\ntracestate: vendor=x\r\n`;
  assert.equal(statusOf(await client.ask(`${head}${parent}User-Agent: x${agent}x\r\n\r\n`)), 200);
  const EACH = 50;
  for (let i = 0; i < EACH; i++) await client.ask(`${head}\r\n`);
  const spans = await collector.spans(2 * (EACH + 1));
  assert.equal(spans.length, 2 * (EACH + 1));
  const child = spans.find(({ traceId, kind }) => traceId === TRACE && kind === "Server");
  const attempt = spans.find(({ traceId, kind }) => traceId === TRACE && kind === "Client");
  assert.equal(child?.parentId, SPAN);
  assert.equal(attempt?.parentId, child.id);
  assert.match(received[0], new RegExp(`^traceparent: 00-${TRACE}-${attempt.id}-01\\r$`, "m"));
  assert.deepEqual([child.name, child.status], ["GET /", "Unset"]);
  assert.equal(child.resource["service.name"], "Str(pingress)");
  assert.equal(child.attributes["http.request.method"], "Str(GET)");
  assert.equal(child.attributes["http.response.status_code"], "Int(200)");
  assert.equal(child.attributes["url.query"], "Str(b=%22%5C)");
  assert.equal(child.attributes["user_agent.original"], `Str(x${agent}x)`);
  assert.equal(child.attributes["k8s.service.name"], "Str(web)");
  assert.equal(new Set(ofKind(spans, "Server").map(({ traceId }) => traceId)).size, EACH + 1);
  assert.equal(new Set(spans.map(({ id }) => id)).size, spans.length);
  const { text } = await proxy.admin("/metrics");
  assert.match(text, new RegExp(`^pingress_spans_exported_total ${spans.length}$`, "m"));
  assert.doesNotMatch(text, /^pingress_spans_dropped_total\{.*\} [1-9]/m);
  assert.doesNotMatch(collector.printed, /\terror\t|\twarn\t/);
});

Deno.test("a collector gets the spans of failed requests that are not sampled", async () => {
  await using collector = await Collector.start("otel_collector");
  if (collector === null) return;
  await using proxy = await proxyFor(collector, [refusingPort()], 0);
  using client = await Peer.connect(proxy.httpPort);
  assert.equal(statusOf(await client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), 502);
  const spans = await collector.spans(2);
  for (const { status, attributes } of spans) {
    assert.equal(status, "Error");
    assert.equal(attributes["error.type"], "Str(connect_failed)");
  }
  assert.deepEqual(spans.map(({ kind }) => kind), ["Server", "Client"]);
});

Deno.test("spans reach a collector that was gone for a moment", async () => {
  let collector = await Collector.start("otel_collector");
  if (collector === null) return;
  await using backend = new Backend();
  await using proxy = await proxyFor(collector, [backend.port]);
  using client = await Peer.connect(proxy.httpPort);
  const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  await client.ask(request);
  await collector.spans(2);
  const { port } = collector;
  await collector[Symbol.asyncDispose]();
  await client.ask(request);
  await proxy.line("Spans cannot be exported");
  collector = await Collector.start("otel_collector", port);
  await using again = collector!;
  await proxy.line("Spans are exported again");
  assert.equal((await again.spans(2)).length, 2);
});
