/** A proxy to be measured. In: nothing. Out: the type, and all peers in order. */
import { CADDY } from "./peers/caddy.ts";
import { DENO_SERVE } from "./peers/deno_serve.ts";
import { DENO_RELAY } from "./peers/deno_relay.ts";
import { DIRECT } from "./peers/direct.ts";
import { ENVOY } from "./peers/envoy.ts";
import { HAPROXY, HAPROXY_NEW } from "./peers/haproxy.ts";
import { NGINX, NGINX_NEW, NGINX_TUNED } from "./peers/nginx.ts";
import { NODE_HTTP } from "./peers/node_http.ts";
import { PINGORA } from "./peers/pingora.ts";
import { PINGRESS } from "./peers/pingress.ts";
import { TRAEFIK } from "./peers/traefik.ts";
import type { Peer } from "./model.ts";

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
  DENO_RELAY,
  DIRECT,
];
