/**
 * The stream as the command line asks for it. In: options, a client that is no leader's, and watches.
 * Out: a server with its certificates, token reviews and zones, that starts and ends with them.
 */
import { systemClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/log.ts";
import type { SnapshotVersion } from "../../shared/snapshot/types.ts";
import type { KubeClient } from "../kube/client.ts";
import type { ControllerMetrics } from "../metrics.ts";
import type { ControllerOptions } from "../cli/options.ts";
import { StreamServer } from "./server.ts";
import type { Watches } from "../watch/watches.ts";
import { STREAM } from "../outputs/workload/names.ts";
import { AuthorityServer } from "./ca/server_certificate.ts";
import { TokenReviews } from "./token_reviews.ts";
import { zoneReader } from "./zones.ts";

/** Milliseconds without the API server, or a watch, after which other replicas may know more. */
const CUT_OFF = 30_000;

export interface ProxyStreamOptions {
  readonly options: Pick<
    ControllerOptions,
    "stream" | "streamNames" | "namespace" | "allowUnboundTokens"
  >;
  readonly client: KubeClient;
  readonly watches: Pick<Watches, "informer" | "wanted" | "failingFor">;
  /** Of this process: the pod's name, and what makes it unique. */
  readonly identity: string;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
  readonly onClaim: (version: SnapshotVersion, proxy: string) => void;
  readonly onNews: () => void;
}

export class ProxyStream {
  readonly server: StreamServer;
  readonly #certificates: AuthorityServer;
  readonly #unsubscribe: () => void;

  constructor(options: ProxyStreamOptions) {
    const { options: { stream: address, streamNames, namespace }, client, log, metrics } = options;
    const service = `${STREAM.service}.${namespace}.svc`;
    this.#certificates = new AuthorityServer({
      client,
      namespace,
      names: [service, `${service}.cluster.local`, ...streamNames],
      log,
    });
    this.server = new StreamServer({
      address,
      certificates: this.#certificates,
      reviews: new TokenReviews({
        client,
        namespace,
        allowUnbound: options.options.allowUnboundTokens,
        clock: systemClock,
        onReview: (result) => metrics.count("pingress_controller_token_reviews_total", { result }),
      }),
      zoneOf: zoneReader(options.watches.wanted("nodes")),
      name: options.identity.split("_")[0],
      metrics,
      log,
      onClaim: options.onClaim,
      onNews: options.onNews,
      isCutOff: () => Math.max(client.unwellFor, options.watches.failingFor) > CUT_OFF,
    });
    this.#unsubscribe = options.watches.informer("pods").store.subscribe(({ before, after }) => {
      const uid = before?.metadata.uid;
      // One of the same name may have come in its place between two lists.
      if (uid !== undefined && after?.metadata.uid !== uid) this.server.podGone(uid);
    });
  }

  /** Throws where the port cannot be had; see `describeListenError`. */
  async start(): Promise<void> {
    await this.server.start();
    this.#certificates.start();
  }

  /** Says goodbye to proxies. Never throws. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await Promise.all([this.server.stop(), this.#certificates.stop()]);
  }
}
