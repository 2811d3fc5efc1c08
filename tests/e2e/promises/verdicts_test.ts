/** What breaks a promise, and what does not: the judgement, without a cluster. */
import assert from "node:assert/strict";
import type { CertificateSeen, Failure } from "../load/plan.ts";
import { isExcused } from "./application_crash.ts";
import { backwards } from "./certificate.ts";

const KILLS = [{ from: 10_000, to: 10_040 }];

const FAILURE: Failure = {
  kind: "failure",
  stream: "POST kept",
  how: "status",
  at: 9_950,
  after: 100,
  status: 502,
  detail: "",
  before: 0,
};

for (
  const [name, failure, excused] of [
    ["a POST under way at a kill", {}, true],
    ["a GET under way at a kill", { stream: "GET kept" }, false],
    ["a POST answered before a kill", { at: 9_000 }, false],
    ["a POST sent after a kill", { at: 10_200 }, false],
  ] as const
) {
  Deno.test(`${name} may ${excused ? "" : "not "}fail`, () => {
    assert.equal(isExcused({ ...FAILURE, ...failure }, KILLS), excused);
  });
}

function seen(began: number, at: number, fingerprint: string): CertificateSeen {
  return { kind: "certificate", stream: "handshakes", began, at, fingerprint };
}

Deno.test("an old certificate after a new one is found, unless the handshake had started before", () => {
  const order = ["a", "b"];
  assert.deepEqual(backwards([seen(0, 10, "a"), seen(20, 30, "b")], order), []);
  assert.deepEqual(backwards([seen(0, 10, "a"), seen(20, 30, "b"), seen(25, 35, "a")], order), []);
  const late = backwards([seen(0, 10, "a"), seen(20, 30, "b"), seen(40, 50, "a")], order);
  assert.deepEqual(late, ["10 ms after it, certificate 0"]);
});
