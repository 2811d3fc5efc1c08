/** A proxy to be measured. In: nothing. Out: the type, and all peers in order. */
import { type Address } from "../shared/address.ts";
import { type Child } from "./child.ts";
import { HAPROXY } from "./peers/haproxy.ts";
import { NGINX } from "./peers/nginx.ts";
import { PINGRESS } from "./peers/pingress.ts";
import { type TlsFiles } from "./tls.ts";

export interface Setup {
  /** Where the proxy must listen. */
  readonly listen: Address;
  /** Where all requests must go, over connections that are kept. */
  readonly backend: Address;
  /** An empty folder for its configuration. */
  readonly folder: string;
  /** Event loops, processes or threads. */
  readonly workers: number;
  /** With what to serve HTTPS on `listen`; null for plain HTTP. */
  readonly tls: TlsFiles | null;
}

/**
 * Every peer gets what it needs to be fast and nothing that we do not do: as many workers,
 * connections kept on both sides, the same forwarded fields, no access log, bodies streamed,
 * WebSockets let through, TLS by its own defaults but for what `tls.ts` sets for all.
 */
export interface Peer {
  readonly name: string;
  /** How it says its version, which also tells whether it is there. */
  readonly version: readonly string[];
  /** What to do where it is not. */
  readonly remedy: string;
  /** Starts it; the caller waits until it listens. */
  start(setup: Setup): Promise<Child>;
}

/** The one that all ratios refer to. */
export const REFERENCE = NGINX;

export const PEERS: readonly Peer[] = [PINGRESS, NGINX, HAPROXY];
