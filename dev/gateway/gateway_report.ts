/**
 * What `deno task dev` shows of Gateways. In: a plan, and the sockets that are open. Out: for each Gateway the
 * URLs of its listeners and its routes; commands to try; and a problem for each socket that cannot be
 * opened.
 */
import { explain } from "../../proxy/router/explain.ts";
import type { SocketStates } from "../../proxy/listen/socket_states.ts";
import { type Address, formatAddress } from "../../shared/net/address.ts";
import { upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import {
  gatewayOf,
  listenerNameOf,
  type SharedSocket,
  sharedSocketOf,
} from "../../shared/snapshot/listener_id.ts";
import type { Action, Listener, Route, RouteMatch, Snapshot } from "../../shared/snapshot/types.ts";
import type { GatewayTranslation } from "../../controller/translate/translator.ts";
import { certificateFor, isMadeHere } from "../made_certificates.ts";
import type { LocatedProblem } from "../manifests/file.ts";
import type { Plan } from "../plan.ts";
import { isProtected, replyText } from "../route_filters.ts";
import { alignColumns, count, quoteForShell, shortened } from "../terminal_text.ts";
import { describeUpstream } from "../upstream_text.ts";
import { shareTexts } from "./backend_shares.ts";
import { isOfRoute } from "./gateway_routes.ts";

type GatewayStatus = GatewayTranslation["gateways"][number];

/** Rows of a Gateway's table that are shown; the rest is counted. */
const MAX_SHOWN = 100;

/** Commands that are shown, and routes that are tried for each. */
const MAX_COMMANDS = 6;
const MAX_TRIED = 50;

/** Of a table's cell. */
const MAX_CELL = 60;

/** Where a Gateway's sockets are. */
export interface LocalSockets extends SocketStates {
  /** An address to connect to. */
  readonly hostname: string;
  /** Where Ingresses and Gateways with a shared address are; addresses to connect to. */
  readonly shared: Readonly<Record<SharedSocket, readonly Address[]>>;
  /** What the file of the authority is called in commands. */
  readonly authorityFile: string;
}

/** `http://127.0.0.1:10042`, of a listener with an address of its own. */
export function urlOf({ protocol, socket }: Listener, hostname: string): string {
  return urlAt({ protocol }, { hostname, port: Number(socket) });
}

/** One section for each Gateway that is served. */
export function formatGateways(plan: Plan, sockets: LocalSockets): string[] {
  return (plan.gateway?.gateways ?? []).map((gateway) =>
    [
      gateway.identity.label,
      ...alignColumns([
        ["  LISTENER", "PORT", "HOST", "HERE"],
        ...gateway.listeners.map((listener) => listenerCells(gateway, listener, plan, sockets)),
      ]),
      ...routeLines(gateway, plan),
    ].join("\n")
  );
}

function listenerCells(
  { identity: { key } }: GatewayStatus,
  { name, conditions }: GatewayStatus["listeners"][number],
  { snapshot }: Plan,
  sockets: LocalSockets,
): string[] {
  const listener = snapshot.listeners?.find(({ id }) =>
    gatewayOf(id) === key && listenerNameOf(id) === name
  );
  if (listener === undefined) {
    const refusal = conditions.find(({ status }) => status === "False");
    return [
      `  ${name}`,
      "-",
      "-",
      `not served: ${refusal?.reason ?? "the Gateway is not accepted"}`,
    ];
  }
  const obstacle = sockets.obstacles.find(({ socket }) => socket === listener.socket);
  return [
    `  ${name}`,
    String(listener.port),
    listener.hostname ?? "(any)",
    obstacle === undefined
      ? placesOf(listener, sockets).map((address) => urlAt(listener, address)).join(" and ")
      : `not open: ${obstacle.reason}`,
  ];
}

/** Addresses to connect to. */
function placesOf(
  { id, socket }: Listener,
  { hostname, shared }: LocalSockets,
): readonly Address[] {
  const kind = sharedSocketOf(id);
  return kind !== null ? shared[kind] : [{ hostname, port: Number(socket) }];
}

function urlAt({ protocol }: Pick<Listener, "protocol">, address: Address): string {
  return `${protocol === "HTTPS" ? "https" : "http"}://${formatAddress(address)}`;
}

function routeLines({ identity: { key } }: GatewayStatus, plan: Plan): string[] {
  const isOwn = (id: string) => gatewayOf(id) === key;
  const routes = plan.snapshot.routes.filter((route) =>
    isOfRoute(route) && route.listeners?.some(isOwn)
  );
  if (routes.length === 0) return ["  No route is attached"];
  const rows = [["  HOST", "MATCH", "LISTENERS", "BACKEND", "GOES TO"]];
  for (const { host, match, listeners, ...route } of routes.slice(0, MAX_SHOWN)) {
    const names = (listeners ?? []).filter(isOwn).map(listenerNameOf);
    rows.push([
      `  ${host === "*" ? "(any)" : host}`,
      shortened(matchText(match), MAX_CELL),
      names.join(", "),
      ...backendCells(plan, route),
    ]);
  }
  const more = routes.length - MAX_SHOWN;
  return [...alignColumns(rows), ...(more > 0 ? [`  … and ${count(more, "route")} more`] : [])];
}

/** `Prefix /api GET x-beta=yes ?tag=a`. */
export function matchText({ path, method, headers = [], query = [] }: RouteMatch): string {
  const sign = (type: string) => type === "Exact" ? "=" : "~";
  return [
    `${path.type} ${path.value}`,
    ...(method === undefined ? [] : [method]),
    ...headers.map(({ name, type, value }) => `${name}${sign(type)}${value}`),
    ...query.map(({ name, type, value }) => `?${name}${sign(type)}${value}`),
  ].join(" ");
}

function backendCells(plan: Plan, route: Pick<Route, "action" | "filterSet">): string[] {
  const { action } = route;
  const reply = replyText(plan.snapshot, route);
  if (reply !== null) return [shortened(reply, MAX_CELL), "-"];
  if (action.kind === "reply") {
    return [shortened(`${action.status}: ${action.reason}`, MAX_CELL), "-"];
  }
  const places = upstreamsOf(action).map((id) => describeUpstream(plan, id));
  return [shareTexts(action).join(", "), [...new Set(places)].join(", ") || "-"];
}

/** A command for each scheme of each Gateway that gets a response of a backend. */
export function gatewayCurlLines(plan: Plan, sockets: LocalSockets): string[] {
  const open = (plan.snapshot.listeners ?? []).filter(({ id, socket }) => {
    const kind = sharedSocketOf(id);
    return kind === null ? sockets.open.includes(socket) : sockets.shared[kind].length > 0;
  });
  const groups = Map.groupBy(
    open,
    ({ id, protocol }) => `${gatewayOf(id)} ${protocol}`,
  );
  return [...groups.values()].slice(0, MAX_COMMANDS).flatMap((listeners) => {
    for (const listener of listeners) {
      const found = findRequest(plan.snapshot, listener);
      if (found !== null) return [curlLine(found, listener, plan.snapshot, sockets)];
    }
    return [];
  });
}

interface FoundRequest {
  /** Null for any. */
  readonly host: string | null;
  readonly path: string;
}

/** One that the proxy sends to a backend, without a condition but host and path. */
function findRequest(snapshot: Snapshot, listener: Listener): FoundRequest | null {
  const candidates = snapshot.routes
    .filter(({ listeners }) => listeners?.includes(listener.id))
    .filter((route) => isReachable(snapshot, route.action))
    .filter((route) => replyText(snapshot, route) === null && !isProtected(snapshot, route))
    .filter(({ match: { path } }) => path.type !== "Regex")
    .sort((a, b) => a.match.path.value.length - b.match.path.value.length)
    .slice(0, MAX_TRIED);
  for (const { id, host, match: { path } } of candidates) {
    const name = host === "*" ? null : host.replace("*", "any");
    const { outcome } = explain(snapshot, name ?? "127.0.0.1", path.value, undefined, {
      ...{
        listener: sharedSocketOf(listener.id) ?? listener.id,
        method: "GET",
        query: "",
        headers: [],
      },
    });
    if (outcome.kind === "route" && outcome.route.id === id) {
      return { host: name, path: path.value };
    }
  }
  return null;
}

function isReachable({ upstreams }: Snapshot, action: Action): boolean {
  return upstreamsOf(action).some((id) => {
    const addresses = upstreams.find((upstream) => upstream.id === id)?.addresses;
    return addresses?.kind === "dns" || (addresses?.endpoints.length ?? 0) > 0;
  });
}

function curlLine(
  { host, path }: FoundRequest,
  listener: Listener,
  snapshot: Snapshot,
  sockets: LocalSockets,
): string {
  const [place] = placesOf(listener, sockets);
  const url = urlAt(listener, place);
  if (listener.protocol !== "HTTPS") {
    const field = host === null ? "" : `-H "Host: ${host}" `;
    return `curl ${field}${quoteForShell(`${url}${path}`)}`;
  }
  const isTrusted = isTrustedFor(host, listener, snapshot);
  const trust = isTrusted ? `--cacert ${sockets.authorityFile}` : "--insecure";
  if (host === null) return `curl ${trust} ${quoteForShell(`${url}${path}`)}`;
  const { hostname, port } = place;
  const address = hostname.includes(":") ? `[${hostname}]` : hostname;
  const resolve = quoteForShell(`${host}:${port}:${address}`);
  return `curl ${trust} --resolve ${resolve} ` +
    quoteForShell(`https://${host}:${port}${path}`);
}

/** Whether the certificate was made here. Where the address is shared, its name decides which one is shown. */
function isTrustedFor(host: string | null, listener: Listener, snapshot: Snapshot): boolean {
  const { certificates, defaultCertificate } = snapshot;
  if (sharedSocketOf(listener.id) !== null) {
    const shown = host === null
      ? certificates.find(({ id }) => id === defaultCertificate) ?? null
      : certificateFor(snapshot, host);
    return shown !== null && isMadeHere(shown);
  }
  return certificates.some((each) => isMadeHere(each) && listener.certificates?.includes(each.id));
}

/** Of listeners whose sockets cannot be opened. */
export function socketProblems(
  { snapshot }: Plan,
  { obstacles }: SocketStates,
): LocatedProblem[] {
  return (snapshot.listeners ?? []).flatMap((listener) => {
    const obstacle = obstacles.find(({ socket }) => socket === listener.socket);
    if (obstacle === undefined) return [];
    const { field, ...object } = listener.origin;
    return [{
      at: null,
      problem: {
        ...{ object, field },
        reason: "PortUnavailable",
        message: `not served here, as port ${listener.socket} cannot be opened: ${obstacle.reason}`,
        remedy: "Start with a --listen-range of free ports from 1024 on",
        severity: "error",
      },
    }];
  });
}
