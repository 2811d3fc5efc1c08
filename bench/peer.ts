/** A proxy to be measured. In: nothing. Out: the type, and all peers in order. */
import { type Address } from "../shared/address.ts";
import { type Running } from "./beside.ts";
import { type Case } from "./case.ts";
import { type Child } from "./child.ts";
import { type Found } from "./found.ts";
import { CADDY } from "./peers/caddy.ts";
import { DENO_SERVE } from "./peers/deno_serve.ts";
import { ENVOY } from "./peers/envoy.ts";
import { HAPROXY, HAPROXY_NEW } from "./peers/haproxy.ts";
import { NGINX, NGINX_NEW, NGINX_TUNED } from "./peers/nginx.ts";
import { NODE_HTTP } from "./peers/node_http.ts";
import { PINGORA } from "./peers/pingora.ts";
import { PINGRESS } from "./peers/pingress.ts";
import { TRAEFIK } from "./peers/traefik.ts";
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
  /** The version of HTTP that clients speak: by ALPN over TLS, by prior knowledge without. */
  readonly http: 1 | 2;
  /** What the backend speaks: HTTP/1.1, or gRPC by HTTP/2 without TLS. */
  readonly upstream: "http" | "grpc";
  /** Hosts and paths in its configuration; with 1, everything goes to the backend. */
  readonly routes: number;
  /** Addresses of 127.0.0.0/8, from 127.0.0.1 on, at the backend's port; requests go to all in turn. */
  readonly endpoints: number;
  /** Whether a line is written for each request, to standard output or a file in `folder`. */
  readonly accessLog: boolean;
  /** Whether `reload` will be called. */
  readonly reloads: boolean;
}

/**
 * Every peer gets what it needs to be fast and nothing that we do not do: as many workers,
 * connections kept on both sides, the same forwarded fields, an access log where the case has one and
 * else none, bodies streamed (by nginx buffered as it does by default), WebSockets let through, TLS by
 * its own defaults but for what `tls.ts` sets for all.
 */
export interface Peer {
  readonly name: string;
  /** @param build whether it may take minutes to build what is not there. */
  find(build: boolean): Promise<Found>;
  /** Starts it; the caller waits until it listens. */
  start(setup: Setup): Promise<Child>;
  /** Whether it can do what a case asks for; without this, it can do all. */
  can?(what: Case): boolean;
  /**
   * Puts a configuration in force that differs in one route, another one at each turn, while it
   * serves; absent where it cannot. Resolves when it has been told, in force or not.
   */
  reload?(running: Running, turn: number): Promise<void>;
}

export const PEERS: readonly Peer[] = [
  PINGRESS,
  NGINX,
  NGINX_TUNED,
  NGINX_NEW,
  HAPROXY,
  HAPROXY_NEW,
  PINGORA,
  ENVOY,
  TRAEFIK,
  CADDY,
  DENO_SERVE,
  NODE_HTTP,
];
