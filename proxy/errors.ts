/**
 * What can go wrong with an exchange, as values. In: a code. Out: an error with whose side it was and
 * the status that a client gets. `local_reply.ts` answers them, in that one place.
 */
import { ERROR_KINDS, type ErrorCode, type Side } from "../shared/error_kinds.ts";

export type { ErrorCode, Side } from "../shared/error_kinds.ts";

/**
 * Why an exchange failed. Thrown only across awaits (a read that fails), caught in `forwarder.ts` and
 * the connections; never shown to a client as it is.
 */
export class ProxyError extends Error {
  readonly code: ErrorCode;
  /** The WWW-Authenticate of its local reply, mostly of a 401; null for none. */
  readonly challenge: string | null;

  /** `detail` is for the log alone: what the peer did, with no bytes of its message. */
  constructor(code: ErrorCode, detail?: string, options?: ErrorOptions & { challenge?: string }) {
    super(detail ?? ERROR_KINDS[code].text, options);
    this.name = "ProxyError";
    this.code = code;
    this.challenge = options?.challenge ?? null;
  }

  get side(): Side {
    return ERROR_KINDS[this.code].side;
  }

  get status(): number {
    return ERROR_KINDS[this.code].status;
  }
}

/** Any thrown value as a ProxyError; what is not one already gets `fallback` as its code. */
export function asProxyError(thrown: unknown, fallback: ErrorCode): ProxyError {
  if (thrown instanceof ProxyError) return thrown;
  const detail = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return new ProxyError(fallback, detail, { cause: thrown });
}
