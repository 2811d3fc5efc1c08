/**
 * What is in force in one event loop: routes, upstreams, certificates. In: deltas. Out: the table
 * that requests are matched with, and the certificates for handshakes.
 *
 * A delta is taken in within one turn of the loop, so no request sees half of it: upstreams and
 * certificates exist before routes need them, and upstreams that are gone go last. Endpoints, pools and turns that stay keep their state.
 */
import type { Logger } from "../../shared/log.ts";
import type { Action, Route, Upstream as UpstreamSpec } from "../../shared/snapshot/types.ts";
import { serviceOf } from "../../shared/snapshot/forward_action.ts";
import { Certificates } from "../certificates/store.ts";
import type { FilterMakers, FilterServices } from "../filters/registry.ts";
import { ActiveBlockedClients } from "../filters/blocked_clients.ts";
import type { CredentialStore } from "../filters/passwords/credential_store.ts";
import type { Limits } from "../http/limits.ts";
import type { LoopMark } from "../http/loop_mark.ts";
import { brokenMatch } from "../router/conditions.ts";
import { PatternCache } from "../router/patterns/pattern.ts";
import { SocketListeners } from "../router/socket_listeners.ts";
import { type Binding, RouteTable } from "../router/table.ts";
import type { SnapshotDelta } from "../config/diff.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { DeniedAddresses } from "../upstream/denied_addresses.ts";
import { DnsEndpoints, type DnsResolver } from "../upstream/dns.ts";
import { Security } from "../upstream/tls.ts";
import { Upstream, type UpstreamContext } from "../upstream/upstream.ts";
import { RouteCompiler } from "./compile.ts";
import type { CompiledRoute, HttpEndpoints, HttpUpstream } from "./route.ts";

export interface ActiveRoutesContext extends UpstreamContext {
  /** Of routes that say nothing. */
  readonly limits: Limits;
  /** By kind; those of the registry by default. */
  readonly filterMakers?: FilterMakers;
  /** What filters need of others; nothing by default. */
  readonly filterServices?: FilterServices;
  /** Follows the credentials of snapshots; nobody by default, so that nothing that needs them is served. */
  readonly credentials?: CredentialStore;
  /** Looks up names; the system's by default. */
  readonly resolver?: DnsResolver;
  /** Translates gRPC-Web for upstreams of HTTP/2 that do not say whether; false by default. */
  readonly grpcWeb?: boolean;
  readonly loopMark: LoopMark;
  /** Whether clients may come to a socket of a Gateway that no listener names any more. */
  readonly isOpenSocket?: (socket: string) => boolean;
}

export class ActiveRoutes {
  readonly #patterns = new PatternCache();
  readonly table: RouteTable<CompiledRoute> = new RouteTable(this.#patterns.compile);
  readonly certificates: Certificates = new Certificates();
  /** Of sockets of Gateways. */
  readonly sockets: SocketListeners = new SocketListeners();
  readonly #upstreams = new Map<string, HttpUpstream>();
  readonly #compiler: RouteCompiler;
  readonly #endpoints: HttpEndpoints;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #context: ActiveRoutesContext;
  readonly #upstreamContext: UpstreamContext;
  readonly #denied = new DeniedAddresses();
  readonly #blocked = new ActiveBlockedClients();
  #zone: string | null = null;

  constructor(
    endpoints: HttpEndpoints,
    log: Logger,
    metrics: Metrics,
    context: ActiveRoutesContext,
  ) {
    this.#endpoints = endpoints;
    this.#log = log;
    this.#metrics = metrics;
    this.#context = context;
    this.#upstreamContext = {
      ...context,
      onEjections: (counters, more) => metrics.endpointsEjected(counters, more),
    };
    const { limits, filterMakers, credentials } = context;
    const filterServices = {
      blockedClients: this.#blocked,
      ...(credentials === undefined ? {} : { loginsOf: credentials.loginsOf }),
      ...context.filterServices,
    };
    this.#compiler = new RouteCompiler(this.#upstreams, limits, filterMakers, filterServices);
  }

  apply(delta: SnapshotDelta): void {
    if (this.#denied.replace(delta.denied)) {
      for (const upstream of this.#upstreams.values()) upstream.recheck(this.#denied);
    }
    for (const spec of delta.upstreams) this.#applyUpstream(spec);
    this.certificates.apply(delta.certificates, delta.defaultCertificate);
    this.#context.loopMark.publish(delta.loopMark);
    this.sockets.replace(delta.listeners, this.#context.isOpenSocket ?? (() => false));
    this.table.replaceListeners(delta.listeners);
    this.table.updateHostSettings(delta.hostSettings.changed, delta.hostSettings.removed);
    const { changed, removed } = delta.credentials;
    this.#context.credentials?.apply(changed, removed);
    this.#blocked.replace(delta.blockedClients);
    this.#compiler.begin(delta.filterSets, delta.policies);
    for (const { host, routes } of delta.hosts) {
      this.table.replaceHost(host, routes, (route) => this.#bind(route.action, route));
    }
    const { defaultAction } = delta;
    this.table.replaceFallback(defaultAction === null ? null : this.#bind(defaultAction, null));
    this.#patterns.clear();
    this.#compiler.end(delta.filterSets, delta.policies);
    this.#metrics.routesInForce();
    for (const id of delta.removedUpstreams) {
      const upstream = this.#upstreams.get(id);
      if (upstream === undefined) continue;
      upstream.close();
      // What is under way counts as what is left of those that have gone.
      upstream.counters = this.#metrics.countersOfUpstream(id);
      this.#upstreams.delete(id);
    }
  }

  /** Null for one that there is not. */
  upstream(id: string): HttpUpstream | null {
    return this.#upstreams.get(id) ?? null;
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
      upstream = new Upstream(id, this.#endpoints, this.#upstreamContext);
      upstream.counters = this.#metrics.countersOfUpstream(id);
      upstream.setZone(this.#zone);
      this.#upstreams.set(id, upstream);
    }
    upstream.balance(spec.balance ?? this.#context.balance);
    const isSecure = spec.protocol === "https" || spec.protocol === "h2";
    const security = isSecure ? new Security(spec.tls ?? { serverName: serverNameOf(spec) }) : null;
    upstream.speak(spec.protocol, security);
    // A backend of HTTP/1.1 can speak gRPC-Web, and not gRPC.
    upstream.grpcWeb = spec.grpcWeb ?? (this.#context.grpcWeb === true && spec.protocol !== "http");
    if (addresses.kind === "endpoints") {
      upstream.list(addresses.endpoints);
    } else {
      const { name, port } = addresses;
      // What is known of a name stays, and so does who waits for its first answer.
      if (upstream.follows(name, port)) return;
      const { resolver } = this.#context;
      const options = { log: this.#log, denied: this.#denied, resolver };
      upstream.resolve(new DnsEndpoints(name, port, options));
    }
  }

  /** @param route null for the default action. */
  #bind(action: Action, route: Route | null): Binding<CompiledRoute> {
    const counters = this.#metrics.countersOf(route?.id ?? null);
    const isGuarded = route !== null && this.#compiler.isGuarded(route);
    return { target: this.#target(action, route), counters, isGuarded };
  }

  /**
   * What cannot be compiled answers 500 alone: left out, its requests would fall to a broader route.
   */
  #target(action: Action, route: Route | null): CompiledRoute {
    try {
      const broken = route && brokenMatch(route.match, this.#patterns.compile);
      if (broken !== null) throw new Error(broken);
      return this.#compiler.compile(action, route ?? undefined);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.error("Route does not compile, responding with 500", {
        route: route?.id,
        problem: reason,
      });
      return this.#compiler.broken(reason);
    }
  }
}

/** The name that a backend's certificate is expected to be for. */
function serverNameOf({ id, addresses }: UpstreamSpec): string {
  if (addresses.kind === "dns") return addresses.name.replace(/\.$/, "");
  const service = serviceOf(id);
  return service === null ? id : `${service.name}.${service.namespace}.svc`;
}
