/**
 * The table of keys of ingress-nginx's ConfigMap. In: the groups of rows. Out: each row by its name.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/configmap/
 */
import {
  ACCESS_KEYS,
  ADDRESS_KEYS,
  AUTHENTICATION_KEYS,
  LIMIT_KEYS,
  TENANT_KEYS,
} from "./access_keys.ts";
import { type ConfigKey, keyCloses, type KeyGroup } from "./key.ts";
import { DROPPED_KEYS, LOG_KEYS, PROCESS_KEYS, TRACE_KEYS } from "./process_keys.ts";
import {
  BACKEND_KEYS,
  CLIENT_KEYS,
  COMPRESSION_KEYS,
  HEADER_KEYS,
  REDIRECT_KEYS,
} from "./request_keys.ts";
import { FIREWALL_KEYS, SNIPPET_KEYS } from "./snippet_keys.ts";
import { TLS_KEYS } from "./tls_keys.ts";

/** In the order of the documentation. */
export const KEY_GROUPS: readonly (readonly [title: string, group: KeyGroup])[] = [
  ["Access", ACCESS_KEYS],
  ["Authentication", AUTHENTICATION_KEYS],
  ["Addresses of clients", ADDRESS_KEYS],
  ["What Ingresses may say", TENANT_KEYS],
  ["Limits", LIMIT_KEYS],
  ["Redirects", REDIRECT_KEYS],
  ["Headers and errors", HEADER_KEYS],
  ["Connections of clients", CLIENT_KEYS],
  ["Backends", BACKEND_KEYS],
  ["Compression", COMPRESSION_KEYS],
  ["TLS", TLS_KEYS],
  ["Snippets and plugins", SNIPPET_KEYS],
  ["Web application firewall", FIREWALL_KEYS],
  ["Processes", PROCESS_KEYS],
  ["Logs", LOG_KEYS],
  ["Traces", TRACE_KEYS],
  ["Dropped by ingress-nginx", DROPPED_KEYS],
];

/** Each row by its name, in the order of the documentation. */
export const KEYS: ReadonlyMap<string, ConfigKey> = new Map(
  KEY_GROUPS.flatMap(([, group]) => Object.entries(group)),
);

/** Names of the keys that close paths, sorted. */
export const REFUSABLE_KEYS: readonly string[] = [...KEYS]
  .filter(([, row]) => keyCloses(row))
  .map(([name]) => name)
  .sort();
