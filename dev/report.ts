/**
 * What `deno task dev` shows. In: a plan. Out: text for a terminal: the table of what is served, a
 * command to try it with, and every problem with its place and remedy. Whatever the manifests hold,
 * none of it reaches the terminal as a control character.
 */
import { explain } from "../proxy/router/explain.ts";
import { type Address, formatAddress } from "../shared/address.ts";
import { formatObject } from "../shared/problem.ts";
import type { Action, Certificate, Route, Snapshot } from "../shared/snapshot.ts";
import type { LocatedProblem } from "./manifest_file.ts";
import { formatPosition } from "./manifest_position.ts";
import type { Plan } from "./plan.ts";

/** Rows of the table and problems that are shown; the rest is counted. */
const MAX_SHOWN = 100;

/** Routes that are tried for the command, in case the first ones cannot be reached. */
const MAX_TRIED = 50;

/** Everything that is shown after each reading. `listeners` is where the proxy listens. */
export function formatReport(plan: Plan, listeners: readonly Address[]): string {
  const sections = [formatTable(plan)];
  if (plan.snapshot.certificates.length > 0) {
    sections.push(
      "TLS names the Secret with the host's certificate; HTTPS is not served here yet.",
    );
  }
  const curl = listeners.length === 0 ? null : curlLine(plan.snapshot, listeners[0]);
  if (curl !== null) sections.push(`Try it:\n  ${curl}`);
  const hint = mapHint(plan);
  if (hint !== null) sections.push(hint);
  sections.push(formatProblems(plan.problems));
  return sections.join("\n\n");
}

/** How to send a Service to a program of one's own, for the first one that a sample stands in for. */
function mapHint({ standIns }: Plan): string | null {
  for (const [id, { kind }] of standIns) {
    if (kind === "map" || kind === "annotation") continue;
    const service = id.slice(0, id.lastIndexOf(":"));
    return "A sample backend is a program on this machine that stands in for pods. To send a " +
      `Service to yours:\n  --map ${service}=127.0.0.1:3000`;
  }
  return null;
}

/** The table, with a header, one line for each route in the order of precedence. */
export function formatTable(plan: Plan): string {
  const { routes, defaultAction } = plan.snapshot;
  if (routes.length === 0 && defaultAction === null) return "Nothing is served: no route was found";
  const rows = [["HOST", "PATH", "BACKEND", "TLS", "GOES TO"]];
  for (const route of routes.slice(0, MAX_SHOWN)) {
    rows.push([
      route.host === "*" ? "(any other)" : route.host,
      `${route.path.type.padEnd("Prefix".length)} ${route.path.value}`,
      ...actionCells(plan, route.action, certificateFor(plan.snapshot, route.host)),
    ]);
  }
  if (defaultAction !== null) {
    rows.push(["(anything else)", "", ...actionCells(plan, defaultAction, null)]);
  }
  const lines = alignColumns(rows);
  if (routes.length > MAX_SHOWN) lines.push(`… and ${routes.length - MAX_SHOWN} routes more`);
  return lines.join("\n");
}

/** Cells in columns of equal width, without spaces at the ends of lines. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const shown = rows.map((row) => row.map(printable));
  const widths = shown[0].map((_, column) => Math.max(...shown.map((row) => row[column].length)));
  return shown.map((row) => row.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd());
}

/** Backend, TLS, and where it goes on this machine. */
function actionCells(plan: Plan, action: Action, certificate: Certificate | null): string[] {
  const tls = certificate?.origin.name ?? "-";
  if (action.kind === "answer") return [`${action.status}: ${action.reason}`, tls, "-"];
  return [action.upstream, tls, describeUpstream(plan, action.upstream)];
}

/** `sample backend`, `127.0.0.1:3000 (--map)`, or addresses from the manifests. */
export function describeUpstream(plan: Plan, id: string): string {
  const addresses = plan.snapshot.upstreams.find((upstream) => upstream.id === id)?.addresses;
  if (addresses === undefined) return "nothing";
  if (addresses.kind === "dns") return `${addresses.name}:${addresses.port}`;
  if (addresses.endpoints.length === 0) return "nothing ready (503)";
  const standIn = plan.standIns.get(id);
  if (standIn !== undefined) return standIn.text;
  const [first, ...more] = addresses.endpoints;
  const text = formatAddress({ hostname: first.address, port: first.port });
  return more.length === 0 ? text : `${text} and ${more.length} more`;
}

/** The certificate whose names cover all that the route's host stands for. */
function certificateFor(snapshot: Snapshot, host: string): Certificate | null {
  const dot = host.indexOf(".");
  const wildcard = host.startsWith("*.") || dot === -1 ? host : `*${host.slice(dot)}`;
  const find = (name: string) => snapshot.certificates.find(({ hosts }) => hosts.includes(name));
  return find(host) ?? find(wildcard) ?? null;
}

/**
 * A command that gets an answer from a backend, or null where no route leads to one. Its route is
 * looked up as the proxy will, so that the line works when it is pasted.
 */
export function curlLine(snapshot: Snapshot, listener: Address): string | null {
  const reachable = (action: Action) => {
    if (action.kind !== "forward") return false;
    const upstream = snapshot.upstreams.find(({ id }) => id === action.upstream);
    return upstream?.addresses.kind === "dns" || (upstream?.addresses.endpoints.length ?? 0) > 0;
  };
  const hostname = connectable(listener.hostname);
  const base = `http://${formatAddress({ ...listener, hostname })}`;
  const candidates = snapshot.routes
    .filter(({ action }) => reachable(action))
    .sort((a, b) => easiness(a) - easiness(b) || a.path.value.length - b.path.value.length)
    .slice(0, MAX_TRIED);
  for (const route of candidates) {
    const host = route.host === "*" ? hostname : route.host.replace("*", "any");
    const { outcome } = explain(snapshot, host, route.path.value);
    if (outcome.kind !== "route" || outcome.route.id !== route.id) continue;
    const field = route.host === "*" ? "" : `-H "Host: ${host}" `;
    return `curl ${field}${quoteForShell(base + route.path.value)}`;
  }
  const { defaultAction } = snapshot;
  const noHostTakesIt = !snapshot.routes.some(({ host }) => host === "*" || host === hostname);
  return defaultAction !== null && reachable(defaultAction) && noHostTakesIt
    ? `curl ${base}/`
    : null;
}

/** Exact hosts before wildcards before none, whole hosts before single paths. */
function easiness({ host, path }: Route): number {
  const hostRank = host === "*" ? 4 : host.startsWith("*.") ? 2 : 0;
  return hostRank + (path.type === "Prefix" ? 0 : 1);
}

/** An address to connect to where the program listens on all of them. */
export function connectable(hostname: string): string {
  return hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
}

function quoteForShell(text: string): string {
  return /^[\w./:[\]-]+$/.test(text) && !/[[\]]/.test(text)
    ? text
    : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Place, object, field, what is wrong and what to do, for each problem. `about` follows the counts
 * in the heading.
 */
export function formatProblems(problems: readonly LocatedProblem[], about = ""): string {
  const heading = about === "" ? "" : ` ${about}`;
  if (problems.length === 0) return `No problems${heading}`;
  const errors = problems.filter(({ problem }) => problem.severity === "error").length;
  const warnings = problems.length - errors;
  const lines = [`${count(errors, "error")}, ${count(warnings, "warning")}${heading}:`];
  for (const { problem, at } of problems.slice(0, MAX_SHOWN)) {
    const where = [
      at === null ? "(command line)" : formatPosition(at),
      problem.severity,
      ...(problem.object === null ? [] : [formatObject(problem.object)]),
      ...(problem.field === "" ? [] : [problem.field]),
    ];
    lines.push(
      `  ${printable(where.join("  "))}`,
      `    ${printable(problem.message)}`,
      `    → ${printable(problem.remedy)}`,
    );
  }
  if (problems.length > MAX_SHOWN) lines.push(`  … and ${problems.length - MAX_SHOWN} more`);
  return lines.join("\n");
}

/** `1 error`, `2 errors`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** The text with characters that a terminal acts on written as escapes. */
export function printable(text: string): string {
  return text.replace(
    // deno-lint-ignore no-control-regex
    /[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
