/**
 * Access to a route. In: its checks, in nginx's order: networks, basic and external authentication.
 * Out: requests that are admitted; others end with what a check says. As in nginx's access phase:
 *
 * - all: the first rejection ends the request.
 * - any: the first admission admits. If there is none, the client is asked for credentials if any check
 *   does so; else it gets the last 403. Another rejection, such as a 503, ends the request at once.
 *
 * A check that throws ends the request with an error, also where another one would admit it.
 */
import type { FilterSpec } from "../../../shared/snapshot/types.ts";
import { ProxyError } from "../../errors.ts";
import type { Exchange, Reply } from "../../http/message.ts";
import { ABSTAINED, type AccessCheck, type Rejection, type Verdict } from "./check.ts";
import { networksCheck } from "./networks.ts";

export type AccessSpec = Extract<FilterSpec, { readonly kind: "access" }>;

interface AccessFilter {
  request(x: Exchange): Reply | null | Promise<Reply | null>;
}

export function access(spec: AccessSpec): AccessFilter {
  return accessOf(checksOf(spec), spec.satisfy === "any");
}

/** In nginx's order. */
function checksOf({ deny, allow }: AccessSpec): readonly AccessCheck[] {
  const checks: AccessCheck[] = [];
  if (deny !== undefined || allow !== undefined) checks.push(networksCheck(deny ?? [], allow));
  return checks;
}

/** @param isAny one admission is enough. */
export function accessOf(checks: readonly AccessCheck[], isAny: boolean): AccessFilter {
  return {
    request: isAny ? (x) => admitAny(checks, x, 0, null) : (x) => admitAll(checks, x, 0),
  };
}

function admitAll(
  checks: readonly AccessCheck[],
  x: Exchange,
  from: number,
): Reply | null | Promise<Reply | null> {
  const next = (verdict: Verdict, index: number) =>
    verdict === null || verdict === ABSTAINED
      ? admitAll(checks, x, index + 1)
      : rejectWith(verdict);
  for (let i = from; i < checks.length; i++) {
    const verdict = checks[i].check(x);
    if (verdict instanceof Promise) return verdict.then((late) => next(late, i));
    if (verdict !== null && verdict !== ABSTAINED) return rejectWith(verdict);
  }
  return null;
}

/** @param rejected by an earlier check. */
function admitAny(
  checks: readonly AccessCheck[],
  x: Exchange,
  from: number,
  rejected: Rejection | null,
): Reply | null | Promise<Reply | null> {
  for (let i = from; i < checks.length; i++) {
    const verdict = checks[i].check(x);
    if (verdict instanceof Promise) {
      const before = rejected;
      return verdict.then((late) => {
        if (late === null) return null;
        if (isFinal(late)) return rejectWith(late);
        return admitAny(checks, x, i + 1, stronger(before, late));
      });
    }
    if (verdict === null) return null;
    if (isFinal(verdict)) return rejectWith(verdict);
    rejected = stronger(rejected, verdict);
  }
  return rejected === null ? null : rejectWith(rejected);
}

function rejectWith(rejection: Rejection): Reply {
  if (rejection instanceof ProxyError) throw rejection;
  return rejection;
}

function statusOf(rejection: Rejection): number {
  return rejection instanceof ProxyError ? rejection.status : rejection.head.status;
}

/** Whether it says no more than that this check does not admit the request. */
function isFinal(verdict: Rejection | typeof ABSTAINED): verdict is Rejection {
  return verdict !== ABSTAINED && statusOf(verdict) !== 403 && !asksForCredentials(verdict);
}

function asksForCredentials(rejection: Rejection): boolean {
  const status = statusOf(rejection);
  return status === 401 || (status >= 300 && status < 400);
}

function stronger(
  before: Rejection | null,
  verdict: Rejection | typeof ABSTAINED,
): Rejection | null {
  if (verdict === ABSTAINED) return before;
  return before !== null && asksForCredentials(before) && !asksForCredentials(verdict)
    ? before
    : verdict;
}
