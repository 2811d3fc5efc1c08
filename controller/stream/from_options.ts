/**
 * The stream as the command line asks for it. In: options, a client that is no leader's, and watches.
 * Out: a server with its certificates, token reviews and zones, that starts and ends with them.
 */
import { systemClock } from "../../shared/clock.ts";
import { formatAddress, isAny } from "../../shared/net/address.ts";
import type { Logger } from "../../shared/log.ts";
import type { SnapshotVersion } from "../../shared/snapshot/types.ts";
import type { KubeClient } from "../kube/client.ts";
import type { ControllerMetrics } from "../metrics.ts";
import type { ControllerOptions } from "../cli/options.ts";
import { CONFIG_MAPS, type KubeObject } from "../kube/types.ts";
import { AckRelay } from "./ack_relay.ts";
import { ControllerReviews } from "./controller_reviews.ts";
import { acksOf, type ProxyAck } from "./proxy_acks.ts";
import { RelayedAcks } from "./relayed_acks.ts";
import { StreamServer } from "./server.ts";
import type { Watches } from "../watch/watches.ts";
import { STREAM } from "../outputs/workload/names.ts";
import { AuthorityServer } from "./ca/server_certificate.ts";
import { proxyAccount, TokenReviews } from "./token_reviews.ts";
import { zoneReader } from "./zones.ts";

/** Milliseconds without the API server, or a watch, after which other replicas may know more. */
const CUT_OFF = 30_000;

/** Who leads, as the election says. */
export interface Leadership {
  readonly isLeading: () => boolean;
  /** `HOST:PORT` of another replica's stream that leads; null where it is not known. */
  readonly leader: () => string | null;
}

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
  /** Null where nobody asks what proxies of other replicas have. */
  readonly leadership: Leadership | null;
}

/** Milliseconds for reading the stream's authorities. */
const TRUST_DEADLINE = 5_000;

export class ProxyStream {
  readonly server: StreamServer;
  readonly #client: KubeClient;
  readonly #address: ControllerOptions["stream"];
  readonly #relayed: RelayedAcks;
  readonly #reviews: ControllerReviews;
  /** Null where acknowledgements are not relayed. */
  readonly #relay: AckRelay | null;
  readonly #certificates: AuthorityServer;
  readonly #unsubscribe: () => void;

  constructor(options: ProxyStreamOptions) {
    const { options: { stream: address, streamNames, namespace }, client, log, metrics } = options;
    const { leadership } = options;
    const service = `${STREAM.service}.${namespace}.svc`;
    const onReview = (result: string) =>
      metrics.count("pingress_controller_token_reviews_total", { result });
    this.#client = client;
    this.#address = address;
    this.#relayed = new RelayedAcks({ log, onNews: options.onNews });
    const reviews = this.#reviews = new ControllerReviews({ client, onReview });
    this.#relay = leadership === null ? null : new AckRelay({
      leader: leadership.leader,
      acks: () => {
        const sessions = this.server.sessions;
        const acks = acksOf(sessions);
        return new Map(sessions.map((session, i) => [session, acks[i]]));
      },
      token: () => client.token(),
      trust: () => this.#trust(namespace),
      serverName: service,
      log,
    });
    this.#certificates = new AuthorityServer({
      client,
      namespace,
      names: [service, `${service}.cluster.local`, ...streamNames],
      log,
    });
    const pods = options.watches.informer("pods").store;
    this.server = new StreamServer({
      address,
      watchedPods: () => new Set(pods.list().flatMap(({ metadata: { uid } }) => uid ?? [])),
      certificates: this.#certificates,
      reviews: new TokenReviews({
        client,
        account: proxyAccount(namespace),
        allowUnbound: options.options.allowUnboundTokens,
        clock: systemClock,
        onReview,
      }),
      zoneOf: zoneReader(options.watches.wanted("nodes")),
      name: options.identity.split("_")[0],
      metrics,
      log,
      onClaim: options.onClaim,
      onNews: () => {
        this.#relay?.changed();
        options.onNews();
      },
      relays: leadership === null ? null : {
        acks: this.#relayed,
        review: (token, peer) => reviews.review(token, peer),
        isLeading: leadership.isLeading,
      },
      isCutOff: () => Math.max(client.unwellFor, options.watches.failingFor) > CUT_OFF,
    });
    this.#unsubscribe = pods.subscribe(({ before, after }) => {
      const uid = before?.metadata.uid;
      // One of the same name may have come in its place between two lists.
      if (uid !== undefined && after?.metadata.uid !== uid) this.server.podGone(uid);
    });
  }

  /** Throws where the port cannot be had; see `describeListenError`. */
  async start(): Promise<void> {
    await this.server.start();
    this.#certificates.start();
    this.#relay?.start();
  }

  /** Of the proxies of all replicas, as far as they tell us; our own are the last. */
  acks(): ProxyAck[] {
    return [...this.#relayed.acks(), ...acksOf(this.server.sessions)];
  }

  /** `HOST:PORT` at which other replicas reach the stream; null before we know our own address. */
  get reachableAt(): string | null {
    const { port } = this.server.address;
    const hostname = isAny(this.#address) ? this.#client.localAddress : this.#address.hostname;
    return hostname === null ? null : formatAddress({ hostname, port });
  }

  /** We lead no longer: other replicas tell somebody else. */
  notLeading(): void {
    this.#relayed.stop();
  }

  /** Says goodbye to proxies. Never throws. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#relay?.stop();
    this.#reviews.stop();
    await Promise.all([this.server.stop(), this.#certificates.stop()]);
  }

  /** Of the authorities that sign for any replica. */
  async #trust(namespace: string): Promise<string | null> {
    const got = await this.#client.get<KubeObject & { readonly data?: Record<string, string> }>(
      CONFIG_MAPS,
      namespace,
      STREAM.authority,
      { deadline: TRUST_DEADLINE },
    );
    return got.ok ? got.value.data?.[STREAM.bundleKey] ?? null : null;
  }
}
