import assert from "node:assert/strict";
import { OutlierDetection } from "./outlier_detection.ts";

const LIMITS = { ejectionFailures: 3, ejectionAnswers: 5, ejectionTime: 5_000 };

/** Endpoints by letters, and a clock in seconds that steps tell. */
class Scene {
  readonly ejection: OutlierDetection<string>;

  constructor(letters: string, limits = LIMITS) {
    this.ejection = new OutlierDetection<string>(limits);
    this.ejection.list([...letters]);
  }

  /** For how many seconds each failure in `letters` left its endpoint out. */
  fail(letters: string, at: number): number[] {
    return [...letters].map((letter) => this.ejection.failed(letter, at * 1000) / 1000);
  }

  /** Likewise, of endpoints that answered that they cannot serve. */
  decline(letters: string, at: number): number[] {
    return [...letters].map((letter) =>
      this.ejection.failed(letter, at * 1000, "gateway_error") / 1000
    );
  }

  eligible(at: number): string {
    return this.ejection.eligible(at * 1000).join("");
  }
}

Deno.test("an endpoint that fails three times in a row is ejected for a while", () => {
  const scene = new Scene("abc");
  assert.deepEqual(scene.fail("aa", 0), [0, 0]);
  assert.equal(scene.eligible(0), "abc");
  assert.deepEqual(scene.fail("a", 1), [5]);
  assert.equal(scene.eligible(1), "bc");
  assert.equal(scene.eligible(5.9), "bc");
  assert.equal(scene.eligible(6), "abc");
});

Deno.test("one success resets the count of failures", () => {
  const scene = new Scene("abc");
  for (let i = 0; i < 10; i++) {
    assert.deepEqual(scene.fail("aa", 0), [0, 0]);
    scene.ejection.succeeded("a");
  }
  assert.equal(scene.eligible(0), "abc");
});

Deno.test("a failure right after the ejection doubles its time, up to a minute", () => {
  const scene = new Scene("ab");
  const times = scene.fail("aaa", 0).slice(2);
  let now = 0;
  for (let i = 0; i < 6; i++) {
    now += times[i];
    assert.equal(scene.eligible(now), "ab");
    times.push(...scene.fail("a", now));
  }
  assert.deepEqual(times, [5, 10, 20, 40, 60, 60, 60]);
  scene.ejection.succeeded("a");
  assert.equal(scene.eligible(now), "ab");
  assert.deepEqual(scene.fail("aaa", now), [0, 0, 5]);
});

Deno.test("a configured time above a minute is used unchanged", () => {
  const scene = new Scene("ab", { ...LIMITS, ejectionTime: 90_000 });
  assert.deepEqual(scene.fail("aaa", 0), [0, 0, 90]);
  assert.deepEqual(scene.fail("a", 90), [90]);
});

Deno.test("failures of requests in progress do not prolong an ejection", () => {
  const scene = new Scene("ab");
  assert.deepEqual(scene.fail("aaaaaa", 0), [0, 0, 5, 0, 0, 0]);
  assert.deepEqual(scene.fail("a", 4), [0]);
  assert.equal(scene.eligible(5), "ab");
  assert.deepEqual(scene.fail("a", 5), [10]);
});

Deno.test("a response to a request in progress ends an ejection", () => {
  const scene = new Scene("ab");
  scene.fail("aaa", 0);
  scene.ejection.succeeded("a");
  assert.equal(scene.eligible(0), "ab");
});

const MOST: readonly [all: string, stay: string][] = [
  ["a", "a"],
  ["ab", "b"],
  ["abc", "bc"],
  ["abcd", "cd"],
  ["abcdefg", "defg"],
];
for (const [all, stay] of MOST) {
  Deno.test(`of ${all.length} failing endpoints ${stay.length} stay in load balancing`, () => {
    const scene = new Scene(all);
    for (let i = 0; i < 5; i++) scene.fail(all, 0);
    assert.equal(scene.eligible(0), stay);
  });
}

Deno.test("an endpoint that could not be ejected for lack of others is ejected at its next failure", () => {
  const scene = new Scene("ab");
  scene.fail("aaa", 0);
  assert.deepEqual(scene.fail("bbbb", 1), [0, 0, 0, 0]);
  assert.equal(scene.eligible(5), "ab");
  assert.deepEqual(scene.fail("b", 6), [5]);
  assert.equal(scene.eligible(6), "a");
});

Deno.test("a changed list keeps the state of endpoints that stay", () => {
  const scene = new Scene("abc");
  scene.fail("aaabb", 0);
  scene.ejection.list([..."xabyc"]);
  assert.equal(scene.eligible(1), "xbyc");
  assert.deepEqual(scene.fail("b", 1), [5]);
  assert.equal(scene.eligible(1), "xyc");
  assert.equal(scene.eligible(5), "xayc");
  assert.equal(scene.eligible(6), "xabyc");
});

Deno.test("an endpoint that is removed and added again starts over", () => {
  const scene = new Scene("ab");
  scene.fail("aaa", 0);
  scene.ejection.list(["b"]);
  assert.deepEqual(scene.fail("aaaa", 1), [0, 0, 0, 0]);
  scene.ejection.list(["a", "b"]);
  assert.equal(scene.eligible(1), "ab");
  assert.deepEqual(scene.fail("aaa", 1), [0, 0, 5]);
});

Deno.test("when healthy endpoints are removed, those closest to the end of their ejection return", () => {
  const scene = new Scene("abcdef");
  scene.fail("aaa", 0);
  scene.fail("ccc", 1);
  scene.fail("bbb", 2);
  assert.equal(scene.eligible(2), "def");
  scene.ejection.list([..."abcd"]);
  assert.equal(scene.eligible(2), "ad");
  scene.ejection.list([..."abc"]);
  assert.equal(scene.eligible(2), "ac");
  scene.ejection.list(["b"]);
  assert.equal(scene.eligible(2), "b");
  scene.ejection.list([]);
  assert.equal(scene.eligible(2), "");
});

Deno.test("a threshold of 0 ejects no endpoint", () => {
  const scene = new Scene("ab", { ...LIMITS, ejectionFailures: 0 });
  assert.deepEqual(scene.fail("aaaaaaaa", 0), new Array(8).fill(0));
  assert.equal(scene.eligible(0), "ab");
});

Deno.test("while no endpoint is ejected, the list itself is used", () => {
  const all = ["a", "b", "c"];
  const ejection = new OutlierDetection<string>(LIMITS);
  ejection.list(all);
  assert.equal(ejection.eligible(0), all);
  for (let i = 0; i < 3; i++) ejection.failed("a", 0);
  assert.notEqual(ejection.eligible(0), all);
  assert.equal(ejection.eligible(5_000), all);
});

Deno.test("five gateway errors in a row eject an endpoint, for longer the next time", () => {
  const scene = new Scene("abc");
  assert.deepEqual(scene.decline("aaaaa", 0), [0, 0, 0, 0, 5]);
  assert.equal(scene.eligible(1), "bc");
  assert.equal(scene.eligible(5), "abc");
  assert.deepEqual(scene.decline("a", 5), [10]);
});

Deno.test("a success resets both counts, and a failure does not count as a gateway error", () => {
  const scene = new Scene("abc");
  assert.deepEqual(scene.fail("aa", 0), [0, 0]);
  assert.deepEqual(scene.decline("aaaa", 0), [0, 0, 0, 0]);
  assert.deepEqual(scene.fail("aa", 0), [0, 0]);
  assert.deepEqual(scene.decline("a", 0), [5]);
});

Deno.test("a threshold of 0 disables ejection for that reason only", () => {
  const none = { ...LIMITS, ejectionFailures: 0 };
  assert.deepEqual(new Scene("ab", none).fail("aaaaaa", 0), new Array(6).fill(0));
  assert.equal(new Scene("ab", none).decline("aaaaa", 0)[4], 5);
  const silent = { ...LIMITS, ejectionAnswers: 0 };
  assert.deepEqual(new Scene("ab", silent).decline("aaaaaa", 0), new Array(6).fill(0));
  assert.equal(new Scene("ab", silent).fail("aaa", 0)[2], 5);
});
