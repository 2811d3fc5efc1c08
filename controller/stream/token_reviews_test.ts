import assert from "node:assert/strict";
import { ManualClock } from "../../shared/clock.ts";
import { eventually } from "../../tests/cluster/support/condition.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { KubeClient } from "../kube/client.ts";
import type { KubeObject, Resource } from "../kube/types.ts";
import { proxyAccount, type ReviewLimits, TokenReviews, type Verdict } from "./token_reviews.ts";

const NAMESPACE = "pingress-system";
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:pingress-proxy-server`;
const NOW = Date.parse("2026-01-01T00:00:00Z");

function token(claims: Record<string, unknown> = {}, signature = "c2ln"): string {
  const text = (value: unknown) =>
    btoa(JSON.stringify(value)).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");
  const payload = { aud: ["pingress-stream"], sub: ACCOUNT, exp: NOW / 1000 + 3600, ...claims };
  return `${text({ alg: "RS256" })}.${text(payload)}.${signature}`;
}

type Answer = "good" | "unbound" | "bad" | "foreign" | "audience" | "outage" | "forbidden";

function scene(limits: Partial<ReviewLimits> = {}, allowUnbound = false) {
  const clock = new ManualClock(NOW);
  const calls: string[] = [];
  const results: string[] = [];
  let answer: Answer = "good";
  let gate: Promise<void> | null = null;
  let inFlight = 0;
  let most = 0;
  const create = async (_resource: Resource, object: KubeObject) => {
    const { spec } = object as KubeObject & { spec: { token: string; audiences: string[] } };
    assert.deepEqual(spec.audiences, ["pingress-stream"]);
    calls.push(spec.token);
    most = Math.max(most, ++inFlight);
    if (gate !== null) await gate;
    inFlight--;
    if (answer === "outage" || answer === "forbidden") {
      const code = answer === "outage" ? 0 : 403;
      return { ok: false, error: { code, reason: "", message: "", retryAfter: null } };
    }
    const status = answer === "bad" ? { authenticated: false } : {
      authenticated: true,
      audiences: answer === "audience" ? ["other"] : ["pingress-stream"],
      user: {
        username: answer === "foreign" ? "system:serviceaccount:other:web" : ACCOUNT,
        extra: answer === "unbound" ? {} : {
          "authentication.kubernetes.io/pod-name": ["proxy-1"],
          "authentication.kubernetes.io/pod-uid": ["uid-1"],
          "authentication.kubernetes.io/node-name": ["node-1"],
        },
      },
    };
    return { ok: true, value: { metadata: { name: "" }, status } };
  };
  const reviews = new TokenReviews({
    client: { create: create as unknown as KubeClient["create"] },
    account: proxyAccount(NAMESPACE),
    allowUnbound,
    clock,
    limits,
    onReview: (result) => results.push(result),
  });
  return {
    reviews,
    clock,
    calls,
    results,
    get most() {
      return most;
    },
    answer(next: Answer) {
      answer = next;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = null;
        resolve();
      };
    },
    ask: (text: string, peer = "10.0.0.1"): Promise<Verdict> =>
      reviews.review(new Redacted(text), peer),
  };
}

function statusOf(verdict: Verdict): unknown {
  return verdict.kind === "bad" ? verdict.status : verdict.kind;
}

Deno.test("a proxy's token identifies its pod and node, and is valid until it expires", async () => {
  const { ask, clock } = scene();
  const verdict = await ask(token());
  assert.deepEqual(verdict, {
    kind: "good",
    identity: { pod: "proxy-1", podUid: "uid-1", node: "node-1" },
    expiresAt: clock.monotonic() + 3_600_000,
  });
});

const REFUSED: readonly [string, string, Answer, unknown, number][] = [
  ["an invalid token", "abc", "good", 401, 0],
  ["what looks like one", "a.b.c", "good", 401, 0],
  ["a token that is too long", token({ x: "y".repeat(20_000) }), "good", 401, 0],
  ["another audience in its claims", token({ aud: ["kubernetes"] }), "good", 401, 0],
  ["another account in its claims", token({ sub: "system:node:a" }), "good", 403, 0],
  ["a wrong signature", token(), "bad", 401, 1],
  ["another account", token(), "foreign", 403, 1],
  ["another audience", token(), "audience", 401, 1],
  ["an API server that is away", token(), "outage", "unknown", 1],
  ["no right to ask", token(), "forbidden", "unknown", 1],
];

for (const [name, text, answer, status, asked] of REFUSED) {
  Deno.test(`${name}: ${status}`, async () => {
    const { ask, calls, answer: set } = scene();
    set(answer);
    const verdict = await ask(text);
    assert.equal(statusOf(verdict), status);
    assert.equal(calls.length, asked);
    assert.equal(JSON.stringify(verdict).includes(text.slice(0, 20)), false, "no token is told");
  });
}

Deno.test("a valid token is reviewed once in five minutes, an invalid one once in ten seconds", async () => {
  const { ask, calls, clock, answer } = scene();
  await Promise.all([ask(token()), ask(token()), ask(token())]);
  clock.advance(299_000);
  await ask(token());
  assert.equal(calls.length, 1);
  clock.advance(2_000);
  await ask(token());
  assert.equal(calls.length, 2);
  answer("bad");
  const other = token({ jti: "x" });
  await ask(other);
  clock.advance(9_000);
  await ask(other);
  assert.equal(calls.length, 3);
  clock.advance(2_000);
  await ask(other);
  assert.equal(calls.length, 4);
});

Deno.test("a revoked token is invalid from its next review on", async () => {
  const { ask, clock, answer } = scene();
  await ask(token());
  answer("bad");
  assert.equal(statusOf(await ask(token())), "good");
  clock.advance(301_000);
  assert.equal(statusOf(await ask(token())), 401);
  answer("outage");
  assert.equal(statusOf(await ask(token())), 401);
});

Deno.test("without an API server a reviewed token stays valid until it expires", async () => {
  const { ask, clock, answer } = scene();
  await ask(token());
  answer("outage");
  clock.advance(3_599_000);
  assert.equal(statusOf(await ask(token())), "good");
  clock.advance(2_000);
  assert.equal(statusOf(await ask(token())), "unknown");
});

Deno.test("with a wrong local clock, a token that the API server just accepted is valid for a minute", async () => {
  const { ask, clock } = scene();
  const verdict = await ask(token({ exp: NOW / 1000 - 3600 }));
  assert.equal(verdict.kind === "good" && verdict.expiresAt - clock.monotonic(), 60_000);
});

Deno.test("thousands of forged tokens neither grow memory nor flood the API server", async () => {
  const test = scene({ rate: 20, burst: 40, patience: 200, badTokens: 16 });
  test.answer("bad");
  for (let round = 0; round < 20; round++) {
    const asked = Array.from(
      { length: 500 },
      (_, i) => test.ask(token({ jti: `${round} ${i}` }), `10.0.${i % 250}.1`),
    );
    // Time stands still but for this, so those who wait would wait for good.
    test.clock.advance(1000);
    await Promise.all(asked);
  }
  const { good, bad, pending } = test.reviews.size;
  assert.deepEqual([good, bad <= 16, pending], [0, true, 0]);
  assert.ok(test.most <= 8, `${test.most} at once`);
  assert.ok(test.calls.length <= 40 + 20 * 20 + 20, `${test.calls.length} calls`);
  assert.ok(test.results.includes("limited"));
});

Deno.test("a thousand proxies that connect at once are reviewed without waiting, forged tokens only after them", async () => {
  const test = scene();
  const ask = (i: number) => test.ask(token({ jti: String(i) }), `10.0.${i >> 8}.${i & 255}`);
  const proxies = await Promise.all(Array.from({ length: 1000 }, (_, i) => ask(i)));
  assert.ok(proxies.every((verdict) => verdict.kind === "good"));
  test.answer("bad");
  const forged = Array.from({ length: 2000 }, (_, i) => ask(1000 + i));
  // Time stands still, so nobody has a turn before it goes on.
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(test.calls.length, 1000);
  test.clock.advance(1_000);
  await eventually("a second's", () => Promise.resolve(test.calls.length === 1100));
  test.clock.advance(60_000);
  await Promise.all(forged);
  assert.ok(test.most <= 8, `${test.most} at once`);
  // Whoever has waited too long is told so: what is left of the pause's burst is nobody's.
  assert.ok(test.calls.length <= 1100 + 8, `${test.calls.length} calls`);
});

Deno.test("a flood from one address locks out neither others nor known proxies", async () => {
  const test = scene({ patience: 60_000, waitingOfPeer: 16 });
  await test.ask(token());
  const release = test.hold();
  test.answer("bad");
  const flood = Array.from(
    { length: 100 },
    (_, i) => test.ask(token({ jti: String(i) }), "10.9.9.9"),
  );
  await Promise.all(flood.slice(16));
  assert.equal(test.results.filter((result) => result === "limited").length, 84);
  assert.equal(statusOf(await test.ask(token())), "good");
  const other = test.ask(token({ jti: "other" }), "10.0.0.2");
  release();
  assert.equal(statusOf(await other), 401);
  await Promise.all(flood);
  assert.equal(test.calls.length, 1 + 16 + 1);
});

Deno.test("pending reviews are released when the controller shuts down", async () => {
  const test = scene({ inFlight: 1, patience: 60_000 });
  const release = test.hold();
  const asked = [test.ask(token({ jti: "1" })), test.ask(token({ jti: "2" }))];
  test.reviews.stop();
  release();
  await Promise.all(asked);
  assert.equal(test.calls.length, 1);
});

Deno.test("a token without a bound pod is valid only if the operator allows it", async () => {
  for (const isAllowed of [false, true]) {
    const { reviews, answer } = scene({}, isAllowed);
    answer("unbound");
    const verdict = await reviews.review(new Redacted(token()), "10.0.0.1");
    if (isAllowed) {
      assert.equal(verdict.kind, "good");
      continue;
    }
    assert.deepEqual([verdict.kind, verdict.kind === "bad" && verdict.status], ["bad", 403]);
    assert.match(verdict.kind === "bad" ? verdict.reason : "", /--allow-unbound-tokens/);
  }
});

Deno.test("the token of a deleted pod is reviewed again", async () => {
  const { reviews, calls, answer } = scene();
  assert.equal((await reviews.review(new Redacted(token()), "10.0.0.1")).kind, "good");
  reviews.forget("uid-2");
  assert.equal((await reviews.review(new Redacted(token()), "10.0.0.1")).kind, "good");
  assert.equal(calls.length, 1);
  reviews.forget("uid-1");
  answer("bad");
  assert.equal((await reviews.review(new Redacted(token()), "10.0.0.1")).kind, "bad");
  assert.equal(calls.length, 2);
});

Deno.test("a token that is reviewed again is good without an answer, and bad if the API server says so", async () => {
  const { reviews, calls, answer } = scene();
  const ask = async (isAnew: boolean) =>
    (await reviews.review(new Redacted(token()), "10.0.0.1", isAnew)).kind;
  assert.deepEqual([await ask(false), await ask(false), await ask(true)], ["good", "good", "good"]);
  assert.equal(calls.length, 2);
  answer("outage");
  assert.equal(await ask(true), "good");
  answer("bad");
  assert.deepEqual([await ask(false), await ask(true), await ask(false)], ["good", "bad", "bad"]);
  assert.equal(calls.length, 4);
});
