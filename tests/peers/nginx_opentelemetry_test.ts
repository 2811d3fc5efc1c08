/**
 * Random Ingresses with the annotations of OpenTelemetry, through ingress-nginx's configuration of nginx and through
 * us with traces. In: a seed. Out: the same status, Location and request at the backend, or the pair that differs.
 *
 * Debian has no OpenTelemetry module for nginx. Without one nginx passes trace headers unchanged, as
 * with `enable-opentelemetry: "false"`; so where we make spans, traceparent is what differs.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { recordingBackend } from "../support/backend.ts";
import { OtlpCollector } from "../support/otlp_collector.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { headerOf } from "../support/wire_message.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type HostedIngress, ingressServers } from "./nginx_ingress.ts";
import { outcome } from "./nginx_outcome.ts";
import { PairCounts } from "./pair_counts.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_129);
const HOSTS = 100;
const REQUESTS = 4;

const ENABLE = "enable-opentelemetry";
const OPERATION_NAME = "opentelemetry-operation-name";
const TRUST = "opentelemetry-trust-incoming-span";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENTS = [`00-${TRACE_ID}-00f067aa0ba902b7-00`, `00-${TRACE_ID}-00f067aa0ba902b7-01`];
const OTHERS = ["", "none", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`];
const TARGETS = ["/", "/a", "/a/", "/a/b?c=d", "/ab", "/c"];

function randomIngress(random: Random, index: number): HostedIngress {
  const annotations: Record<string, string> = {};
  const mostly = (name: string, value: string) => {
    if (!random.oneIn(3)) annotations[name] = value;
  };
  mostly(ENABLE, random.pick(["true", "false"]));
  mostly(OPERATION_NAME, random.pick(["checkout", "list-items", "a_b-C1"]));
  mostly(TRUST, random.pick(["true", "false"]));
  if (random.oneIn(6)) annotations["permanent-redirect"] = "https://new.example.com/a";
  if (random.oneIn(6)) annotations["denylist-source-range"] = "127.0.0.0/8";
  if (random.oneIn(4)) annotations["upstream-vhost"] = "web.example.com";
  const paths = ["/", "/a"].filter((path) => path === "/a" || random.oneIn(2));
  return {
    ...{ host: `h${index}.test`, annotations },
    paths: paths.map((path) => [path, random.pick(["Prefix", "ImplementationSpecific"])]),
  };
}

interface Given {
  readonly annotations: HostedIngress["annotations"];
  readonly traceparent: string;
  /** What nginx sent on. */
  readonly theirs: string | null;
}

/** What became of a traceparent, after asserting that it is what docs/annotations.md says. */
function judged(ours: string | null, { annotations, traceparent, theirs }: Given): string {
  if (annotations[ENABLE] === "false") {
    assert.equal(ours, theirs);
    return "unchanged";
  }
  const [version, traceId, parentId, flags] = (ours ?? "").split("-");
  assert.deepEqual([version, parentId?.length], ["00", 16], `${ours}`);
  if (annotations[TRUST] !== "true" || !TRACEPARENTS.includes(traceparent)) {
    assert.notEqual(traceId, TRACE_ID);
    return "root";
  }
  assert.deepEqual([traceId, flags], [TRACE_ID, traceparent.slice(-2)]);
  assert.notEqual(parentId, traceparent.split("-")[2]);
  return "child";
}

Deno.test("annotations of OpenTelemetry change no request but for its trace headers, as in ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const ingresses = Array.from({ length: HOSTS }, (_, i) => randomIngress(random.fork(), i));
  const received: string[] = [];
  await using backend = recordingBackend(received);
  await using collector = await OtlpCollector.start();
  const nginx = await Nginx.startWith(
    program,
    (port) => ingressServers(ingresses, port, backend.port),
  );
  const { url } = collector;
  using observed = new ObservedProxy([], { traces: { url, ratio: 0.5 } });
  const pairs = new PairCounts();
  try {
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    observed.apply(annotatedSnapshot(byName, [backend.port], "nginx"));
    for (const { host, annotations } of ingresses) {
      for (let i = 0; i < REQUESTS; i++) {
        const traceparent = random.pick([...TRACEPARENTS, ...OTHERS]);
        const state = random.oneIn(2) ? "tracestate: a=b,c=d\r\n" : "";
        const line = traceparent === "" ? "" : `traceparent: ${traceparent}\r\n`;
        const request = `GET ${random.pick(TARGETS)} HTTP/1.1\r\nHost: ${host}\r\n${line}${state}` +
          "Connection: close\r\n\r\n";
        const theirs = await outcome(nginx.port, request, received);
        const [theirHead] = received;
        const ours = await outcome(observed.port, request, received);
        const [ourHead] = received;
        assert.deepEqual(ours, theirs, `${JSON.stringify(annotations)} ${request}`);
        const outcomes = [String(theirs.status)];
        if (theirs.received !== null) {
          const given = { annotations, traceparent, theirs: headerOf(theirHead, "traceparent") };
          const parent = judged(headerOf(ourHead, "traceparent"), given);
          outcomes.push(parent);
          if (parent !== "root") {
            assert.equal(headerOf(ourHead, "tracestate"), headerOf(theirHead, "tracestate"));
          }
        }
        pairs.add(Object.keys(annotations), outcomes);
      }
    }
  } finally {
    await nginx.stop();
  }
  pairs.assertEnough([ENABLE, OPERATION_NAME, TRUST]);
  pairs.assertOutcomes(["200", "301", "403", "404", "unchanged", "root", "child"]);
});
