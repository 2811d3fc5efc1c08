/**
 * Access to a route. In: its checks, in nginx's order: networks, basic and external authentication.
 * Out: requests that are admitted; others end with what a check says. As in nginx's access phase:
 *
 * - all: the first rejection ends the request.
 * - any: the first admission admits. If there is none, the client is asked for credentials if any check
 *   does so, with the challenges of all that do; else it gets the last 403. Another rejection, such as a
 *   503, and an error end the request at once, with the challenges of the checks before.
 *
 * Where one check has a page for signing in, the client gets it in place of any 401.
 *
 * A check that throws ends the request with an error; one that cannot be made does so also where
 * another one would admit the request.
 */
import type { FilterSpec } from "../../../shared/snapshot/types.ts";
import { ProxyError } from "../../errors.ts";
import type { Body } from "../../http/body.ts";
import type { Exchange, Reply, ResponseHead } from "../../http/message.ts";
import { basicCheck, requiredUsersCheck } from "./basic.ts";
import { ABSTAINED, type AccessCheck, type Verdict } from "./check.ts";
import { externalCheck } from "./external.ts";
import { networksCheck } from "./networks.ts";
import type { AccessServices } from "./services.ts";

export type AccessSpec = Extract<FilterSpec, { readonly kind: "access" }>;

interface AccessFilter {
  request(x: Exchange): Reply | null | Promise<Reply | null>;
  readonly requestBody?: (x: Exchange, body: Body) => Body;
  readonly response?: (x: Exchange, head: ResponseHead) => void;
}

export function access(spec: AccessSpec, services: AccessServices): AccessFilter {
  return accessOf(checksOf(spec, services), spec.satisfy === "any");
}

/** In nginx's order. */
function checksOf(
  { deny, allow, basic, requiredUsers, external }: AccessSpec,
  services: AccessServices,
): readonly AccessCheck[] {
  const checks: AccessCheck[] = [];
  if (deny !== undefined || allow !== undefined) checks.push(networksCheck(deny ?? [], allow));
  if (basic !== undefined) checks.push(basicCheck(basic, services));
  if (requiredUsers !== undefined) checks.push(requiredUsersCheck(requiredUsers, services));
  if (external !== undefined) checks.push(externalCheck(external, services));
  return checks;
}

/** @param isAny one admission is enough. */
export function accessOf(checks: readonly AccessCheck[], isAny: boolean): AccessFilter {
  const required = checks.flatMap((check) => check.require ?? []);
  const decide = isAny
    ? (x: Exchange) => {
      for (const require of required) require();
      return admitAny(checks, x, 0, null);
    }
    : (x: Exchange) => admitAll(checks, x, 0);
  const admitted = checks.flatMap((check) => check.admitted ?? []);
  const admit = (x: Exchange, reply: Reply | null) => {
    if (reply === null) { for (const each of admitted) each(x); }
    return reply;
  };
  const bodies = checks.flatMap((check) => check.requestBody ?? []);
  const responses = checks.flatMap((check) => check.response ?? []);
  return {
    request: admitted.length === 0 ? decide : (x) => {
      const reply = decide(x);
      return reply instanceof Promise ? reply.then((late) => admit(x, late)) : admit(x, reply);
    },
    ...(bodies.length === 0 ? {} : {
      requestBody: (x: Exchange, body: Body) =>
        bodies.reduce((before, change) => change(x, before), body),
    }),
    ...(responses.length === 0 ? {} : {
      response: (x: Exchange, head: ResponseHead) => {
        for (const change of responses) change(x, head);
      },
    }),
  };
}

function admitAll(
  checks: readonly AccessCheck[],
  x: Exchange,
  from: number,
): Reply | null | Promise<Reply | null> {
  for (let i = from; i < checks.length; i++) {
    const verdict = checks[i].check(x);
    // The closure is made elsewhere: here, it would cost each turn of the loop a context.
    if (verdict instanceof Promise) return admitLate(verdict, checks, x, i + 1);
    if (isRejection(verdict)) return rejectWith(verdict, checks, x);
  }
  return null;
}

async function admitLate(
  verdict: Promise<Verdict>,
  checks: readonly AccessCheck[],
  x: Exchange,
  next: number,
): Promise<Reply | null> {
  const late = await verdict;
  return isRejection(late) ? rejectWith(late, checks, x) : await admitAll(checks, x, next);
}

/** Whether it ends the request, if every check must admit it. */
function isRejection(verdict: Verdict): verdict is ProxyError {
  return verdict !== null && verdict !== ABSTAINED;
}

/** @param rejected by an earlier check. */
function admitAny(
  checks: readonly AccessCheck[],
  x: Exchange,
  from: number,
  rejected: ProxyError | null,
): Reply | null | Promise<Reply | null> {
  for (let i = from; i < checks.length; i++) {
    const verdict = verdictOf(checks[i], x, rejected);
    if (verdict instanceof Promise) {
      const before = rejected;
      return verdict.then((late) => {
        if (late === null) return null;
        if (isFinal(late)) throw challenging(late, before);
        return admitAny(checks, x, i + 1, stronger(before, late));
      }, (thrown) => {
        throw challenging(thrown, before);
      });
    }
    if (verdict === null) return null;
    if (isFinal(verdict)) throw challenging(verdict, rejected);
    rejected = stronger(rejected, verdict);
  }
  return rejected === null ? null : rejectWith(rejected, checks, x);
}

function verdictOf(
  check: AccessCheck,
  x: Exchange,
  rejected: ProxyError | null,
): Verdict | Promise<Verdict> {
  try {
    return check.check(x);
  } catch (thrown) {
    throw challenging(thrown, rejected);
  }
}

/**
 * What ends a request, with the challenge of an earlier check: with its credentials the request would be admitted
 * (RFC 9110 §11.6.1).
 */
function challenging(thrown: unknown, rejected: ProxyError | null): unknown {
  const challenge = rejected?.challenge ?? null;
  return challenge === null || !(thrown instanceof ProxyError)
    ? thrown
    : new ProxyError(thrown.code, thrown.message, { challenge, cause: thrown });
}

function rejectWith(rejection: ProxyError, checks: readonly AccessCheck[], x: Exchange): Reply {
  const signin = asksForCredentials(rejection)
    ? checks.find((check) => check.signin !== undefined)?.signin
    : undefined;
  if (signin === undefined) throw rejection;
  return signin(x, rejection.challenge);
}

/** Whether it says more than that this check does not admit the request. */
function isFinal(verdict: ProxyError | typeof ABSTAINED): verdict is ProxyError {
  return verdict !== ABSTAINED && verdict.status !== 403 && !asksForCredentials(verdict);
}

function asksForCredentials({ status }: ProxyError): boolean {
  return status === 401;
}

function stronger(
  before: ProxyError | null,
  verdict: ProxyError | typeof ABSTAINED,
): ProxyError | null {
  if (verdict === ABSTAINED) return before;
  if (before === null || !asksForCredentials(before)) return verdict;
  return asksForCredentials(verdict) ? both(before, verdict) : before;
}

/** The client may choose how it answers. */
function both(before: ProxyError, verdict: ProxyError): ProxyError {
  if (before.challenge === null) return verdict;
  if (verdict.challenge === null) return before;
  const challenge = `${before.challenge}, ${verdict.challenge}`;
  return new ProxyError(verdict.code, verdict.message, { challenge });
}
