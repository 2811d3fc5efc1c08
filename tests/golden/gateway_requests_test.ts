/**
 * Requests of the official conformance suite of Gateway API, without a cluster. In: the golden inputs of its
 * tests, and `gateway/requests.yaml`. Out: whether the translation, and the proxy's router with it, sends
 * each request where the suite wants it.
 */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { compareSpecificity, covers } from "../../controller/translate/gateway/objects/hostname.ts";
import { redirectedUrl } from "../../proxy/filters/request_redirect.ts";
import { compileTable } from "../../proxy/router/table.ts";
import type { Listener, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { gatewayCaseNames, readGatewayCase, runGatewayCase } from "./gateway_case.ts";

interface ExpectedReply {
  readonly gateway?: string;
  readonly port?: number;
  readonly host?: string;
  readonly method?: string;
  /** With the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of a Service. */
  readonly backend?: string;
  readonly status?: number;
  readonly location?: string;
}

const REQUESTS: Readonly<Record<string, readonly ExpectedReply[]>> = parse(
  Deno.readTextFileSync(new URL("gateway/requests.yaml", import.meta.url)),
);

const OWN: ReadonlySet<string> = new Set(gatewayCaseNames());

for (const [name, requests] of Object.entries(REQUESTS)) {
  const pair = OWN.has(name) ? name : `conformance/${name}`;
  Deno.test(`Gateway API: requests of ${pair.replaceAll(/[-/]/g, " ")}`, () => {
    const { snapshot } = runGatewayCase(readGatewayCase(pair));
    const table = compileTable(snapshot, (_action, route) => route);
    for (const { backend, status, location, ...request } of requests) {
      const { gateway = "same-namespace", host = "10.96.0.9", method = "GET" } = request;
      const { pathname, search } = new URL(request.path, "http://unused");
      const listener = listenerOf(snapshot, gateway, request.port, host);
      const headers = new Headers(request.headers);
      const route = listener === null ? null : table.match(host, pathname, {
        ...{ method, query: search, header: (name: string) => headers.get(name) },
      }, listener.id);
      assert.deepEqual(
        replyTo(route, snapshot, { host, path: pathname, query: search }),
        { backend, status, location },
        JSON.stringify(request),
      );
    }
  });
}

/** The most specific one that takes the host, on a port of the Gateway; by default that of its first. */
function listenerOf(
  { listeners = [] }: Snapshot,
  gateway: string,
  port: number | undefined,
  host: string,
): Listener | null {
  const own = listeners.filter(({ id }) => id.split("/")[1] === gateway);
  const open = own.filter((listener) =>
    listener.port === (port ?? own[0].port) &&
    (listener.hostname === undefined || covers(listener.hostname, host))
  );
  open.sort((a, b) => compareSpecificity(a.hostname ?? null, b.hostname ?? null));
  return open[0] ?? null;
}

function replyTo(
  route: Route | null,
  { filterSets = [] }: Snapshot,
  request: { readonly host: string; readonly path: string; readonly query: string },
): Pick<ExpectedReply, "backend" | "location" | "status"> {
  const none = { backend: undefined, status: undefined, location: undefined };
  if (route === null) return { ...none, status: 404 };
  const filters = filterSets.find(({ id }) => id === route.filterSet)?.filters ?? [];
  for (const filter of filters) {
    if (filter.kind !== "request-redirect") continue;
    return { ...none, status: filter.status, location: redirectedUrl(filter, request) };
  }
  if (route.action.kind === "reply") return { ...none, status: route.action.status };
  const [{ upstream, fault }] = route.action.backends;
  return fault === undefined
    ? { ...none, backend: upstream.slice(upstream.indexOf("/") + 1, upstream.lastIndexOf(":")) }
    : { ...none, status: 500 };
}
