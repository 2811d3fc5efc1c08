/**
 * What `deno task dev -o json` prints for programs. In: what is served. Out: an event a line, as
 * `docs/schemas/dev.json` says; the first fields are the version and the name of the event.
 */
import {
  certificateChange,
  plainProblem,
  plainRoute,
  routeChange,
} from "../../cli/diff/diff_json.ts";
import { isUnchanged, servedChanges } from "../../cli/diff/route_changes.ts";
import { JSON_VERSION } from "../../cli/terminal/terminal.ts";
import { escapeUnsafe, type LineOutput } from "../../shared/log.ts";
import { type Address, formatAddress } from "../../shared/net/address.ts";
import { urlOf } from "../gateway/gateway_report.ts";
import type { LocatedProblem } from "../manifests/file.ts";
import { connectable } from "../report.ts";
import { type Served, stateOf } from "../serving.ts";
import { type AccessEntry, tapOutput } from "../tap.ts";
import type { Display } from "./display.ts";

export function eventDisplay(output: LineOutput): Display {
  const print = (event: string, fields: Readonly<Record<string, unknown>> = {}) =>
    void output.write(`${escapeUnsafe(JSON.stringify({ v: JSON_VERSION, event, ...fields }))}\n`);
  const problems = (list: readonly LocatedProblem[]) => {
    for (const each of list) print("problem", { problem: plainProblem(each) });
  };
  return {
    started({ paths, listeners: { http, https, admin }, portOffset }, served) {
      print("started", {
        paths,
        http: http.map((address) => url("http", address)),
        https: https.map((address) => url("https", address)),
        admin: url("http", admin),
        portOffset,
      });
      const state = stateOf(served);
      print("served", servedFields(served, state.problems.length));
      problems(state.problems);
    },
    changed(before, after, _, duration) {
      const [was, is] = [stateOf(before), stateOf(after)];
      const changes = servedChanges(was, is);
      if (isUnchanged(changes)) return;
      const [beforeSide, afterSide] = [before.manifests, after.manifests];
      print("changed", {
        durationMs: Math.round(duration),
        routes: changes.routes.map((change) => routeChange(change, beforeSide, afterSide)),
        certificates: changes.certificates.map((change) =>
          certificateChange(change, beforeSide, afterSide)
        ),
        settings: changes.settings,
        problems: is.problems.length,
        mended: changes.problems.mended.map(plainProblem),
      });
      problems(changes.problems.added);
    },
    stopped: () => print("stopped"),
    tap: (reasonOf) =>
      tapOutput({
        request: (entry) => print("request", requestFields(entry, reasonOf)),
        dropped: (_, lines) => print("dropped", { lines }),
      }),
  };
}

function servedFields(served: Served, problems: number) {
  const { written: { snapshot }, manifests, sockets } = served;
  const hostname = connectable({ hostname: sockets.hostname, port: 0 }).hostname;
  return {
    objects: manifests.refs.length,
    routes: snapshot.routes.map((route) => plainRoute(route, manifests)),
    listeners: (snapshot.listeners ?? []).map((listener) => ({
      id: listener.id,
      port: listener.port,
      host: listener.hostname ?? null,
      url: sockets.open.includes(listener.socket) ? urlOf(listener, hostname) : null,
    })),
    problems,
  };
}

/** Neither headers nor the query, which may be secret. */
function requestFields(entry: AccessEntry, reasonOf: (route: string) => string | null) {
  const { route = null, error = null, endpoint = null } = entry;
  return {
    time: entry.time,
    method: entry.method ?? null,
    host: entry.host ?? null,
    path: entry.path ?? null,
    status: entry.status ?? null,
    durationMs: entry.durationMs,
    route,
    upstream: entry.upstream ?? null,
    endpoint,
    error,
    reason: error === null || route === null || endpoint !== null ? null : reasonOf(route),
  };
}

function url(scheme: "http" | "https", address: Address): string {
  return `${scheme}://${formatAddress(connectable(address))}`;
}
