import assert from "node:assert/strict";
import type { ApiError, ApiResult } from "../../controller/kube/types.ts";
import { LastTrouble } from "./last_trouble.ts";
import type { ClusterCall } from "./messages.ts";

const failed = (code: number, reason: string, message: string): ApiResult<unknown> => ({
  ok: false,
  error: { code, reason, message, retryAfter: null },
});

const DEADLINE = failed(0, "Deadline", "the API server did not answer in time");
const BUSY = failed(429, "TooManyRequests", "too many requests");
const FINE: ApiResult<unknown> = { ok: true, value: {} };

/** The error of the last of these calls. */
function lastOf(...calls: readonly (readonly [ClusterCall["kind"], ApiResult<unknown>])[]) {
  const trouble = new LastTrouble();
  const results = calls.map(([kind, result]) => trouble.noted({ kind }, result));
  return (results.at(-1) as { readonly error: ApiError }).error;
}

Deno.test("a call without an answer fails with what the server said before", () => {
  const { code, reason, message } = lastOf(["list", FINE], ["list", BUSY], ["get", DEADLINE]);
  assert.deepEqual([code, reason, message], [
    429,
    "TooManyRequests",
    "too many requests, and no answer came since then",
  ]);
});

for (
  const [name, kind, before] of [
    ["nothing was wrong", "list", FINE],
    ["only an object was missing", "get", failed(404, "NotFound", "no such Lease")],
    ["only a pod did not answer", "pod", failed(0, "Unreachable", "port 9091: refused")],
  ] as const
) {
  Deno.test(`a call without an answer is one that ran out of time where ${name} before`, () => {
    assert.equal(lastOf([kind, before], ["list", DEADLINE]).reason, "Deadline");
  });
}

Deno.test("an error that is over is not named", () => {
  assert.equal(lastOf(["list", BUSY], ["list", FINE], ["list", DEADLINE]).reason, "Deadline");
});
