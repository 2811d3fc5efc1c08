/**
 * The live stream to proxies. In: each reconciliation that may be used, and proxies that connect. Out:
 * each proxy has the newest configuration milliseconds later, and says what became of it.
 *
 *     listener ─▶ head ─▶ token review ─▶ session: hello, snapshot, deltas, pings ─▶ bye
 *
 * Every replica serves it, whoever leads: what is streamed is translated, not read from what was
 * published.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Address } from "../../shared/net/address.ts";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/log.ts";
import { Redacted, type Secret } from "../../shared/redacted.ts";
import type { Snapshot, SnapshotVersion } from "../../shared/snapshot/types.ts";
import type { Content } from "../../shared/stream/content.ts";
import { LineSplitter } from "../../shared/stream/lines.ts";
import { readReport } from "../../shared/stream/messages.ts";
import {
  HEARTBEAT_MS,
  MAX_REPORT_BYTES,
  PROXY_SILENCE_MS,
  STREAM_PROTOCOL,
  STREAM_TYPE,
} from "../../shared/stream/protocol.ts";
import { VERSION } from "../../shared/version.ts";
import type { ControllerMetrics } from "../metrics.ts";
import { ACKS_PATH } from "./ack_messages.ts";
import type { ServingCertificates } from "./ca/certificate_authority.ts";
import { EarlyBody } from "./early_body.ts";
import { readHead, type Refused } from "./head.ts";
import { type ListenerLimits, StreamListener } from "./listener.ts";
import { type Programmed, programmed, showProxies } from "./proxies.ts";
import { ResponseOutlet } from "./outlet.ts";
import { RefusedPeers } from "./refused_peers.ts";
import type { RelayedAcks } from "./relayed_acks.ts";
import { Session, type SessionEnd, type SessionListener, type SessionTiming } from "./session.ts";
import type { TokenReviews, Verdict } from "./token_reviews.ts";
import { UnwatchedPods } from "./unwatched_pods.ts";
import { type Taking, Updates } from "./updates.ts";

export const SESSION_TIMING: SessionTiming = {
  heartbeat: HEARTBEAT_MS,
  hello: 10_000,
  silence: PROXY_SILENCE_MS,
  stall: 30_000,
  age: 3_600_000,
  wholeInterval: 1_000,
  reason: 60_000,
  behind: 10_000,
};

/** Streams at once. */
const MAX_SESSIONS = 2048;

/** Milliseconds between two looks at all sessions. */
const TICK = 250;

/** Looks from one to the next at what has been refused. */
const REVIEW_TICKS = 40;

/** Pods whose deletion is remembered: the API server may call their tokens good for some seconds. */
const MAX_GONE = 4096;

/** Milliseconds that goodbyes may take. */
const CLOSE_PATIENCE = 1_000;

/** Milliseconds that a refused proxy may take to read why. */
const REFUSAL_PATIENCE = 2_000;

/** What other replicas of the controller tell the leader. */
export interface Relays {
  readonly acks: RelayedAcks;
  /** Whether a token is of the controllers' own service account. */
  readonly review: TokenReviews["review"];
  readonly isLeading: () => boolean;
}

export interface StreamOptions {
  readonly address: Address;
  readonly certificates: ServingCertificates;
  readonly reviews: Pick<TokenReviews, "review" | "stop" | "forget">;
  /** UIDs of pods of whose deletion `podGone` is told; see `UnwatchedPods`. Missing: of all. */
  readonly watchedPods?: () => ReadonlySet<string>;
  /** Milliseconds between two questions about the pods that are not watched. */
  readonly unwatchedInterval?: number;
  /** Of a node; null where it is not known. */
  readonly zoneOf: (node: string) => Promise<string | null>;
  /** What proxies know us by. */
  readonly name: string;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
  /** The proxy of this name has this in force. */
  readonly onClaim: (version: SnapshotVersion, proxy: string) => void;
  /** What proxies say of what they were sent has changed. */
  readonly onNews: () => void;
  /** Null where no other replica has anything to tell. */
  readonly relays?: Relays | null;
  /** See `SessionOptions`. */
  readonly isCutOff?: () => boolean;
  readonly maxSessions?: number;
  readonly limits?: Partial<ListenerLimits>;
  readonly timing?: Partial<SessionTiming>;
  /** Bytes of a line; default: what proxies read. */
  readonly maxUpdate?: number;
  readonly clock?: Clock;
  /** From 0 up to 1. */
  readonly random?: () => number;
}

export class StreamServer {
  readonly #options: StreamOptions;
  readonly #clock: Clock;
  readonly #updates: Updates;
  readonly #listener: StreamListener;
  readonly #sessions = new Set<Session>();
  readonly #events: SessionListener;
  readonly #refused: RefusedPeers;
  /** Null where all are watched. */
  readonly #unwatched: UnwatchedPods | null;
  #ticking: ReturnType<typeof setInterval> | undefined;
  #ticks = 0;
  #isDraining = false;
  /** UIDs of pods that have been deleted, the oldest first. */
  readonly #gone = new Set<string>();
  /** Bytes of the newest configuration, where proxies cannot have it for these; else null. */
  #tooLarge: number | null = null;
  /** The last one that is streamed. */
  #taken: Snapshot | null = null;
  /** Of sessions that have ended. */
  #bytesBefore = 0;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { address, certificates, limits, log, maxUpdate, watchedPods } = options;
    this.#updates = new Updates(() => this.#clock.monotonic(), maxUpdate);
    this.#listener = new StreamListener({
      address,
      certificates,
      limits,
      log,
      onRequest: (request, response) =>
        this.#open(request, response).catch((error) => {
          log.error("A stream failed", { error });
          request.socket.destroy();
        }),
    });
    this.#events = this.#listen();
    this.#refused = new RefusedPeers(log, () => this.#clock.monotonic());
    this.#unwatched = watchedPods === undefined ? null : new UnwatchedPods({
      reviews: options.reviews,
      watched: watchedPods,
      onGone: (session) => this.#guard(session, () => session.end("pod_gone")),
      clock: this.#clock,
      interval: options.unwatchedInterval,
    });
  }

  get address(): Address {
    return this.#listener.address;
  }

  get sessions(): readonly Session[] {
    return [...this.#sessions];
  }

  /** What proxies are to have; null before there is anything to stream. */
  get updates(): Pick<Updates, "current"> {
    return this.#updates;
  }

  /** Throws where the port cannot be had; see `describeListenError`. */
  async start(): Promise<void> {
    await this.#listener.listen();
    this.#ticking = setInterval(() => this.#tick(), TICK);
  }

  /** Nothing of it that is behind what another replica has seen may come here. */
  update(snapshot: Snapshot): void {
    let taking: Taking;
    this.#taken = null;
    try {
      taking = this.#updates.take(snapshot);
    } catch (error) {
      // What proxies have stays; everything else of a reconciliation goes on.
      return this.#options.log.error("Cannot stream a configuration", { error });
    }
    const tooLarge = taking.ok ? null : taking.bytes;
    const isNews = tooLarge !== this.#tooLarge;
    this.#tooLarge = tooLarge;
    if (isNews) this.#options.onNews();
    if (!taking.ok) return;
    this.#taken = snapshot;
    for (const session of this.#sessions) this.#guard(session, () => session.push());
  }

  /** What is streamed of this snapshot; null where it is not the last one, or cannot be streamed. */
  contentOf(snapshot: Snapshot): Content | null {
    return snapshot === this.#taken ? this.#updates.current : null;
  }

  /** See `Updates.take`. */
  get tooLarge(): number | null {
    return this.#tooLarge;
  }

  /** For `/proxies`. */
  show(): string {
    const { current } = this.#updates;
    return showProxies(this.sessions, current, this.#clock.monotonic(), this.#clock.now());
  }

  /** Whether the newest is in force in all proxies of this replica's. */
  get programmed(): Programmed {
    return programmed(this.sessions);
  }

  /** Metrics of what is rather than of what happens. */
  measure(): void {
    const { metrics } = this.#options;
    const { connected, inSync } = this.programmed;
    const relayed = this.#options.relays?.acks.acks().length ?? 0;
    const states = { connected, "in-sync": inSync, relayed };
    for (const [state, count] of Object.entries(states)) {
      metrics.set("pingress_controller_stream_proxies", count, { state });
    }
    const bytes = this.sessions.reduce((sum, session) => sum + session.bytes, this.#bytesBefore);
    metrics.total("pingress_controller_stream_sent_bytes_total", bytes);
  }

  /**
   * A pod is gone: its streams end at once, whoever holds its token, and the token is not let in
   * again by what the API server has said of it before.
   */
  podGone(uid: string): void {
    this.#options.reviews.forget(uid);
    this.#gone.add(uid);
    const [oldest] = this.#gone;
    if (this.#gone.size > MAX_GONE) this.#gone.delete(oldest);
    for (const session of this.#sessions) {
      if (session.identity.podUid === uid) this.#guard(session, () => session.end("pod_gone"));
    }
  }

  /** Says goodbye to all proxies, so that they go elsewhere, and ends. Never throws. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    clearInterval(this.#ticking);
    this.#options.reviews.stop();
    this.#listener.close();
    for (const session of this.#sessions) session.end("draining");
    this.#options.relays?.acks.stop();
    const deadline = this.#clock.monotonic() + CLOSE_PATIENCE;
    while (this.#listener.connections > 0 && this.#clock.monotonic() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.#listener.destroy();
  }

  #tick(): void {
    for (const session of this.#sessions) this.#guard(session, () => session.tick());
    this.#unwatched?.ask(this.sessions).catch((error) => {
      this.#options.log.error("Cannot check the pods of proxies", { error });
    });
    this.#ticks++;
    // That a refusal lasts is no event of its own.
    const isTime = this.#ticks % REVIEW_TICKS === 0;
    if (isTime && this.sessions.some(({ refusal }) => refusal !== null)) this.#options.onNews();
  }

  /** A mistake of ours in one stream ends that one alone; its proxy comes again. */
  #guard(session: Session, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#options.log.error("A stream failed", { proxy: session.name, error });
      session.end("failed");
    }
  }

  async #open(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { reviews, zoneOf, maxSessions = MAX_SESSIONS, relays = null } = this.#options;
    if (relays !== null && request.url === ACKS_PATH) {
      return await this.#openRelay(request, response, relays);
    }
    const early = new EarlyBody(request);
    const head = readHead(request);
    if (!head.ok) return this.#refuse(response, head);
    if (this.#isDraining) return this.#refuse(response, DRAINING);
    if (this.#sessions.size >= maxSessions) return this.#refuse(response, FULL);
    const peer = request.socket.remoteAddress ?? "";
    const token = new Redacted(head.token);
    const verdict = await reviews.review(token, peer);
    if (verdict.kind === "bad") return this.#refuse(response, verdict);
    if (verdict.kind === "unknown") {
      return this.#refuse(response, { status: 503, reason: verdict.reason });
    }
    if (this.#gone.has(verdict.identity.podUid ?? "")) return this.#refuse(response, POD_GONE);
    const { node } = verdict.identity;
    const zone = node === null ? null : await zoneOf(node);
    if (request.socket.destroyed || early.isBroken) return void request.socket.destroy();
    // Much may have happened meanwhile.
    if (this.#gone.has(verdict.identity.podUid ?? "")) return this.#refuse(response, POD_GONE);
    if (this.#isDraining) return this.#refuse(response, DRAINING);
    if (this.#sessions.size >= maxSessions) return this.#refuse(response, FULL);
    this.#listener.welcome(request);
    this.#refused.welcomed(peer);
    this.#begin(request, response, early, verdict, token, zone);
  }

  async #openRelay(
    request: IncomingMessage,
    response: ServerResponse,
    { acks, review, isLeading }: Relays,
  ): Promise<void> {
    const early = new EarlyBody(request);
    const head = readHead(request, ACKS_PATH);
    if (!head.ok) return this.#refuse(response, head);
    const peer = request.socket.remoteAddress ?? "";
    const verdict = await review(new Redacted(head.token), peer);
    if (verdict.kind === "bad") return this.#refuse(response, verdict);
    if (verdict.kind === "unknown") {
      return this.#refuse(response, { status: 503, reason: verdict.reason });
    }
    if (request.socket.destroyed || early.isBroken) return void request.socket.destroy();
    if (this.#isDraining) return this.#refuse(response, DRAINING);
    if (!isLeading()) return this.#refuse(response, NOT_LEADING);
    if (acks.isFull) return this.#refuse(response, FULL);
    this.#listener.welcome(request);
    this.#refused.welcomed(peer);
    acks.begin(request, response, early, verdict.expiresAt - this.#clock.monotonic());
  }

  #begin(
    request: IncomingMessage,
    response: ServerResponse,
    early: EarlyBody,
    { identity, expiresAt }: Verdict & { readonly kind: "good" },
    token: Secret,
    zone: string | null,
  ): void {
    const { name, timing, random = Math.random, isCutOff = () => false } = this.#options;
    response.writeHead(200, { "content-type": STREAM_TYPE, connection: "close" });
    const now = () => this.#clock.monotonic();
    const session = new Session({
      outlet: new ResponseOutlet(
        response,
        now,
        () => this.#guard(session, () => session.push()),
      ),
      updates: this.#updates,
      identity,
      peer: request.socket.remoteAddress ?? "",
      zone,
      controller: name,
      build: VERSION,
      expiresAt,
      timing: { ...SESSION_TIMING, ...timing },
      now,
      random,
      isCutOff,
      listener: this.#events,
    });
    const { podUid } = identity;
    for (const other of this.#sessions) {
      if (podUid !== null && other.identity.podUid === podUid) other.end("replaced");
    }
    this.#sessions.add(session);
    this.#unwatched?.shown(session, token);
    const splitter = new LineSplitter(MAX_REPORT_BYTES);
    const read = (chunk: Uint8Array) => {
      const { ok, lines } = splitter.push(chunk);
      for (const line of lines) {
        const report = readReport(line);
        if (!report.ok) return session.end("garbled");
        session.receive(report.message);
      }
      if (!ok) session.end("garbled");
    };
    early.handOver((chunk) => {
      if (!session.isEnded) this.#guard(session, () => read(chunk));
    });
    request.on("end", () => session.end("closed"));
    response.on("close", () => session.end("closed"));
  }

  #refuse(response: ServerResponse, refused: Refused): void {
    const { status, reason } = refused;
    const { metrics } = this.#options;
    metrics.count("pingress_controller_stream_refusals_total", { status: String(status) });
    const { socket, req: { headers } } = response;
    const isNews = refused !== DRAINING && refused !== NOT_LEADING && !socket?.destroyed;
    if (isNews) this.#refused.refused(socket?.remoteAddress ?? "", headers["user-agent"], refused);
    const cut = setTimeout(() => socket?.destroy(), REFUSAL_PATIENCE);
    socket?.once("close", () => clearTimeout(cut));
    response.writeHead(status, {
      "content-type": "text/plain; charset=utf-8",
      connection: "close",
      ...(status === 405 ? { allow: "POST" } : {}),
      ...(status === 426 ? { upgrade: `pingress/${STREAM_PROTOCOL}` } : {}),
    });
    response.end(`${reason}\n`, () => socket?.destroySoon());
  }

  #listen(): SessionListener {
    const { metrics, log, onClaim, onNews } = this.#options;
    return {
      greeted: (session) => {
        const { name: proxy, peer, zone, build, identity: { node } } = session;
        log.info("Proxy connected", { proxy, peer, node, zone, build });
      },
      sent: (kind) => metrics.count("pingress_controller_stream_updates_total", { kind }),
      applied(_session, milliseconds) {
        if (milliseconds !== null) {
          metrics.time("pingress_controller_stream_propagation_seconds", milliseconds);
        }
        onNews();
      },
      refused({ name: proxy, build }, { code, reason }, isNews) {
        metrics.count("pingress_controller_stream_refused_updates_total", { code });
        onNews();
        // Each version is an update, so what is refused for long is refused often.
        if (!isNews) return;
        // That another replica has seen more is mended by seeing it too.
        const level = code === "older" ? "info" : "warn";
        log[level]("A proxy rejected an update", { proxy, build, code, reason });
      },
      lost({ name: proxy }, reason) {
        metrics.count("pingress_controller_stream_lost_total");
        log.info("A proxy requested a full snapshot", { proxy, reason });
      },
      claimed: (session, version) => onClaim(version, session.name),
      token: (session, { token }) => void this.#renew(session, token),
      ended: (session, end) => this.#ended(session, end),
    };
  }

  /** A token that cannot be checked now changes nothing: the one before is good until its end. */
  async #renew(session: Session, token: Secret): Promise<void> {
    const verdict = await this.#options.reviews.review(token, session.peer);
    if (verdict.kind === "unknown") return;
    const isSame = verdict.kind === "good" && verdict.identity.podUid === session.identity.podUid;
    if (!isSame) return session.end("expired");
    session.expiresAt = Math.max(session.expiresAt, verdict.expiresAt);
    this.#unwatched?.shown(session, token);
  }

  #ended(session: Session, end: SessionEnd): void {
    if (!this.#sessions.delete(session)) return;
    const { metrics, log, onNews } = this.#options;
    this.#bytesBefore += session.bytes;
    metrics.count("pingress_controller_stream_ends_total", { reason: end });
    log.info("Proxy disconnected", { proxy: session.name, reason: end });
    onNews();
  }
}

const DRAINING: Refused = { status: 503, reason: "this controller ends; another one serves" };
const POD_GONE: Refused = { status: 401, reason: "the pod that the token is bound to is gone" };
const NOT_LEADING: Refused = { status: 503, reason: "this controller does not lead" };
const FULL: Refused = {
  status: 503,
  reason: "this controller serves the maximum number of proxies",
};
