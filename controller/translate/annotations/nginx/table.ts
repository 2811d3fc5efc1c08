/**
 * The table of ingress-nginx's annotations. In: the groups of rows. Out: each row by its name, and by
 * its aliases, without the prefix.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations-risk/
 */
import { ACCESS } from "./rows/access.ts";
import {
  BASIC_AUTHENTICATION,
  CLIENT_CERTIFICATES,
  EXTERNAL_AUTHENTICATION,
} from "./rows/authentication.ts";
import { BACKEND_TLS, BACKENDS } from "./rows/backends.ts";
import { LOAD_BALANCING, SESSION_AFFINITY } from "./rows/balancing.ts";
import { BUFFERS, TIMEOUTS } from "./rows/buffers.ts";
import { CANARY } from "./rows/canary.ts";
import { CORS } from "./rows/cors.ts";
import { DROPPED } from "./rows/dropped.ts";
import { LIMITS } from "./rows/limits.ts";
import { PATHS } from "./rows/paths.ts";
import { REDIRECTS } from "./rows/redirects.ts";
import { RESPONSES } from "./rows/responses.ts";
import type { Group, Row } from "./rows/row.ts";
import { SERVER_TLS, TELEMETRY } from "./rows/server.ts";
import { MODSECURITY, SNIPPETS } from "./rows/snippets.ts";

export const NGINX_PREFIX = "nginx.ingress.kubernetes.io/";

/** In the order of the documentation. */
export const GROUPS: readonly (readonly [title: string, group: Group])[] = [
  ["Paths and requests", PATHS],
  ["Redirects", REDIRECTS],
  ["Access", ACCESS],
  ["Basic authentication", BASIC_AUTHENTICATION],
  ["External authentication", EXTERNAL_AUTHENTICATION],
  ["Client certificates", CLIENT_CERTIFICATES],
  ["Limits", LIMITS],
  ["Time-outs and retries", TIMEOUTS],
  ["Buffers", BUFFERS],
  ["Backends", BACKENDS],
  ["TLS to backends", BACKEND_TLS],
  ["Load balancing", LOAD_BALANCING],
  ["Session affinity", SESSION_AFFINITY],
  ["Canaries", CANARY],
  ["CORS", CORS],
  ["Responses", RESPONSES],
  ["TLS of the host", SERVER_TLS],
  ["Logs and traces", TELEMETRY],
  ["Snippets", SNIPPETS],
  ["Web application firewall", MODSECURITY],
  ["Dropped by ingress-nginx", DROPPED],
];

/** A row by one of its names. */
export interface NamedRow {
  /** Of the row. */
  readonly name: string;
  readonly row: Row;
}

/** Each row by its name, in the order of the documentation. */
export const ROWS: ReadonlyMap<string, Row> = new Map(
  GROUPS.flatMap(([, group]) => Object.entries(group)),
);

/** By names and aliases. */
export const BY_NAME: ReadonlyMap<string, NamedRow> = new Map(
  [...ROWS].flatMap(([name, row]) =>
    [name, ...row.aliases ?? []].map((known) => [known, { name, row }] as const)
  ),
);

/** Whether paths of an unsupported annotation are closed, unless its value is harmless. */
export function canClose({ protects, beside, protectsBeside, breaks }: Row): boolean {
  return (protects && (beside === undefined || protectsBeside !== undefined)) || breaks === true;
}

/** Whether it has an effect here. */
export function isHonoured({ verdict }: Row): boolean {
  return verdict.kind === "honoured" || verdict.kind === "differs";
}

/** Whether its paths are closed without the profile nginx, although it has an effect; unless its value is harmless. */
export function needsProfile(row: Row): boolean {
  return isHonoured(row) && row.protects && canClose(row);
}

/** Of these, whether it closes them by itself, and not only beside others. */
export function closesWithoutProfile(row: Row): boolean {
  return needsProfile(row) && row.protectsBeside === undefined;
}

/** What turns a feature off: Go's booleans, nginx's own word, and no limit. */
const OFF: ReadonlySet<string> = new Set(["false", "f", "off", "0"]);

/** Whether a value asks for nothing; it need not be valid. */
export function isOff({ value, invalid, protects, needsValue }: Row, text: string): boolean {
  return (text === "" && needsValue !== true) ||
    ((value.hasOff || (!protects && invalid === "default")) && OFF.has(text.toLowerCase()));
}
