/**
 * Retries of random Ingresses, through ingress-nginx's configuration of nginx and through us. In: a seed.
 * Out: the same status, response and attempts, or the pair that differs.
 *
 * Left out is what the table of annotations says we do otherwise: bodies that are too long to be kept, methods
 * that we do not know to be idempotent, idle connections, and a budget of retries.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type BackendIngress, backendServers } from "./nginx_backends.ts";
import { PlannedBackends, type PlannedRequest } from "./planned_backends.ts";
import { PairCounts } from "./pair_counts.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
const INGRESSES = 100;
const REQUESTS = 4;
const ENDPOINTS = 4;

/** Endpoints are asked in turn whatever they have done, and every request may be retried. */
const LIMITS = { ejectionFailures: 0, ejectionAnswers: 0, retryBudget: 1000 };

const FAILURES = [
  ...["error", "error", "timeout", "invalid_header", "http_500", "http_502", "http_503"],
  ...["http_504", "http_403", "http_404", "http_429", "non_idempotent"],
];
const STEPS = [
  ...["500", "502", "503", "504", "403", "404", "429", "400", "302", "200"],
  ...["closes", "closes", "closes in the head", "is malformed"],
];
const METHODS = ["GET", "GET", "HEAD", "OPTIONS", "DELETE", "PUT", "POST", "PATCH"];
const TARGETS = ["/", "/a/b?x=y", "/%20?", "/a?b=/../c"];

function some<T>(random: Random, list: readonly T[], most: number): T[] {
  return Array.from({ length: random.between(1, most) }, () => random.pick(list));
}

function randomIngress(random: Random, index: number, endpoints: readonly number[]) {
  const annotations: Record<string, string> = {};
  const sometimes = (name: string, rarity: number, value: () => string) => {
    if (!random.oneIn(rarity)) annotations[name] = value();
  };
  sometimes("proxy-next-upstream", 5, () => {
    if (random.oneIn(8)) return "off";
    return [...new Set(some(random, FAILURES, 6))].join(" ");
  });
  sometimes("proxy-next-upstream-tries", 3, () => random.pick(["0", "1", "2", "3", "4", "9"]));
  sometimes("proxy-next-upstream-timeout", 3, () => random.pick(["0", "600", "3600"]));
  sometimes("client-body-buffer-size", 3, () => random.pick(["16k", "17000", "64k", "1m"]));
  const ingress: BackendIngress = {
    ...{ host: `h${index}.test`, annotations, endpoints, paths: [["/", "Prefix"]] },
  };
  return ingress;
}

/** Steps after which such an Ingress retries. */
function failuresOf({ annotations }: BackendIngress): string[] {
  const words = (annotations["proxy-next-upstream"] ?? "error timeout").split(" ");
  return words.flatMap((word) => {
    if (word.startsWith("http_")) return word.slice(5);
    return word === "error" ? "closes" : word === "invalid_header" ? "is malformed" : [];
  });
}

function randomRequest(random: Random, ingress: BackendIngress): PlannedRequest {
  const { host } = ingress;
  const method = random.pick(METHODS);
  const failures = failuresOf(ingress);
  const steps = failures.length === 0 || random.oneIn(2) ? STEPS : failures;
  const hasBody = /^P/.test(method) && !random.oneIn(3);
  return {
    ...{ method, host, target: random.pick(TARGETS), plan: some(random, steps, ENDPOINTS + 1) },
    body: hasBody ? "x".repeat(random.pick([1, 100, 8_000, 16_000])) : "",
    isChunked: hasBody && random.oneIn(3),
  };
}

/** Calls `step` for each, some at a time. */
async function forEach<T>(list: readonly T[], step: (item: T, i: number) => Promise<void>) {
  const rest = list.entries();
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (const [i, item] of rest) await step(item, i);
  }));
}

/** Each endpoint was asked once. */
function areDistinct(backends: PlannedBackends, id: string): boolean {
  const endpoints = backends.attemptsOf(id).map(({ endpoint }) => endpoint);
  return new Set(endpoints).size === endpoints.length;
}

Deno.test("requests are retried after the same failures as by ingress-nginx, as often", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  await using backends = new PlannedBackends(ENDPOINTS);
  const ingresses = Array.from(
    { length: INGRESSES },
    (_, index) => randomIngress(random.fork(), index, backends.ports),
  );
  const pairs = ingresses.flatMap((ingress) =>
    Array.from(
      { length: REQUESTS },
      () => ({ ingress, request: randomRequest(random.fork(), ingress) }),
    )
  );
  const nginx = await Nginx.startWith(program, (port) => backendServers(ingresses, port));
  try {
    using proxy = new TestProxy([], LIMITS);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, backends.ports, "nginx"));
    const counts = new PairCounts();
    await forEach(pairs, async ({ ingress, request }, i) => {
      const [theirs, ours] = await Promise.all([
        backends.ask(nginx.port, `nginx-${i}`, request),
        backends.ask(proxy.port, `pingress-${i}`, request),
      ]);
      const words = `${JSON.stringify(ingress.annotations)} ${JSON.stringify(request)}`;
      assert.deepEqual(ours, theirs, words);
      assert.ok(areDistinct(backends, `nginx-${i}`) && areDistinct(backends, `pingress-${i}`));
      counts.add(Object.keys(ingress.annotations), [
        `${theirs.attempts.length} attempts`,
        `status ${theirs.status}`,
      ]);
    });
    counts.assertEnough(
      new Set(ingresses.flatMap(({ annotations }) => Object.keys(annotations))),
    );
    counts.assertOutcomes([
      ...Array.from({ length: ENDPOINTS }, (_, i) => `${i + 1} attempts`),
      ...[200, 302, 400, 403, 404, 429, 500, 502, 503, 504].map((status) => `status ${status}`),
    ]);
  } finally {
    await nginx.stop();
  }
});
