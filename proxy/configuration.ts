/**
 * What is in force in one event loop: routes, upstreams, certificates. In: deltas. Out: the table
 * that requests are matched with, and the certificates for handshakes.
 *
 * A delta is taken in within one turn of the loop, so no request sees half of it: upstreams and
 * certificates exist before routes need them, and upstreams that are gone go last. Endpoints, pools and turns that stay keep their state.
 */
import type { Logger } from "../shared/log.ts";
import type { Action, Upstream as UpstreamSpec } from "../shared/snapshot.ts";
import { Certificates } from "./certificates.ts";
import type { Target } from "./forward.ts";
import type { ClientConnection } from "./http1/client_connection.ts";
import { RouteTable } from "./router/table.ts";
import type { SnapshotDelta } from "./snapshot_delta.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import { DnsEndpoints } from "./upstream/dns.ts";
import type { EndpointRegistry } from "./upstream/endpoint.ts";
import { Security } from "./upstream/tls.ts";
import { Upstream, type UpstreamContext } from "./upstream/upstream.ts";

export class Configuration {
  readonly table: RouteTable<Target> = new RouteTable<Target>();
  readonly certificates: Certificates = new Certificates();
  readonly #upstreams = new Map<string, Upstream<ClientConnection>>();
  readonly #endpoints: EndpointRegistry<ClientConnection>;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #context: UpstreamContext;
  #zone: string | null = null;

  constructor(
    endpoints: EndpointRegistry<ClientConnection>,
    log: Logger,
    metrics: Metrics,
    context: UpstreamContext,
  ) {
    this.#endpoints = endpoints;
    this.#log = log;
    this.#metrics = metrics;
    this.#context = context;
  }

  apply(delta: SnapshotDelta): void {
    for (const spec of delta.upstreams) this.#applyUpstream(spec);
    this.certificates.apply(delta.certificates, delta.defaultCertificate);
    for (const { host, routes } of delta.hosts) {
      this.table.replaceHost(host, routes, (route) => this.#bind(route.action, route.id));
    }
    const { defaultAction } = delta;
    this.table.replaceFallback(defaultAction === null ? null : this.#bind(defaultAction, null));
    for (const id of delta.removedUpstreams) {
      this.#upstreams.get(id)?.close();
      this.#upstreams.delete(id);
    }
  }

  /** Endpoints that are meant for this zone are asked, from now on; null for no zone. */
  setZone(zone: string | null): void {
    this.#zone = zone;
    for (const upstream of this.#upstreams.values()) upstream.setZone(zone);
  }

  /** Lets go of endpoints and stops looking up names. */
  close(): void {
    for (const upstream of this.#upstreams.values()) upstream.close();
    this.#upstreams.clear();
  }

  #applyUpstream(spec: UpstreamSpec): void {
    const { id, addresses } = spec;
    let upstream = this.#upstreams.get(id);
    if (upstream === undefined) {
      upstream = new Upstream(id, this.#endpoints, this.#context);
      upstream.setZone(this.#zone);
      this.#upstreams.set(id, upstream);
    }
    upstream.balance(spec.balance ?? this.#context.balance);
    const isSecure = spec.protocol === "https" || spec.protocol === "h2";
    upstream.secure(isSecure ? new Security(spec.tls ?? { serverName: serverNameOf(spec) }) : null);
    if (addresses.kind === "endpoints") {
      upstream.list(addresses.endpoints);
    } else {
      const { name, port } = addresses;
      upstream.resolve(new DnsEndpoints(name, port, { log: this.#log }));
    }
  }

  /**
   * One that cannot be compiled answers 500 alone: left out, its requests would fall to a broader
   * route.
   * @param id the route's; null for the default action.
   */
  #bind(action: Action, id: string | null): Target {
    const route = this.#metrics.route(id);
    try {
      return this.#compile(action, route);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.error("Route does not compile and answers 500", { route: id, problem: reason });
      return { kind: "answer", code: "route_broken", reason, route };
    }
  }

  #compile(action: Action, route: Target["route"]): Target {
    if (action.kind === "answer") {
      const code = ANSWER_CODES[action.status];
      return { kind: "answer", code, reason: action.reason, route };
    }
    const upstream = this.#upstreams.get(action.upstream);
    return upstream === undefined
      ? { kind: "answer", code: "route_broken", reason: `no upstream ${action.upstream}`, route }
      : { kind: "forward", upstream, route };
  }
}

/** The name that a backend's certificate is expected to be for. */
function serverNameOf({ id, addresses }: UpstreamSpec): string {
  if (addresses.kind === "dns") return addresses.name.replace(/\.$/, "");
  const [, namespace, service] = /^([^/]*)\/([^:]*)/.exec(id) ?? [];
  return namespace === undefined ? id : `${service}.${namespace}.svc`;
}

const ANSWER_CODES = { 404: "no_route", 500: "route_broken", 503: "no_endpoint" } as const;
