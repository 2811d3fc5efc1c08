/**
 * One proxy's stream. In: what the proxy reports, what there is to tell, and the time. Out: lines: the
 * configuration whole, then what has changed; a ping where there is nothing to say; and a word before
 * the end.
 *
 * While a proxy reads slowly nothing is queued for it: when it has read, it gets one change from what
 * it was sent last to the newest.
 */
import { SNAPSHOT_FORMAT, type SnapshotVersion } from "../../shared/snapshot/types.ts";
import { compareVersions, type VersionOrder } from "../../shared/snapshot/version_order.ts";
import type { Content } from "../../shared/stream/content.ts";
import {
  type HelloReport,
  type RefusalCode,
  type Report,
  updateLine,
} from "../../shared/stream/messages.ts";
import type { SocketObstacle } from "../../shared/stream/socket_obstacle.ts";
import { TokenBucket } from "../outputs/write/token_bucket.ts";
import type { Outlet } from "./outlet.ts";
import type { ProxyIdentity } from "./token_reviews.ts";
import type { Updates } from "./updates.ts";

/** In milliseconds. */
export interface SessionTiming {
  readonly heartbeat: number;
  /** Until the first report. */
  readonly hello: number;
  /** Without a report. */
  readonly silence: number;
  /** Without anything being read of what was sent. */
  readonly stall: number;
  /** Until the proxy is asked to connect anew, a tenth more or less. */
  readonly age: number;
  /** Between two whole configurations to a proxy that is lost. */
  readonly wholeInterval: number;
  /** Between two reasons for one kind of refusal that people are told. */
  readonly reason: number;
  /** Until a proxy that has more than a replica which is cut off is sent elsewhere. */
  readonly behind: number;
}

/** Reports a second, and at once. */
const REPORTS = { rate: 50, burst: 500 };

/** Updates whose way is measured. */
const MAX_PENDING = 64;

/** Why a stream has ended; `behind`: we are; `failed`: by a mistake of ours. */
export type SessionEnd =
  | "closed"
  | "replaced"
  | "aged"
  | "draining"
  | "behind"
  | "silent"
  | "slow"
  | "expired"
  | "pod_gone"
  | "flooding"
  | "garbled"
  | "failed";

/** What is in force in a proxy. */
export interface InForce {
  readonly version: SnapshotVersion | null;
  readonly hash: string | null;
}

/** Why an update was refused, and when that was said; on the monotonic clock, in ms. */
export interface ToldReason {
  readonly reason: string;
  readonly at: number;
}

/** The last update that a proxy would not take. */
export interface Refusal {
  readonly version: SnapshotVersion;
  readonly hash: string;
  readonly code: RefusalCode;
  /** Of the last update. */
  readonly reason: string;
  /** What people are told: the reason of a while ago, since each update may have another. */
  readonly told: ToldReason;
  /** Since when it refuses with this code, one update or many; on the monotonic clock, in ms. */
  readonly at: number;
}

export interface SessionListener {
  /** The first report has come. */
  readonly greeted: (session: Session) => void;
  readonly sent: (kind: "snapshot" | "delta" | "same") => void;
  /** @param milliseconds From the reconciliation that an update is of; null for a first one. */
  readonly applied: (session: Session, milliseconds: number | null) => void;
  /** @param isNews Whether people are to be told. */
  readonly refused: (session: Session, refusal: Refusal, isNews: boolean) => void;
  readonly lost: (session: Session, reason: string) => void;
  /** The proxy has this in force. */
  readonly claimed: (session: Session, version: SnapshotVersion) => void;
  /** It shows another token. */
  readonly token: (session: Session, report: Report & { readonly kind: "alive" }) => void;
  readonly ended: (session: Session, end: SessionEnd) => void;
}

export interface SessionOptions {
  readonly outlet: Outlet;
  readonly updates: Updates;
  readonly identity: ProxyIdentity;
  /** An IP address. */
  readonly peer: string;
  /** Of its node; null where that is not known. */
  readonly zone: string | null;
  /** Who we are. */
  readonly controller: string;
  readonly build: string;
  /** When its token ends, on the monotonic clock in ms. */
  readonly expiresAt: number;
  readonly timing: SessionTiming;
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Whether we have heard nothing of the API server for so long that others know more. */
  readonly isCutOff: () => boolean;
  readonly listener: SessionListener;
}

export class Session {
  readonly identity: ProxyIdentity;
  readonly peer: string;
  readonly zone: string | null;
  /** On the monotonic clock, in ms. */
  readonly openedAt: number;
  /** When its token ends. */
  expiresAt: number;
  readonly #options: SessionOptions;
  readonly #endsAt: number;
  readonly #reports: TokenBucket;
  #hello: HelloReport | null = null;
  #inForce: InForce = { version: null, hash: null };
  #refusal: Refusal | null = null;
  #obstacles: readonly SocketObstacle[] = [];
  readonly #told = new Map<RefusalCode, ToldReason>();
  #sent: Content | null = null;
  /** Whether nothing but the whole will do. */
  #isLost = false;
  #wholeAt = -Infinity;
  /** What was sent and not answered: its hash, and since when it is on its way. */
  readonly #pending: { readonly hash: string; readonly since: number | null }[] = [];
  #heardAt: number;
  #saidAt: number;
  #syncedAt: number | null = null;
  #isEnded = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { identity, peer, zone, expiresAt, timing, now, random } = options;
    this.identity = identity;
    this.peer = peer;
    this.zone = zone;
    this.expiresAt = expiresAt;
    this.openedAt = this.#heardAt = this.#saidAt = now();
    this.#endsAt = this.openedAt + timing.age * (0.9 + random() / 5);
    this.#reports = new TokenBucket(REPORTS.rate, REPORTS.burst, this.openedAt);
    const { controller, build } = options;
    const { heartbeat } = timing;
    this.#say({ kind: "hello", controller, build, heartbeat, zone });
  }

  /** Its pod, or else its address. */
  get name(): string {
    return this.identity.pod ?? this.peer;
  }

  /** Of its build; null before its first report. */
  get build(): string | null {
    return this.#hello?.proxy ?? null;
  }

  get inForce(): InForce {
    return this.#inForce;
  }

  /** Null where it has taken what was sent last. */
  get refusal(): Refusal | null {
    return this.#refusal;
  }

  /**
   * Sockets of listeners that it cannot open, of what it has in force; sorted. None before it has
   * reported an update as applied, and from proxies of versions before listeners had sockets.
   */
  get obstacles(): readonly SocketObstacle[] {
    return this.#obstacles;
  }

  /** Whether it has in force what we would have it have. */
  get isInSync(): boolean {
    const { current } = this.#options.updates;
    return current !== null && this.#hello !== null && this.#inForce.hash === current.hash;
  }

  /** When something was in force last that was the newest then, on the monotonic clock; or null. */
  get syncedAt(): number | null {
    return this.#syncedAt;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get bytes(): number {
    return this.#options.outlet.bytes;
  }

  /** Bytes that wait until the proxy reads what came before. */
  get unsent(): number {
    return this.#options.outlet.unsent;
  }

  receive(report: Report): void {
    if (this.#isEnded) return;
    const { now, listener } = this.#options;
    this.#heardAt = now();
    if (this.#reports.take(this.#heardAt) > 0) return this.end("flooding");
    if (report.kind === "hello" ? this.#hello !== null : this.#hello === null) {
      return this.end("garbled");
    }
    switch (report.kind) {
      case "hello":
        this.#hello = report;
        this.#has(report);
        listener.greeted(this);
        return this.push();
      case "applied":
        this.#has(report);
        this.#refusal = null;
        this.#obstacles = report.obstacles ?? [];
        return listener.applied(this, this.#answered(report.hash));
      case "refused":
        this.#answered(report.hash);
        return this.#refused(report);
      case "lost":
        this.#pending.length = 0;
        // Until it gets everything, nothing that it says of it is news.
        if (!this.#isLost) listener.lost(this, report.reason);
        this.#isLost = true;
        return this.push();
      case "alive":
        this.#has(report);
        return listener.token(this, report);
      case "unknown":
        return;
    }
  }

  #refused({ version, hash, code, reason }: Omit<Refusal, "told" | "at">): void {
    const before = this.#refusal;
    const at = before?.code === code ? before.at : this.#options.now();
    const { told, isNews } = this.#tell(code, reason);
    this.#refusal = { version, hash, code, reason, told, at };
    this.#options.listener.refused(this, this.#refusal, isNews);
  }

  /** The proxy cannot read what there is: it is not sent, and counts as rejected. */
  #withhold({ version, hash }: Content, formats: readonly number[]): void {
    if (this.#refusal?.hash === hash) return;
    const read = formats.length === 0 ? "no snapshot format" : `snapshot format ${formats.join()}`;
    const reason = `it reads ${read}, and this controller sends format ${SNAPSHOT_FORMAT}`;
    this.#refused({ version, hash, code: "invalid", reason });
  }

  /** Sends what is new, if there is anything and the proxy has read what came before. */
  push(): void {
    const { updates, outlet } = this.#options;
    const { current } = updates;
    if (this.#isEnded || this.#hello === null || current === null || !outlet.isFree) return;
    const { formats } = this.#hello;
    if (!formats.includes(SNAPSHOT_FORMAT)) return this.#withhold(current, formats);
    if (this.#sent === null && !this.#isLost && this.#hello.hash === current.hash) {
      return this.#send("same", updates.same(), current);
    }
    if (this.#sent === null || this.#isLost) {
      const now = this.#options.now();
      if (now - this.#wholeAt < this.#options.timing.wholeInterval) return;
      this.#wholeAt = now;
      return this.#send("snapshot", updates.whole(), current);
    }
    // Another version of the same can wait for the next ping, but not where the last was too old.
    const isUrgent = this.#sent.hash !== current.hash ||
      (this.#sent !== current && this.#refusal?.code === "older");
    if (isUrgent) this.#send("delta", updates.delta(this.#sent), current);
  }

  /** To be called every now and then, several times a heartbeat. */
  tick(): void {
    const { now: clock, timing, outlet, updates } = this.#options;
    const now = clock();
    if (this.#isEnded) return;
    if (now >= this.expiresAt) return this.end("expired");
    const patience = this.#hello === null ? timing.hello : timing.silence;
    if (now - this.#heardAt > patience) return this.end("silent");
    // Whoever never reads all of it has a time, too.
    if (now >= this.#endsAt) return this.end("aged");
    if (this.#isBehind(now)) return this.end("behind");
    if (!outlet.isFree) {
      return now - outlet.progressAt > timing.stall ? this.end("slow") : undefined;
    }
    this.push();
    if (!outlet.isFree || now - this.#saidAt < timing.heartbeat) return;
    const { current } = updates;
    const isOlder = this.#sent !== null && !this.#isLost && current !== null &&
      this.#sent !== current;
    if (isOlder) return this.#send("delta", updates.delta(this.#sent!), current);
    this.#say({ kind: "ping" });
  }

  /** Ends it, with a word where one can be said. */
  end(end: SessionEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { outlet, listener } = this.#options;
    if (end === "closed" || end === "slow" || end === "failed") outlet.destroy();
    else {
      if (outlet.isFree) this.#say({ kind: "bye", reason: REASONS[end] });
      outlet.end();
    }
    listener.ended(this, end);
  }

  /** What people are told of a refusal, and whether it is other than what they know. */
  #tell(code: RefusalCode, reason: string): { told: ToldReason; isNews: boolean } {
    const { now: clock, timing } = this.#options;
    const now = clock();
    const known = this.#told.get(code);
    const isKnown = known !== undefined && (now - known.at < timing.reason ||
      (known.reason === reason && this.#refusal !== null));
    const told = isKnown ? known : { reason, at: now };
    this.#told.set(code, told);
    return { told, isNews: !isKnown };
  }

  /**
   * Whether another replica may serve it better. While the API server answers us we catch up
   * instead; and where it has lost its memory, proxies are ahead of everybody.
   */
  #isBehind(now: number): boolean {
    const { timing, updates: { current }, isCutOff } = this.#options;
    const { version } = this.#inForce;
    if (version === null || current === null || now - this.openedAt < timing.behind) return false;
    return isCutOff() && AHEAD.has(compareVersions(version, current.version));
  }

  #has({ version, hash }: InForce): void {
    this.#inForce = { version, hash };
    if (this.isInSync) this.#syncedAt = this.#options.now();
    if (version !== null) this.#options.listener.claimed(this, version);
  }

  /** Milliseconds that it was on its way; null where that is not known. */
  #answered(hash: string): number | null {
    const at = this.#pending.findIndex((one) => one.hash === hash);
    if (at === -1) return null;
    const { since } = this.#pending.splice(0, at + 1)[at];
    return since === null ? null : this.#options.now() - since;
  }

  #send(kind: "snapshot" | "delta" | "same", line: Uint8Array, content: Content): void {
    const { outlet, listener, now, updates } = this.#options;
    const isNews = kind === "delta" && this.#sent?.hash !== content.hash;
    this.#sent = content;
    this.#isLost = false;
    if (this.#pending.length < MAX_PENDING) {
      this.#pending.push({ hash: content.hash, since: isNews ? updates.currentAt : null });
    }
    outlet.send(line);
    this.#saidAt = now();
    listener.sent(kind);
  }

  #say(message: Parameters<typeof updateLine>[0]): void {
    this.#options.outlet.send(encoder.encode(updateLine(message)));
    this.#saidAt = this.#options.now();
  }
}

/** How a version is to ours that has seen what we have not. */
const AHEAD: ReadonlySet<VersionOrder> = new Set(["newer", "mixed"]);

const REASONS: Readonly<Record<Exclude<SessionEnd, "closed" | "slow" | "failed">, string>> = {
  replaced: "the same proxy has opened another stream",
  aged: "it is time to reconnect",
  draining: "this controller ends",
  behind: "this controller is cut off from the API server, and has seen less than the proxy has",
  silent: "nothing was heard from the proxy",
  expired: "the proxy's token has expired or is not good any more",
  pod_gone: "the pod that the proxy's token is bound to is gone",
  flooding: "the proxy reports too often",
  garbled: "what the proxy says cannot be understood",
};

const encoder = new TextEncoder();
