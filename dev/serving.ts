/**
 * What is served at present. In: manifests, as they are on disk each time. Out: a proxy that has
 * them in force, and the plan that it follows.
 */
import { CertificateLoader } from "../proxy/certificates/loader.ts";
import { DEFAULT_LIMITS } from "../proxy/http/limits.ts";
import type { SocketStates } from "../proxy/listen/socket_states.ts";
import { SnapshotDiffer } from "../proxy/config/diff.ts";
import type { ErrorPage } from "../proxy/forward/local_reply.ts";
import type { ExchangeRecord } from "../proxy/http/message.ts";
import { ProxyServer } from "../proxy/server.ts";
import { DEFAULT_ACCESS_LOG } from "../proxy/telemetry/access_log/options.ts";
import { TelemetryHub } from "../proxy/telemetry/hub.ts";
import { DEFAULT_SERIES } from "../proxy/telemetry/series_options.ts";
import { Telemetry } from "../proxy/telemetry/telemetry.ts";
import type { ServedState } from "../cli/diff/route_changes.ts";
import { DEFAULT_LISTEN_RANGE } from "../shared/net/port_range.ts";
import { isGranted } from "../shared/rights.ts";
import { CidrList } from "../shared/net/cidr.ts";
import type { LineOutput, Logger } from "../shared/log.ts";
import type { ServicePort } from "../controller/kube/resources.ts";
import { asList } from "../controller/base/json.ts";
import { LocalPorts } from "./gateway/local_ports.ts";
import { socketProblems } from "./gateway/gateway_report.ts";
import type { MadeCertificates } from "./made_certificates.ts";
import { ManifestFolder } from "./manifests/folder.ts";
import type { Manifests } from "./manifests/manifests.ts";
import type { DevOptions } from "./options.ts";
import { makePlan, type Plan } from "./plan.ts";
import { SampleBackends } from "./sample/backend.ts";
import { servicesWantedInHttp2 } from "./sample_upstreams.ts";
import { wantsHttp2 } from "./sample/ports.ts";

export interface Served {
  /** With the certificates that were made here. */
  readonly plan: Plan;
  /** Without them. */
  readonly written: Plan;
  readonly manifests: Manifests;
  /** Of Gateways, and the address that they listen on. */
  readonly sockets: SocketStates & { readonly hostname: string };
}

/** What is served, to be compared with what is served later. */
export function stateOf({ written, sockets }: Served): ServedState {
  return {
    snapshot: written.snapshot,
    problems: [...written.problems, ...socketProblems(written, sockets)],
  };
}

export interface ServingOptions extends DevOptions {
  /** Of the proxy's log entries. */
  readonly log: Logger;
  /** Where lines of the access log go, as `--tap` shows them; null for none. */
  readonly accessLog: LineOutput | null;
  /** Where no access log is written: takes none. */
  readonly output: LineOutput;
  readonly errorPage: ErrorPage;
}

/** Connections of a Gateway that is gone get this long, in ms. */
const DRAIN_TIMEOUT = 2000;

export class Serving {
  readonly proxy: ProxyServer;
  /** Counts the traffic. */
  readonly hub: TelemetryHub;
  #options: DevOptions;
  #folder: ManifestFolder;
  #certificates: CertificateLoader;
  #made: MadeCertificates;
  #samples = new SampleBackends();
  #hostname: string;
  #ports: LocalPorts;
  #differ = new SnapshotDiffer();
  #plan: Plan | null = null;

  constructor(options: ServingOptions, made: MadeCertificates) {
    const { log, accessLog, output, errorPage } = options;
    this.#options = options;
    this.hub = new TelemetryHub({
      accessLog: accessLog === null ? null : DEFAULT_ACCESS_LOG,
      // A folder has few routes, and whoever tries one looks for it.
      series: { ...DEFAULT_SERIES, by: "route" },
      output: accessLog ?? output,
    });
    const worker = this.hub.attach((message) => telemetry.receive(message));
    const telemetry = new RoutedTelemetry(worker.setup, (message) => worker.receive(message));
    telemetry.sampleLoop();
    this.#made = made;
    this.#folder = new ManifestFolder(options.paths);
    // Its warnings are about certificates that have expired, as problems of the plan are.
    this.#certificates = new CertificateLoader({
      folder: ".",
      log: { ...log, warn: () => {} },
      now: Date.now,
    });
    const listenRange = {
      ...options.plan.listenRange ?? DEFAULT_LISTEN_RANGE,
      hostname: listenedAddress(options),
    };
    this.#hostname = listenRange.hostname;
    this.#ports = new LocalPorts(listenRange);
    this.proxy = new ProxyServer({
      limits: { ...DEFAULT_LIMITS, ...options.pathOptions },
      trustedProxies: CidrList.empty,
      upstreamNetworks: CidrList.empty,
      allowLoopbackUpstreams: true,
      sslRedirect: options.sslRedirect,
      sslRedirectPort: 0,
      listenRange,
      drainDelay: 0,
      drainTimeout: DRAIN_TIMEOUT,
      log,
      telemetry,
      errorPage,
    });
  }

  /** Reads everything anew and puts it in force. What was served stays so if this rejects. */
  async update(): Promise<Served> {
    const manifests = await this.#folder.read();
    await this.#samples.prepareHttp2(
      new Set([...servicesOfHttp2(manifests), ...servicesWantedInHttp2(manifests.resources)]),
    );
    const made = makePlan(
      manifests,
      this.#options.plan,
      (namespace, name, version) =>
        version === "HTTP/2"
          ? this.#samples.http2EndpointsFor(namespace, name)
          : this.#samples.endpointsFor(namespace, name),
      this.#plan?.snapshot ?? null,
      Date.now,
    );
    for (let tries = 1;; tries++) {
      const plan = { ...made, snapshot: this.#ports.assign(made.snapshot) };
      const { snapshot, made: madeHere } = this.#made.complete(plan.snapshot);
      const usable = this.#certificates.load(plan.snapshot);
      const delta = this.#differ.diff(snapshot, [...usable, ...madeHere]);
      this.hub.changes(delta);
      this.proxy.applyDelta(delta);
      this.hub.snapshotApplied(snapshot, usable, this.#certificates.refused);
      await this.proxy.openSockets();
      this.#plan = plan;
      const sockets = { ...this.proxy.sockets, hostname: this.#hostname };
      const refused = sockets.obstacles.map(({ socket }) => socket);
      if (this.#ports.learn(sockets.open, refused) && tries < MAX_TRIES) continue;
      return { plan: { ...plan, snapshot }, written: plan, manifests, sockets };
    }
  }
}

/** Knows the route of each exchange, for pages of errors. */
class RoutedTelemetry extends Telemetry {
  override routed(record: ExchangeRecord, counters: number): void {
    super.routed(record, counters);
    record.route = this.metrics.idOf(counters);
  }
}

/** Of ports for Gateways: another program may take one after it was found to be free. */
const MAX_TRIES = 5;

/** For Gateways: that of the first port for HTTP, if all of its ports may be used. */
function listenedAddress({ listenHttp: [first] }: DevOptions): string {
  if (first === undefined || first.hostname === "localhost") return LOOPBACK;
  return isGranted({ name: "net", host: first.hostname }) ? first.hostname : LOOPBACK;
}

const LOOPBACK = "127.0.0.1";

/** `<namespace>/<service>` of those with a port that asks for HTTP/2. */
function servicesOfHttp2({ resources }: Manifests): string[] {
  return resources.services
    .filter(({ spec }) => (asList(spec?.ports) as ServicePort[] ?? []).some(wantsHttp2))
    .map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`);
}
