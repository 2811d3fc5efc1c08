import assert from "node:assert/strict";
import { ProxyError } from "../../errors.ts";
import { type Exchange, NO_BODY, type Reply, ResponseHead } from "../../http/message.ts";
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
  "302": replyOf(302),
  "reply 403": replyOf(403),
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
  [["403", "302"], "403", "302"],
  [["302", "403"], "302", "302"],
  [["401", "302"], "401", "302"],
  [["403", "reply 403"], "403", "403"],
  [["403", "503", "ok"], "403", "503"],
  [["503", "ok"], "503", "503"],
  [["401", "throws", "ok"], "401", "broken"],
  [["throws", "ok"], "broken", "broken"],
  [["ok", "throws"], "broken", "admitted"],
];

function checkOf(verdict: Verdict | Error, waits: boolean): AccessCheck {
  return {
    check: () => {
      const isBroken = verdict instanceof Error && !(verdict instanceof ProxyError);
      if (isBroken && !waits) throw verdict;
      if (!waits) return verdict as Verdict;
      return isBroken ? Promise.reject(verdict) : Promise.resolve(verdict as Verdict);
    },
  };
}

async function outcome(begin: () => Reply | null | Promise<Reply | null>): Promise<string> {
  try {
    const reply = await begin();
    return reply === null ? "admitted" : String(reply.head.status);
  } catch (error) {
    return error instanceof ProxyError ? String(error.status) : (error as Error).message;
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

Deno.test("checks that know at once create no promise", () => {
  const x = {} as Exchange;
  const checks = [checkOf(ABSTAINED, false), checkOf(null, false)];
  for (const isAny of [false, true]) assert.equal(accessOf(checks, isAny).request(x), null);
});
