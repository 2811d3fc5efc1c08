/**
 * Time-outs of random Ingresses, through ingress-nginx's configuration of nginx and through us. In: a seed, and
 * endpoints that respond at once or never. Out: the same status, response and attempts, or the pair that
 * differs.
 *
 * A limit is either a few seconds and passes, or far longer than the test. All that wait do so together.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type BackendIngress, backendServers } from "./nginx_backends.ts";
import { PlannedBackends, type PlannedOutcome, type PlannedRequest } from "./planned_backends.ts";
import { PairCounts } from "./pair_counts.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
const INGRESSES = 170;
const ENDPOINTS = 3;
const LIMITS = { ejectionFailures: 0, ejectionAnswers: 0, retryBudget: 1000 };

/** In seconds: what passes, on a busy machine not before a next attempt has its response, and what never does. */
const SHORT = ["6", "7"];
const LONG = ["60", "600", "86400"];

const SILENCE = ["is silent", "is silent", "is silent in the body", "is silent in a tunnel"];
const STEPS = ["200", "200", "302", "404", "503", "closes", "is malformed"];
const TARGETS = ["/", "/a/b?x=y", "/%20?"];
const FAILURES = ["error", "timeout", "timeout", "invalid_header", "http_503", "non_idempotent"];

interface Pair {
  readonly ingress: BackendIngress;
  readonly request: PlannedRequest;
}

function randomPair(random: Random, index: number, endpoints: readonly number[]): Pair {
  const annotations: Record<string, string> = {};
  const sometimes = (name: string, rarity: number, value: () => string) => {
    if (!random.oneIn(rarity)) annotations[name] = value();
  };
  const isSilent = random.oneIn(2);
  sometimes("proxy-connect-timeout", 4, () => random.pick(LONG));
  sometimes("proxy-send-timeout", 4, () => random.pick(LONG));
  if (isSilent) annotations["proxy-read-timeout"] = random.pick(SHORT);
  else sometimes("proxy-read-timeout", 4, () => random.pick(LONG));
  sometimes("proxy-next-upstream", 2, () => {
    return [...new Set(Array.from({ length: 4 }, () => random.pick(FAILURES)))].join(" ");
  });
  sometimes("proxy-next-upstream-tries", 2, () => random.pick(["1", "2", "2", "3"]));
  // One that has passed when silence has, or that never passes.
  sometimes("proxy-next-upstream-timeout", 5, () => {
    return isSilent && random.oneIn(2) ? "1" : random.pick(["0", ...LONG]);
  });
  const host = `h${index}.test`;
  const silent = isSilent ? [random.pick(SILENCE)] : [];
  const isUpgrade = silent[0] === "is silent in a tunnel";
  const method = isUpgrade ? "GET" : random.pick(["GET", "GET", "PUT", "POST", "DELETE"]);
  const plan = [...silent, ...Array.from({ length: 3 }, () => random.pick(STEPS))];
  return {
    ingress: { host, annotations, endpoints, paths: [["/", "Prefix"]] },
    request: {
      ...{ method, host, target: random.pick(TARGETS), plan, isUpgrade },
      body: /^P/.test(method) ? "x".repeat(random.between(1, 8_000)) : "",
    },
  };
}

Deno.test("requests time out and are retried as by ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  await using backends = new PlannedBackends(ENDPOINTS);
  const pairs = Array.from(
    { length: INGRESSES },
    (_, index) => randomPair(random.fork(), index, backends.ports),
  );
  const ingresses = pairs.map(({ ingress }) => ingress);
  const nginx = await Nginx.startWith(program, (port) => backendServers(ingresses, port));
  try {
    using proxy = new TestProxy([], LIMITS);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, backends.ports, "nginx"));
    const outcomes: Promise<readonly PlannedOutcome[]>[] = [];
    for (const [i, { request }] of pairs.entries()) {
      const both = [["nginx", nginx.port], ["pingress", proxy.port]] as const;
      outcomes.push(Promise.all(both.map(([name, port]) => {
        return backends.ask(port, `${name}-${i}`, request);
      })));
      // One after another: those that wait cost nothing meanwhile.
      await until(
        "it has reached an endpoint",
        () => both.every(([name]) => backends.attemptsOf(`${name}-${i}`).length > 0),
      );
    }
    const counts = new PairCounts();
    for (const [i, { ingress, request }] of pairs.entries()) {
      const [theirs, ours] = await outcomes[i];
      assert.deepEqual(
        ours,
        theirs,
        `${JSON.stringify(ingress.annotations)} ${JSON.stringify(request)}`,
      );
      const isSilent = request.plan[0] === "is silent";
      counts.add(Object.keys(ingress.annotations), [
        `status ${theirs.status}`,
        ...isSilent ? [`silent ${theirs.attempts.length > 1}`] : [],
      ]);
    }
    counts.assertEnough([
      ...["proxy-connect-timeout", "proxy-read-timeout", "proxy-send-timeout"],
      "proxy-next-upstream-timeout",
    ]);
    counts.assertOutcomes([
      ...[101, 200, 404, 502, 503, 504].map((status) => `status ${status}`),
      ...["silent true", "silent false"],
    ]);
  } finally {
    await nginx.stop();
  }
});
