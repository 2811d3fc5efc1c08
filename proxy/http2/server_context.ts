/**
 * What all connections of HTTP/2 from clients share. In: what those of any version share. Out: the
 * same, and who is told why a client was sent away.
 */
import type { ServerConnectionContext } from "../http/downstream.ts";
import type { EndReason } from "./abuse.ts";

export interface Http2ServerContext extends ServerConnectionContext {
  /** Told of each connection that ends for what its client did. Must not throw. */
  readonly onEnd: (reason: EndReason) => void;
}
