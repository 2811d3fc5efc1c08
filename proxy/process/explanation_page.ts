/**
 * Why a URL takes its route, for the admin port. In: a request with `?url=`, and the snapshot in force. Out:
 * text, or JSON by Accept.
 */
import { jsonResponse, textResponse } from "../../shared/admin/response.ts";
import type { PathOptions } from "../../shared/path/canonical_path.ts";
import { parseExplainQuery, type RequestedUrl } from "../../shared/path/requested_url.ts";
import { upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import { gatewayOf, sharedSocketOf } from "../../shared/snapshot/listener_id.ts";
import type { Action, Listener, Snapshot } from "../../shared/snapshot/types.ts";
import { prefersJson } from "../http/accept.ts";
import {
  explain,
  type Explanation,
  matchedPath,
  placeOf,
  redirectUrl,
  turnedOffBy,
} from "../router/explain.ts";
import type { TelemetryHub } from "../telemetry/hub.ts";
import { explainedListener } from "./explained_listener.ts";
import { explainedSettings } from "./explained_settings.ts";

/**
 * The port to which plain HTTP is redirected; null where it is not, or not yet.
 *
 * @param isForced Whether a route is redirected whatever `--ssl-redirect` says.
 */
export type RedirectPort = (isForced: boolean) => number | null;

/** Why `?url=` takes its route: text, or JSON by Accept. Without a time limit; see `time_limit.ts`. */
export function explanationPage(
  hub: TelemetryHub,
  redirectPort: RedirectPort,
  paths: PathOptions,
  request: Request,
): Response {
  const { inForce } = hub;
  if (inForce === null) return textResponse(503, "No snapshot is active yet");
  const { searchParams } = new URL(request.url);
  const requested = parseExplainQuery(searchParams);
  if (typeof requested === "string") return textResponse(400, requested);
  const { url, method, headers } = requested;
  const { snapshot } = inForce;
  const gateway = searchParams.get("gateway");
  const found = gateway === null ? null : explainedListener(snapshot, url, gateway);
  if (typeof found === "string") return textResponse(404, found);
  // One that shares a port has all its hosts in common with Ingresses and other Gateways.
  const listener = found === null || sharedSocketOf(found.id) !== null ? null : found;
  const explanation = explain(snapshot, url.host, url.rawPath, paths, {
    listener: listener?.id ?? url.scheme,
    method,
    query: url.query,
    headers,
  });
  if (listener !== null) return ofGateway(request, url, explanation, listener, snapshot);
  const redirect = redirectOf(url, explanation, redirectPort);
  return prefersJson([request.headers.get("accept") ?? ""])
    ? jsonResponse(JSON.stringify({
      ...plain(url, explanation, snapshot),
      redirect,
      redirectBy: explanation.redirect?.by ?? null,
      redirectBecause: explanation.redirect?.because ?? null,
    }))
    : textResponse(200, describe(url, explanation, snapshot, redirect));
}

/** Without routes of other addresses; certificates are those of the listener, and hosts have no redirect. */
function ofGateway(
  request: Request,
  url: RequestedUrl,
  explained: Explanation,
  listener: Listener,
  snapshot: Snapshot,
): Response {
  const gateway = gatewayOf(listener.id);
  const explanation: Explanation = {
    ...explained,
    considered: explained.considered.filter(({ route }) =>
      route.listeners?.some((id) => gatewayOf(id) === gateway) === true
    ),
    redirect: null,
  };
  const { id, certificates = [] } = listener;
  if (prefersJson([request.headers.get("accept") ?? ""])) {
    const { certificate: _, ...others } = plain(url, explanation, snapshot);
    return jsonResponse(JSON.stringify({ ...others, listener: id, certificates }));
  }
  const lines = describe(url, explanation, snapshot, null).split("\n").slice(0, -1);
  return textResponse(
    200,
    [
      ...lines.toSpliced(1, 0, `Listener: ${printable(id)}`),
      ...(listener.protocol === "HTTPS"
        ? [`Certificates: ${printable(certificates.join(", ")) || "none, so handshakes fail"}`]
        : []),
    ].join("\n"),
  );
}

/** Where plain HTTP is redirected to; null where it is not. */
function redirectOf(
  { scheme, query }: RequestedUrl,
  explanation: Explanation,
  redirectPort: RedirectPort,
): string | null {
  const { redirect } = explanation;
  const port = redirectPort(redirect?.isForced ?? false);
  return scheme !== "http" || port === null ? null : redirectUrl(explanation, query, port);
}

/** The explanation as data, without chains and keys. */
function plain(url: RequestedUrl, explanation: Explanation, snapshot: Snapshot) {
  const { outcome, considered, certificate: { by, certificate, because } } = explanation;
  const action = actionOf(explanation);
  const upstreams = upstreamsOf(action).flatMap((id) => upstreamOf(snapshot, id) ?? []);
  return {
    url: `${url.scheme}://${url.host}${url.rawPath}${url.query}`,
    host: url.host,
    path: matchedPath(explanation),
    aliasOf: explanation.aliasOf,
    outcome,
    upstream: upstreams[0] ?? null,
    ...(upstreams.length > 1 ? { upstreams } : {}),
    settings: explainedSettings(placeOf(outcome), snapshot),
    considered,
    certificate: {
      by,
      because,
      ...(certificate === null ? {} : { id: certificate.id, origin: certificate.origin }),
    },
  };
}

function describe(
  url: RequestedUrl,
  explanation: Explanation,
  snapshot: Snapshot,
  redirect: string | null,
): string {
  const { outcome, considered, certificate: choice, redirect: setting } = explanation;
  const action = actionOf(explanation);
  const turnedOff = turnedOffBy(setting);
  const lines = [`${url.scheme}://${url.host}${url.rawPath}${url.query}`];
  const matched = matchedPath(explanation);
  if (matched !== null && matched !== url.rawPath) lines.push(`  matched as ${matched}`);
  if (explanation.aliasOf !== null) lines.push(`  an alias of ${explanation.aliasOf}`);
  if (redirect !== null) {
    lines.push(
      `Redirect: 308 to ${redirect}, as ${setting?.because}; what follows is for HTTPS`,
    );
  } else if (url.scheme === "http" && turnedOff !== null) {
    lines.push(`Redirect: none, as ${turnedOff}`);
  }
  if (outcome.kind === "route") {
    const { kind, namespace, name, field } = outcome.route.origin;
    lines.push(`Route: ${outcome.route.id}`, `  from ${kind} ${namespace}/${name}, ${field}`);
  } else if (outcome.kind === "default") {
    lines.push("Route: none, so the default backend gets it");
  } else {
    lines.push(
      outcome.kind === "refused"
        ? `Route: none, since ${outcome.reason}: 400`
        : "Route: none matches, and there is no default backend: 404",
    );
  }
  if (outcome.kind === "route" && outcome.problem !== undefined) {
    lines.push(`  returns 500: ${outcome.problem}`);
  } else if (action !== null) lines.push(`  ${describeAction(action)}`);
  for (const id of upstreamsOf(action)) lines.push(`  ${describeUpstream(snapshot, id)}`);
  for (const { route, lostBecause } of considered) {
    lines.push(`Considered: ${route.id}`, `  lost because ${lostBecause}`);
  }
  const chosen = choice.certificate === null ? "none" : choice.certificate.id;
  lines.push(`Certificate: ${chosen}, since ${choice.because}`);
  return lines.map(printable).join("\n");
}

function actionOf({ outcome }: Explanation): Action | null {
  if (outcome.kind === "route") return outcome.route.action;
  return outcome.kind === "default" ? outcome.action : null;
}

function describeAction(action: Action): string {
  return action.kind === "forward"
    ? `forwards to ${upstreamsOf(action).join(" or ") || "no upstream"}`
    : `returns ${action.status}: ${action.reason}`;
}

function describeUpstream(snapshot: Snapshot, id: string): string {
  const upstream = upstreamOf(snapshot, id);
  if (upstream === undefined) return "which the snapshot does not have";
  const { addresses } = upstream;
  if (addresses.kind === "dns") return `resolved from ${addresses.name}:${addresses.port}`;
  const count = addresses.endpoints.length;
  return `with ${count} endpoint${count === 1 ? "" : "s"}`;
}

function upstreamOf(snapshot: Snapshot, id: string) {
  return snapshot.upstreams.find((upstream) => upstream.id === id);
}

/** Control characters of what somebody asked for do not reach a terminal. */
function printable(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\ufffd");
}
