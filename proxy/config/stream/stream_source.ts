/**
 * Snapshots from the controller. In: the lines of a stream. Out: each snapshot that they make is
 * offered to come into force, and what became of it is reported back.
 *
 * What was refused is the base of the next change all the same. What does not fit is asked for
 * anew, as a whole; meanwhile, and for as long as no controller answers, what is in force stays.
 */
import type { Logger } from "../../../shared/log.ts";
import type { ConfigProblem } from "../../../shared/snapshot/parse.ts";
import { type Snapshot, SNAPSHOT_FORMAT } from "../../../shared/snapshot/types.ts";
import {
  type AppliedReport,
  type DeltaMessage,
  type HelloUpdate,
  readUpdate,
  type RefusalCode,
  reportLine,
  type SameMessage,
  type SnapshotMessage,
} from "../../../shared/stream/messages.ts";
import { ReceivedContent, type Taken } from "../../../shared/stream/received.ts";
import type { SocketObstacle } from "../../../shared/stream/socket_obstacle.ts";
import { VERSION } from "../../../shared/version.ts";
import type { ControllerAddress } from "./controller_address.ts";
import { isEmpty } from "../guard.ts";
import type { ActiveSnapshot } from "../active_snapshot.ts";
import { ConfigLog } from "../config_log.ts";
import { ControllerLink, type ControllerLinkOptions, type LinkUser } from "./controller_link.ts";
import type { LinkFailure } from "./failure.ts";
import { StreamStats } from "./stream_stats.ts";
import type { Secret } from "../../../shared/redacted.ts";

export interface StreamSourceOptions
  extends Pick<ControllerLinkOptions, "address" | "files" | "times" | "pace" | "maxLine"> {
  readonly inForce: ActiveSnapshot;
  readonly log: Logger;
  /** Told of the zone that the controller knows for this proxy's node. */
  readonly onZone: (zone: string) => void;
  /** Sockets that cannot be opened for what is in force. */
  readonly obstacles: () => readonly SocketObstacle[];
  /** Told of each update that is refused, for counters. */
  readonly onRefused: () => void;
  /** Told why there is no stream. */
  readonly onDown: (reason: string) => void;
  /** Monotonic, in ms. */
  readonly now?: () => number;
}

/** What people are shown of the stream. */
export interface StreamState {
  readonly address: ControllerAddress;
  /** Who serves it; null while there is none. */
  readonly controller: { readonly name: string; readonly build: string } | null;
  /** Why there is none; null while there is one, and before the first attempt has ended. */
  readonly down: string | null;
  readonly zone: string | null;
  /** The last update, where it was refused. */
  readonly refused: { readonly code: RefusalCode; readonly reason: string } | null;
  /** In ms; null for never. */
  readonly syncAge: number | null;
}

type ContentMessage = SnapshotMessage | DeltaMessage | SameMessage;

export class StreamSource {
  readonly figures: StreamStats;
  readonly #options: StreamSourceOptions;
  readonly #link: ControllerLink;
  readonly #said: ConfigLog;
  /** What the controller believes to be here. */
  #received = new ReceivedContent();
  /** What was in force when the stream began, as the controller was told. */
  #begun: { readonly snapshot: Snapshot; readonly hash: string } | null = null;
  /** Counts streams, so that reports go to the one that they are for. */
  #generation = 0;
  /** What was reported last as applied, and over which stream. */
  #reported: {
    readonly applied: Pick<AppliedReport, "version" | "hash">;
    readonly obstacles: string;
    readonly generation: number;
  } | null = null;
  /** Updates that are accepted, and not applied everywhere yet. */
  #applying = 0;
  /** All is asked for anew: changes are of no use until it comes. */
  #isLost = false;
  /** Nothing is served by what came last, in force or not. */
  #wasEmpty = false;
  #controller: StreamState["controller"] = null;
  #down: string | null = null;
  #zone: string | null = null;
  #refused: StreamState["refused"] = null;
  /** Kinds of messages, and of problems, that were told of. */
  readonly #unknown = new Set<string>();
  readonly #told = new Set<string>();

  constructor(options: StreamSourceOptions) {
    this.#options = options;
    this.figures = new StreamStats(options.now ?? (() => performance.now()));
    const { address, files, times, pace, maxLine, log } = options;
    const controller = `${address.hostname}:${address.port}`;
    this.#said = new ConfigLog(log, { controller }, 1000);
    const user: LinkUser = {
      hello: () => this.#hello(),
      alive: (token) => this.#alive(token),
      take: (line) => this.#take(line),
      down: (failure) => this.#isDown(failure),
    };
    this.#link = new ControllerLink({ address, files, times, pace, maxLine, log, user });
  }

  /** Begins to connect; whatever goes wrong is logged and tried again. */
  start(): void {
    this.#link.start();
  }

  /** Nothing is offered after it. Settles when nothing is open any more. */
  async stop(): Promise<void> {
    this.#said.close();
    await this.#link.stop();
  }

  get state(): StreamState {
    return {
      address: this.#options.address,
      controller: this.#controller,
      down: this.#down,
      zone: this.#zone,
      refused: this.#refused,
      syncAge: this.figures.scraped.syncAge,
    };
  }

  #hello(): string {
    const { version, hash, content } = this.#options.inForce;
    this.#generation++;
    this.#isLost = false;
    this.#begun = content === null || hash === null ? null : { snapshot: content.snapshot, hash };
    if (content !== null && this.#received.hash !== hash) {
      this.#received = ReceivedContent.from(content);
    }
    const formats = [SNAPSHOT_FORMAT];
    return reportLine({ kind: "hello", proxy: VERSION, formats, version, hash });
  }

  #alive(token: Secret): string {
    const { version, hash } = this.#options.inForce;
    return reportLine({ kind: "alive", token, version, hash });
  }

  #isDown({ message }: LinkFailure): void {
    this.figures.down();
    this.#controller = null;
    this.#down = message;
    this.#options.onDown(message);
  }

  #take(line: string): void {
    const read = readUpdate(line);
    if (!read.ok) return this.#lost(read.reason);
    const { message } = read;
    switch (message.kind) {
      case "hello":
        this.#greeted(message);
        break;
      case "ping":
        this.figures.heard();
        break;
      case "bye":
        this.#link.end({
          key: "bye",
          message: message.reason || "the controller ends",
          remedy: "",
        });
        break;
      case "unknown":
        this.#ignore(message.name);
        break;
      default:
        this.#update(message);
    }
  }

  #greeted({ controller, build, zone }: HelloUpdate): void {
    const { log, address: { hostname, port } } = this.#options;
    this.#controller = { name: controller, build };
    this.#down = null;
    this.figures.connected();
    log.info("Stream from the controller", {
      controller: `${hostname}:${port}`,
      served: controller,
      build,
      zone,
    });
    // A node does not move: a replica that cannot tell its zone now does not know better.
    if (zone === null) return;
    this.#zone = zone;
    this.#options.onZone(zone);
  }

  #ignore(kind: string): void {
    if (this.#unknown.has(kind) || this.#unknown.size >= MAX_TOLD) return;
    this.#unknown.add(kind);
    this.#options.log.warn("Unknown message from the controller", {
      kind,
      consequence: "it is ignored; the controller may be newer than the proxy",
    });
  }

  #update(message: ContentMessage): void {
    if (this.#isLost && message.kind !== "snapshot") return;
    const taken = message.kind === "same" ? this.#same(message) : this.#received.take(message);
    const { version, hash } = message;
    if (!taken.ok) {
      if (taken.kind === "lost") {
        this.figures.update(message.kind, "lost");
        return this.#lost(taken.reason);
      }
      this.#isLost = false;
      return this.#refuse(message, "invalid", taken.reason);
    }
    this.#isLost = false;
    // A change that takes no route away is no reason for those in force to go.
    const isWhole = message.kind !== "delta" || this.#wasEmpty;
    this.#wasEmpty = isEmpty(taken.snapshot);
    const verdict = this.#options.inForce.takeStream(
      taken.snapshot,
      hash,
      isWhole,
      taken.change,
    );
    if (verdict.kind === "refused") return this.#refuse(message, verdict.code, verdict.reason);
    this.#refused = null;
    this.#said.accepted();
    this.#said.badParts(this.#fresh(taken.problems));
    this.#link.worked();
    const generation = this.#generation;
    this.#applying++;
    verdict.applied.then(() => {
      this.#applying--;
      this.figures.update(message.kind, "applied");
      if (generation === this.#generation) this.#reportApplied({ version, hash });
    });
  }

  /** An obstacle may go, or come, long after the update that it is about was applied. */
  socketsChanged(): void {
    // What is being applied is reported with the obstacles of then.
    if (this.#reported?.generation !== this.#generation || this.#applying > 0) return;
    const { applied, obstacles } = this.#reported;
    // A file has brought something later.
    if (this.#options.inForce.hash !== applied.hash) return;
    if (JSON.stringify(this.#options.obstacles()) !== obstacles) this.#reportApplied(applied);
  }

  #reportApplied(applied: Pick<AppliedReport, "version" | "hash">): void {
    const obstacles = this.#options.obstacles();
    const { version, hash } = applied;
    this.#reported = {
      applied,
      obstacles: JSON.stringify(obstacles),
      generation: this.#generation,
    };
    this.#link.send(reportLine({ kind: "applied", version, hash, obstacles }));
  }

  /** What was in force when the stream began, under the version of now. */
  #same({ version, hash }: SameMessage): Taken {
    const begun = this.#begun;
    if (begun === null || begun.hash !== hash) {
      return { ok: false, kind: "lost", reason: "it does not have that content" };
    }
    return {
      ok: true,
      snapshot: { ...begun.snapshot, version },
      change: null,
      version,
      hash,
      problems: [],
    };
  }

  /**
   * Problems of a kind that no update has had before. A newer controller's field is in every part,
   * and would be told of with each change.
   */
  #fresh(problems: readonly ConfigProblem[]): ConfigProblem[] {
    return problems.filter(({ path, message }) => {
      const kind = `${path.replace(/\[[^[\]]*\]/g, "[]")} ${
        message.replace(/, here and in .*/, "")
      }`;
      if (this.#told.has(kind) || this.#told.size >= MAX_TOLD) return false;
      this.#told.add(kind);
      return true;
    });
  }

  #refuse({ kind, version, hash }: ContentMessage, code: RefusalCode, reason: string): void {
    this.figures.update(kind, "refused");
    this.#options.onRefused();
    // Each version is an update, so what is refused for long is refused often.
    const isSaid = this.#refused?.code === code && this.#refused.reason === reason;
    this.#refused = { code, reason };
    this.#link.worked();
    if (!isSaid) this.#tellRefusal(code, reason);
    this.#link.send(reportLine({ kind: "refused", version, hash, reason, code }));
  }

  #tellRefusal(code: RefusalCode, reason: string): void {
    const { log, inForce } = this.#options;
    if (code === "older") {
      // Replicas of the controller differ by moments: it is told, catches up, and sends it anew.
      const served = this.#controller?.name;
      return log.info("Configuration of the stream is not newer", { controller: served, reason });
    }
    const problem: ConfigProblem = {
      path: "$",
      message: reason,
      remedy: REMEDIES[code],
      severity: "error",
    };
    this.#said.refused([problem], inForce.current !== null);
  }

  /** Asks for all anew; where that is of no use either, by another stream. */
  #lost(reason: string): void {
    if (this.#isLost) {
      return this.#link.fail({
        key: "lost",
        message: `the controller's message cannot be read: ${reason}`,
        remedy: "run proxy and controller of versions that understand each other",
      });
    }
    this.#isLost = true;
    this.#options.log.warn("Delta does not apply, requesting a full snapshot", { reason });
    this.#link.send(reportLine({ kind: "lost", reason }));
  }
}

/** A peer does not fill memory and log with ever new ones. */
const MAX_TOLD = 100;

const REMEDIES: Readonly<Record<Exclude<RefusalCode, "older">, string>> = {
  empty: "check why the controller has no routes; if that is intended, the files say so too",
  invalid:
    "see the controller's log; run proxy and controller of versions that understand each other",
  loss: "if that is intended, restart the proxy, or remove the routes in several steps",
  failed: "see the proxy's log; the next change is tried as well",
};
