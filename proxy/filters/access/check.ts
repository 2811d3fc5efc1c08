/**
 * One check of who may send a request. In: an exchange. Out: a verdict. `access.ts` combines verdicts.
 */
import type { ProxyError } from "../../errors.ts";
import type { Body } from "../../http/body.ts";
import type { Exchange, Reply, ResponseHead } from "../../http/message.ts";

/** The check has nothing to say about this request, as a denylist about clients that it does not name. */
export const ABSTAINED = Symbol("abstained");

/** Null: admitted. A 401 asks for credentials. */
export type Verdict = null | typeof ABSTAINED | ProxyError;

export interface AccessCheck {
  /** Throws where it cannot be made: then the route is closed, whichever check would admit a request. */
  readonly require?: () => void;
  /** Without a promise where nothing has to be waited for. One that throws or rejects ends the request. */
  check(x: Exchange): Verdict | Promise<Verdict>;
  /** What clients get in place of a 401, whichever check it is of. @param challenge of the 401. */
  readonly signin?: (x: Exchange, challenge: string | null) => Reply;
  /** The request goes on, whichever check has admitted it. It may change the request. */
  readonly admitted?: (x: Exchange) => void;
  /** As the hook of filters of that name, for all requests of the route. */
  readonly requestBody?: (x: Exchange, body: Body) => Body;
  readonly response?: (x: Exchange, head: ResponseHead) => void;
}
