/**
 * The proxy's own responses as a browser gets them from `deno task dev`. In: an error's code, the exchange,
 * and what is served. Out: a page with the code, the route with its file and line, what is wrong with it and
 * the remedy, and a link to the explanation of that URL. No proxy in a cluster has such pages.
 */
import { STATUS_CODES } from "node:http";
import { ERROR_KINDS } from "../../shared/error_kinds.ts";
import type { ErrorPage } from "../../proxy/forward/local_reply.ts";
import type { Exchange } from "../../proxy/http/message.ts";
import { BUILT_IN_LISTENERS } from "../../shared/snapshot/listener_id.ts";
import type { Route } from "../../shared/snapshot/types.ts";
import type { LocatedProblem } from "../manifests/file.ts";
import { formatPosition } from "../manifests/position.ts";
import { replyText } from "../route_filters.ts";
import type { Served } from "../serving.ts";
import { describeUpstream } from "../upstream_text.ts";
import { escapeHtml, htmlPage, wantsHtml } from "./html.ts";

/** Problems and hosts that are shown. */
const MAX_SHOWN = 10;

export interface ErrorPageSources {
  /** Null before the first reading. */
  readonly served: () => Served | null;
  /** `http://127.0.0.1:9090`, where `/explain` is; null before it listens. */
  readonly adminUrl: () => string | null;
}

export function errorPages({ served, adminUrl }: ErrorPageSources): ErrorPage {
  return (code, exchange) => {
    if (!wantsHtml(exchange.request.header("accept"))) return null;
    const { status, text } = ERROR_KINDS[code];
    const now = served();
    const admin = adminUrl();
    const url = urlOf(exchange);
    const link = admin === null
      ? ""
      : `<p><a href="${escapeHtml(explainUrl(admin, exchange.request.method, url))}">` +
        "Explain this URL</a></p>";
    return htmlPage(
      `${status} ${STATUS_CODES[status] ?? ""}`,
      [
        `<p>${escapeHtml(text)}</p>`,
        table([["Code", code], ["URL", url], ...now === null ? [] : routeRows(now, exchange)]),
        ...(now === null ? [] : problemParts(now, exchange)),
        link,
        "<p>deno task dev shows this page in place of the plain text that a cluster's proxies send.</p>",
      ].join("\n"),
    );
  };
}

/** As the client has sent it; of a Gateway with its local port, by which `/explain` knows it. */
function urlOf({ request, client, record }: Exchange): string {
  const scheme = client.secure ? "https" : "http";
  const port = BUILT_IN_LISTENERS.has(client.listener) ? "" : `:${client.listener}`;
  const isRewritten = record.requestedPath !== null;
  const path = record.requestedPath ?? request.path;
  const query = isRewritten ? record.requestedQuery : request.query;
  return `${scheme}://${request.host}${port}${path}${query}`;
}

function explainUrl(admin: string, method: string, url: string): string {
  const more = method === "GET" ? "" : `&method=${encodeURIComponent(method)}`;
  return `${admin}/explain?url=${encodeURIComponent(url)}${more}`;
}

function routeOf({ plan }: Served, { record }: Exchange): Route | null {
  return plan.snapshot.routes.find(({ id }) => id === record.route) ?? null;
}

function routeRows(served: Served, exchange: Exchange): [string, string][] {
  const { plan, manifests } = served;
  const route = routeOf(served, exchange);
  const { upstream } = exchange.record;
  if (route === null) return unroutedRows(served, exchange);
  const at = manifests.locate(route.origin, route.origin.field);
  const reason = route.action.kind === "reply"
    ? route.action.reason
    : replyText(plan.snapshot, route);
  return [
    ["Route", route.id],
    ...(at === null ? [] : [["Written at", formatPosition(at)] as [string, string]]),
    ...(reason === null ? [] : [["Reason", reason] as [string, string]]),
    ...(upstream === "" ? [] : [
      ["Backend", `${upstream}, ${describeUpstream(plan, upstream)}`] as [string, string],
    ]),
  ];
}

/** Which hosts there are, since a request for another one is most often a slip. */
function unroutedRows({ plan }: Served, { request, record }: Exchange): [string, string][] {
  if (record.error !== "no_route") return [];
  const hosts = [...new Set(plan.snapshot.routes.map(({ host }) => host))];
  if (hosts.includes(request.host)) {
    return [["Reason", "The host has routes, and none of them matches this path"]];
  }
  const shown = hosts.filter((host) => host !== "*").slice(0, MAX_SHOWN);
  const more = hosts.length - shown.length;
  return [[
    "Hosts that are served",
    `${shown.join(", ") || "none"}${more > 0 ? ` and ${more} more` : ""}`,
  ]];
}

/** Problems of the object that the route is of. */
function problemParts(served: Served, exchange: Exchange): string[] {
  const route = routeOf(served, exchange);
  if (route === null) return [];
  const { kind, namespace, name } = route.origin;
  const own = served.plan.problems.filter(({ problem: { object } }) =>
    object?.kind === kind && object.namespace === namespace && object.name === name
  );
  return own.slice(0, MAX_SHOWN).map(problemPart);
}

function problemPart({ problem, at }: LocatedProblem): string {
  const place = at === null ? "" : `<br><code>${escapeHtml(formatPosition(at))}</code>`;
  return `<p><b>${escapeHtml(problem.reason)}</b>: ${escapeHtml(problem.message)}<br>
→ ${escapeHtml(problem.remedy)}${place}</p>`;
}

function table(rows: readonly (readonly [string, string])[]): string {
  const lines = rows.map(([name, value]) =>
    `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`
  );
  return `<table>\n${lines.join("\n")}\n</table>`;
}
