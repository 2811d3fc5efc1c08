/**
 * What `deno task dev` shows. In: a plan. Out: text for a terminal: the table of what is served, a
 * command to try it with, and every problem with its place and remedy. Whatever the manifests hold,
 * none of it reaches the terminal as a control character.
 */
import { formatProblems, type ProblemTextOptions } from "../cli/terminal/problem_text.ts";
import { type Column, tableLines } from "../cli/terminal/table.ts";
import { wrapLine } from "../cli/terminal/wrapped_lines.ts";
import { defaultPlace, type Place, upstreamsOf } from "../shared/snapshot/forward_action.ts";
import { explain } from "../proxy/router/explain.ts";
import type { SocketStates } from "../proxy/listen/socket_states.ts";
import { type Address, formatAddress } from "../shared/net/address.ts";
import type { Action, Certificate, Route, Snapshot, Upstream } from "../shared/snapshot/types.ts";
import { isOfIngress } from "./gateway/gateway_routes.ts";
import {
  formatGateways,
  gatewayCurlLines,
  type LocalSockets,
  socketProblems,
} from "./gateway/gateway_report.ts";
import { browserHint } from "./listeners/browser_urls.ts";
import { certificateFor, isMadeHere } from "./made_certificates.ts";
import { isProtected, replyText } from "./route_filters.ts";
import type { Plan } from "./plan.ts";
import { printable, quoteForShell, shortened } from "./terminal_text.ts";
import { describeUpstream } from "./upstream_text.ts";

/** Rows of the table that are shown; the rest is counted. */
const MAX_SHOWN = 100;

/** What a client that was given an address sends as the host; no rule can name it. */
const ANY_HOST = "127.0.0.1";

/** Routes that are tried for the command, in case the first ones cannot be reached. */
const MAX_TRIED = 50;

/** Where the admin port has the certificate of the authority that made those of this run. */
export const AUTHORITY_PATH = "/ca.crt";

/** What its file is called in the commands that are shown. */
const AUTHORITY_FILE = "pingress-ca.crt";

/** Where the proxy listens. */
export interface Listeners {
  readonly http: Address[];
  readonly https: Address[];
  /** Whether plain HTTP to hosts with a certificate is sent to HTTPS. */
  readonly sslRedirect: boolean;
  admin: Address;
  /** Of Gateways, and the address that they listen on. */
  readonly sockets: SocketStates & { readonly hostname: string };
}

/** `http://127.0.0.1:8080 and https://127.0.0.1:8443`. */
export function formatListeners({ http, https }: Listeners): string {
  return [
    ...http.map((address) => `http://${formatAddress(address)}`),
    ...https.map((address) => `https://${formatAddress(address)}`),
  ].join(" and ");
}

/** Everything that is shown after each reading; the only control characters are those of colours. */
export function formatReport(
  plan: Plan,
  listeners: Listeners,
  options: ProblemTextOptions,
): string {
  const sockets = localSockets(listeners);
  const gateways = formatGateways(plan, sockets);
  const hasTable = gateways.length === 0 || hasIngressRoutes(plan.snapshot);
  const { columns } = options;
  const table = hasTable ? [formatTable(plan, columns)] : [];
  const sections = [...gateways];
  const commands = [...curlLines(plan.snapshot, listeners), ...gatewayCurlLines(plan, sockets)];
  if (commands.length > 0) {
    sections.push(`Try it:\n${commands.map((one) => `  ${one}`).join("\n")}`);
  }
  const [http] = listeners.http;
  const browser = http === undefined ? null : browserHint(plan.snapshot, connectable(http));
  if (browser !== null) sections.push(browser);
  const trust = trustHint(plan.snapshot, listeners);
  if (trust !== null) sections.push(trust);
  const hint = mapHint(plan);
  if (hint !== null) sections.push(hint);
  const unopened = socketProblems(plan, listeners.sockets);
  return [
    ...table,
    ...sections.map((section) => fittedText(section, columns)),
    formatProblems([...plan.problems, ...unopened], options),
  ].join("\n\n");
}

/** Sentences fit the width; indented lines, which are commands and rows, stay whole. */
export function fittedText(text: string, columns: number): string {
  return printableLines(text).split("\n")
    .flatMap((line) => line.startsWith("  ") ? [line] : wrapLine(line, columns))
    .join("\n");
}

/** Line breaks stay. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** A section for each Gateway, with the URLs of its listeners. */
export function gatewaySections(plan: Plan, listeners: Listeners): string[] {
  return formatGateways(plan, localSockets(listeners));
}

function localSockets({ sockets, http, https }: Listeners): LocalSockets {
  return {
    ...sockets,
    shared: { http: http.map(connectable), https: https.map(connectable) },
    hostname: connectable({ hostname: sockets.hostname, port: 0 }).hostname,
    authorityFile: AUTHORITY_FILE,
  };
}

/** How to trust the certificates that were made here, where a route's host has one. */
function trustHint(
  { certificates, listeners = [] }: Snapshot,
  { admin, https }: Listeners,
): string | null {
  const ofListeners = new Set(listeners.flatMap(({ certificates = [] }) => certificates));
  const isMade = certificates.some((one) =>
    isMadeHere(one) && (ofListeners.has(one.id) || (one.hosts.length > 0 && https.length > 0))
  );
  if (!isMade) return null;
  const url = `http://${formatAddress(connectable(admin))}${AUTHORITY_PATH}`;
  return "Hosts without a certificate got a generated one, signed by an authority that ends with " +
    `this run. To trust it:\n  curl -so ${AUTHORITY_FILE} ${url}`;
}

/** How to send a Service to a program of one's own, for the first one that a sample stands in for. */
function mapHint({ standIns }: Plan): string | null {
  for (const [id, { kind }] of standIns) {
    if (kind === "map" || kind === "annotation") continue;
    const service = id.slice(0, id.lastIndexOf(":"));
    return "A sample backend is a program on this machine in place of pods. To send a " +
      `Service to yours:\n  --map ${service}=127.0.0.1:3000`;
  }
  return null;
}

function hasIngressRoutes({ routes, defaultAction }: Snapshot): boolean {
  return defaultAction !== null || routes.some(isOfIngress);
}

/** What is cut, and left out, of a table that is wider than the terminal. */
const TABLE: readonly Column[] = [
  { title: "HOST", priority: 4, least: 8 },
  { title: "PATH", priority: 3, least: 10 },
  { title: "BACKEND", priority: 2, least: 12 },
  { title: "TLS", priority: 0, least: null },
  { title: "GOES TO", priority: 1, least: 12 },
];

/**
 * The table of what Ingresses say, with a header, one line for each route in the order of precedence.
 * @param columns Characters a line; Infinity where nothing is cut.
 */
export function formatTable(plan: Plan, columns = Infinity): string {
  const { defaultAction } = plan.snapshot;
  const routes = plan.snapshot.routes.filter(isOfIngress);
  if (routes.length === 0 && defaultAction === null) return "Nothing is served: no route was found";
  const rows: string[][] = [];
  for (const route of routes.slice(0, MAX_SHOWN)) {
    rows.push([
      route.host === "*" ? "(any other)" : route.host,
      `${route.match.path.type.padEnd("Prefix".length)} ${route.match.path.value}`,
      ...placeCells(plan, route, certificateFor(plan.snapshot, route.host)),
    ]);
  }
  if (defaultAction !== null) {
    rows.push(["(anything else)", "", ...placeCells(plan, defaultPlace(defaultAction), null)]);
  }
  const cells = rows.map((row) => row.map((cell) => ({ text: printable(cell) })));
  const lines = tableLines(TABLE, cells, columns, (title) => title);
  if (routes.length > MAX_SHOWN) lines.push(`… and ${routes.length - MAX_SHOWN} routes more`);
  return lines.join("\n");
}

function placeCells(plan: Plan, place: Place, certificate: Certificate | null): string[] {
  const cells = actionCells(plan, place.action, certificate);
  const reply = replyText(plan.snapshot, place);
  return reply === null ? cells : [shortened(reply, MAX_REASON), cells[1], "-"];
}

/** The whole of a reason stands among the problems. */
const MAX_REASON = 60;

/** Backend, TLS, and where it goes on this machine. */
function actionCells(plan: Plan, action: Action, certificate: Certificate | null): string[] {
  const tls = certificate?.origin.name ?? "-";
  if (action.kind === "reply") {
    return [shortened(`${action.status}: ${action.reason}`, MAX_REASON), tls, "-"];
  }
  const ids = upstreamsOf(action);
  return [ids.join(", "), tls, ids.map((id) => describeUpstream(plan, id)).join(", ")];
}

/**
 * Commands that get an answer from a backend, one for each scheme, where there is a route that leads
 * to one. It is looked up as the proxy will, so that the line works when it is pasted.
 */
export function curlLines(snapshot: Snapshot, listeners: Listeners): string[] {
  const [http] = listeners.http;
  const [https] = listeners.https;
  const lines: string[] = [];
  const hasCertificate = ({ host }: Route) =>
    host !== "*" && certificateFor(snapshot, host) !== null;
  const redirected = listeners.sslRedirect && https !== undefined;
  const plain = http === undefined
    ? null
    : findRequest(snapshot, (route) => !redirected || !hasCertificate(route));
  if (plain !== null) {
    lines.push(plainLine(plain, http));
  }
  const http2 = new Set(
    snapshot.upstreams.filter(({ protocol }) => isHttp2(protocol)).map(({ id }) => id),
  );
  const rpc = http === undefined || http2.size === 0
    ? null
    : findRequest(snapshot, (route) =>
      upstreamsOf(route.action).some((id) => http2.has(id)) &&
      (!redirected || !hasCertificate(route)));
  if (rpc !== null && rpc.host !== null) {
    lines.push(plainLine(rpc, http, "--http2-prior-knowledge "));
  }
  const secure = https === undefined ? null : findRequest(snapshot, hasCertificate);
  if (secure?.host) {
    const { hostname, port } = connectable(https);
    const address = hostname.includes(":") ? `[${hostname}]` : hostname;
    const resolve = quoteForShell(`${secure.host}:${port}:${address}`);
    const url = quoteForShell(`https://${secure.host}:${port}${secure.path}`);
    const certificate = certificateFor(snapshot, secure.host);
    const isTrusted = certificate !== null && isMadeHere(certificate);
    const trust = isTrusted ? `--cacert ${AUTHORITY_FILE}` : "--insecure";
    lines.push(`curl ${trust} --resolve ${resolve} ${url}`);
  }
  return lines;
}

/** A request that a backend gets. */
interface FoundRequest {
  /** Null for one that no rule names in particular. */
  readonly host: string | null;
  readonly path: string;
}

function plainLine({ host, path }: FoundRequest, listener: Address, flags = ""): string {
  const url = `http://${formatAddress(connectable(listener))}${path}`;
  const field = host === null ? "" : `-H "Host: ${host}" `;
  return `curl ${flags}${field}${quoteForShell(url)}`;
}

/** Gets gRPC as a rule, whose clients speak HTTP/2 from the start. */
function isHttp2(protocol: Upstream["protocol"]): boolean {
  return protocol === "h2c" || protocol === "h2";
}

function findRequest(
  snapshot: Snapshot,
  wanted: (route: Route) => boolean,
): FoundRequest | null {
  const upstreams = new Map(snapshot.upstreams.map(({ id, addresses }) => [id, addresses]));
  const reachable = (action: Action) =>
    upstreamsOf(action).some((id) => {
      const addresses = upstreams.get(id);
      return addresses?.kind === "dns" || (addresses?.endpoints.length ?? 0) > 0;
    });
  const isOpen = (place: Place) =>
    replyText(snapshot, place) === null && !isProtected(snapshot, place);
  const candidates = snapshot.routes
    .filter((route) => isOfIngress(route) && reachable(route.action) && wanted(route))
    .filter(isOpen)
    .sort((a, b) =>
      easiness(a) - easiness(b) || a.match.path.value.length - b.match.path.value.length
    )
    .slice(0, MAX_TRIED);
  for (const { id, host, match: { path } } of candidates) {
    const name = host === "*" ? null : host.replace("*", "any");
    const { outcome } = explain(snapshot, name ?? ANY_HOST, path.value);
    if (outcome.kind === "route" && outcome.route.id === id) {
      return { host: name, path: path.value };
    }
  }
  const { outcome } = explain(snapshot, ANY_HOST, "/");
  return outcome.kind === "default" && reachable(outcome.action) &&
      isOpen(defaultPlace(outcome.action))
    ? { host: null, path: "/" }
    : null;
}

/** Exact hosts before wildcards before none, whole hosts before single paths. */
function easiness({ host, match: { path } }: Route): number {
  const hostRank = host === "*" ? 4 : host.startsWith("*.") ? 2 : 0;
  return hostRank + (path.type === "Exact" ? 1 : 0);
}

/** An address to connect to where the program listens on all of them. */
export function connectable({ hostname, port }: Address): Address {
  const reached = hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
  return { hostname: reached, port };
}
