import assert from "node:assert/strict";
import { ProxyError } from "../../errors.ts";
import { NO_BODY } from "../../http/body.ts";
import { type Exchange, type Reply, ResponseHead } from "../../http/message.ts";
import { accessOf } from "./access.ts";
import { ABSTAINED, type AccessCheck, type Verdict } from "./check.ts";

function replyOf(status: number): Reply {
  const head = new ResponseHead();
  head.status = status;
  return { head, body: NO_BODY };
}

const VERDICTS = {
  ok: null,
  abstains: ABSTAINED,
  "401": new ProxyError("unauthorized"),
  "403": new ProxyError("forbidden"),
  "503": new ProxyError("logins_busy"),
  "401 a": new ProxyError("unauthorized", undefined, { challenge: "a" }),
  "401 b": new ProxyError("unauthorized", undefined, { challenge: "b" }),
  failed: new ProxyError("auth_failed"),
  throws: new Error("broken"),
} as const;

type Name = keyof typeof VERDICTS;

/** Checks in order; what the client gets with `all`, and with `any`. */
const CASES: readonly [checks: readonly Name[], all: string, any: string][] = [
  [[], "admitted", "admitted"],
  [["ok"], "admitted", "admitted"],
  [["abstains"], "admitted", "admitted"],
  [["401"], "401", "401"],
  [["403"], "403", "403"],
  [["ok", "401"], "401", "admitted"],
  [["401", "ok"], "401", "admitted"],
  [["403", "ok"], "403", "admitted"],
  [["ok", "403"], "403", "admitted"],
  [["abstains", "401"], "401", "401"],
  [["401", "abstains"], "401", "401"],
  [["abstains", "ok"], "admitted", "admitted"],
  [["403", "401"], "403", "401"],
  [["401", "403"], "401", "401"],
  [["403", "401", "403"], "403", "401"],
  [["401 a", "403"], "401 a", "401 a"],
  [["403", "401 a"], "403", "401 a"],
  [["401 a", "401"], "401 a", "401 a"],
  [["401", "401 a"], "401", "401 a"],
  [["401 a", "401 b"], "401 a", "401 a, b"],
  [["401 a", "403", "401 b"], "401 a", "401 a, b"],
  [["403", "503", "ok"], "403", "503"],
  [["503", "ok"], "503", "503"],
  // With the credentials that an earlier check has asked for, there would be no error.
  [["401 a", "503", "ok"], "401 a", "503 a"],
  [["403", "401 a", "403", "503"], "403", "503 a"],
  [["401 a", "401 b", "failed"], "401 a", "500 a, b"],
  [["401 a", "throws", "ok"], "401 a", "broken"],
  [["401 a", "ok", "failed"], "401 a", "admitted"],
  [["ok", "401 a", "failed"], "401 a", "admitted"],
  [["ok", "failed"], "500", "admitted"],
  [["401", "failed"], "401", "500"],
  [["401", "throws", "ok"], "401", "broken"],
  [["throws", "ok"], "broken", "broken"],
  [["ok", "throws"], "broken", "admitted"],
];

function checkOf(verdict: Verdict | Error, waits: boolean): AccessCheck {
  return {
    check: () => {
      const isThrown = verdict === VERDICTS.failed || verdict === VERDICTS.throws;
      if (isThrown && !waits) throw verdict;
      if (!waits) return verdict as Verdict;
      return isThrown ? Promise.reject(verdict) : Promise.resolve(verdict as Verdict);
    },
  };
}

async function outcome(begin: () => Reply | null | Promise<Reply | null>): Promise<string> {
  try {
    const reply = await begin();
    return reply === null ? "admitted" : String(reply.head.status);
  } catch (error) {
    if (!(error instanceof ProxyError)) return (error as Error).message;
    return error.challenge === null ? String(error.status) : `${error.status} ${error.challenge}`;
  }
}

Deno.test("satisfy combines checks as in nginx's access phase, whichever of them have to wait", async () => {
  const x = {} as Exchange;
  for (const [names, all, any] of CASES) {
    for (let waiting = 0; waiting < 1 << names.length; waiting++) {
      const checks = names.map((name, i) => checkOf(VERDICTS[name], (waiting & (1 << i)) !== 0));
      const words = `${names.join(", ")}; waiting ${waiting.toString(2)}`;
      assert.equal(await outcome(() => accessOf(checks, false).request(x)), all, `all: ${words}`);
      assert.equal(await outcome(() => accessOf(checks, true).request(x)), any, `any: ${words}`);
    }
  }
});

Deno.test("where there is a page for signing in, it takes the place of each 401, whichever check it is of", async () => {
  const x = {} as Exchange;
  const challenges: (string | null)[] = [];
  const page: AccessCheck = {
    check: () => VERDICTS["401 b"],
    signin: (_, challenge) => {
      challenges.push(challenge);
      return replyOf(302);
    },
  };
  const cases: readonly [before: Name, all: string, any: string, challenges: string[]][] = [
    ["401 a", "302", "302", ["a", "a, b"]],
    ["ok", "302", "admitted", ["b"]],
    ["403", "403", "302", ["b"]],
    ["503", "503", "503", []],
  ];
  for (const [before, all, any, expected] of cases) {
    challenges.length = 0;
    for (const waits of [false, true]) {
      const checks = [checkOf(VERDICTS[before], waits), page];
      assert.equal(await outcome(() => accessOf(checks, false).request(x)), all, before);
      assert.equal(await outcome(() => accessOf(checks, true).request(x)), any, before);
    }
    assert.deepEqual(challenges, [...expected, ...expected], before);
  }
});

Deno.test("checks that know at once create no promise", () => {
  const x = {} as Exchange;
  const checks = [checkOf(ABSTAINED, false), checkOf(null, false)];
  for (const isAny of [false, true]) assert.equal(accessOf(checks, isAny).request(x), null);
});
