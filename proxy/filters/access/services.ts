/**
 * What checks need of others. In: nothing. Out: the types of narrow functions, which those give who
 * join filters with the rest. A check that needs a function that is not there cannot be made.
 */
import type { Fields } from "../../http/fields.ts";
import type { Exchange } from "../../http/message.ts";
import type { Logins } from "../passwords/credential_store.ts";
import type { ResponseCache } from "./response_cache.ts";

/** A request without a body that is sent for another one. */
export interface Subrequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  /** Host, and port where it is not that of the scheme. */
  readonly authority: string;
  /** Canonical. */
  readonly path: string;
  /** With its `?`, or "". */
  readonly query: string;
  readonly fields: Fields;
  /** Id of the upstream that gets it; null: a host of routes, inside the process. */
  readonly upstream: string | null;
  /** Where routes name the host, it is theirs, and not the upstream's. */
  readonly ownHostsFirst: boolean;
  /** Whose routes may get it, beside those of the host of the request; null: of anybody. */
  readonly namespace: string | null;
}

export interface Subresponse {
  readonly status: number;
  /** They stay what they are. */
  readonly fields: Fields;
}

export interface AccessServices {
  /** Rejects with a ProxyError where there is no response. Its body is dropped. */
  readonly subrequest?: (x: Exchange, subrequest: Subrequest) => Promise<Subresponse>;
  /** Whether an exchange is itself a subrequest. */
  readonly isSubrequest?: (x: Exchange) => boolean;
  /** Id of the route of an exchange; null where it is not known, or has gone, and for the default action. */
  readonly routeOf?: (x: Exchange) => string | null;
  /** Of all routes of a worker. */
  readonly authCache?: ResponseCache;
  /** As `CredentialStore.loginsOf`. */
  readonly loginsOf?: (credentials: string) => Logins;
}
