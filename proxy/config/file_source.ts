/**
 * Where the proxy's snapshots come from. In: a configuration file and folders to watch. Out: each
 * new snapshot, once; at run time whatever cannot be read leaves the last good one in force.
 *
 * A file that a controller has published names others that belong to it. It counts once all of
 * them are there, and is waited for until then.
 *
 * Events of the system make a change known at once: editors write or rename over the file, and
 * Kubernetes swaps the link `..data` beside it. Where they do not come (network file systems, links
 * that lead elsewhere) the file is looked at every two seconds.
 */
import { createHash } from "node:crypto";
import { dirname, resolve } from "node:path";
import type { Logger } from "../../shared/log.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { type ConfigProblem, parseSnapshot } from "../../shared/snapshot/parse.ts";
import { type FileReading, stampOf } from "./config_file.ts";
import { ConfigFormats, isMissing } from "./config_formats.ts";
import { FolderWatch, type WatchedFolder } from "./folder_watch.ts";
import { readPublishedSet, withKeys } from "./published_set.ts";
import type { Objection } from "./guard.ts";
import { ConfigLog } from "./config_log.ts";
import type { Secret } from "../../shared/redacted.ts";

export interface FileSourceOptions {
  /** With the name `proxy.json`, that of a later format beside it is read as well. */
  readonly file: string;
  /** Folders beside the file's own, with all folders in them. */
  readonly watch: readonly string[];
  /** See `ParseOptions`. */
  readonly clusterDomain?: string;
  /** What speaks against a snapshot that was read, null for nothing. */
  readonly objectionTo: (snapshot: Snapshot) => Objection | null;
  /** At the start, a file that does not exist is waited for. */
  readonly awaitFile?: boolean;
  readonly log: Logger;
  /**
   * Called with each new snapshot, the first one from within `load`, and again with the same one
   * when a file that its certificates name has changed. What it throws then is logged.
   */
  readonly onSnapshot: (snapshot: Snapshot) => void;
  /**
   * Told of each reading that is refused, or not taken by `onSnapshot`, for counters; and of one
   * that stays incomplete for longer than `patience`.
   */
  readonly onRefused?: () => void;
  /** Told why there is no snapshot yet, whenever that is found; never after the first one. */
  readonly onNone?: (reason: string) => void;
  /** Milliseconds from the first sign of a change to reading; default 50, for files in the making. */
  readonly settle?: number;
  /** Milliseconds between looks at the file where events do not come; default 2000. */
  readonly poll?: number;
  /** Milliseconds from one refusal that is logged to the next; default 1000. */
  readonly refusalInterval?: number;
  /**
   * Milliseconds for which a configuration may be incomplete before that is an error; default
   * 120,000: the kubelet looks about once a minute, with what it knew then.
   */
  readonly patience?: number;
}

export type LoadResult =
  | { readonly ok: true; readonly snapshot: Snapshot }
  | {
    readonly ok: false;
    /** What is lacking may still come: `start`, and it is followed. */
    readonly waits: boolean;
    /** File, JSON path, the first problem and its remedy in one line. */
    readonly message: string;
    /** All of them; they have been logged. */
    readonly problems: readonly ConfigProblem[];
  };

/** What became of one reading. */
type Outcome =
  | { readonly kind: "read"; readonly snapshot: Snapshot; readonly keys: Keys }
  | { readonly kind: "refused" }
  /** Nothing is wrong, and a later configuration is active. */
  | { readonly kind: "late" }
  /** `lacks`: what has to come first. */
  | { readonly kind: "incomplete"; readonly lacks: string };

/** Its outcome, with what is wrong in it. */
type Judgement = Outcome & { readonly problems: readonly ConfigProblem[] };

type Keys = ReadonlyMap<string, Secret>;

const NO_KEYS: Keys = new Map();

/** Files of certificates that one poll looks at, so that thousands of them cost little. */
const STAMPS_PER_POLL = 100;

export class FileSource {
  #options: FileSourceOptions;
  #file: string;
  readonly #formats: ConfigFormats;
  #watch: FolderWatch;
  #good: Snapshot | null = null;
  #goodHash = "";
  /** Hash of what was last read, good or not, or the reason why it could not be. */
  #last = "";
  /** Of the good snapshot's certificates, by hash. */
  #keys = NO_KEYS;
  #isRefused = false;
  /** While what was last read is incomplete: since when, and whether that is an error by now. */
  #waiting: { readonly since: number; overdue: boolean } | null = null;
  #said: ConfigLog;
  #first = Promise.withResolvers<void>();
  /** Whether the last reading found no file. */
  #missed = false;
  /** Of the configuration file, before it was last read. */
  #stamp = "";
  /** Of the files that the certificates of the good snapshot name. */
  #certificateStamps = new Map<string, string>();
  #nextStamp = 0;
  #settleTimer: ReturnType<typeof setTimeout> | undefined;
  #pollTimer: ReturnType<typeof setTimeout> | undefined;
  /** The reading or polling that is under way; there is one at a time. */
  #work: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#file = resolve(options.file);
    this.#formats = new ConfigFormats(this.#file);
    const { log, refusalInterval = 1000 } = options;
    this.#said = new ConfigLog(log, { file: options.file }, refusalInterval);
    this.#watch = new FolderWatch(
      foldersToWatch(this.#file, options.watch),
      () => this.#changed(),
      options.log,
    );
  }

  /** Relative paths in the snapshot are relative to this folder. */
  get folder(): string {
    return dirname(this.#file);
  }

  /** Whether what was last read was rejected, or has been incomplete for too long. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Resolves once a snapshot has been taken by `onSnapshot`. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  /** Reads for the first time; what `onSnapshot` throws is thrown here. */
  async load(): Promise<LoadResult> {
    this.#last = "";
    const problems = await this.#read(await this.#formats.read());
    if (this.#good !== null) {
      this.#options.onSnapshot(this.#good);
      this.#first.resolve();
      return { ok: true, snapshot: this.#good };
    }
    const { path, message, remedy } = problems.find(({ severity }) => severity === "error") ?? LATE;
    const line = `configuration ${this.#options.file}: ${path}: ${message}; ${remedy}`;
    return { ok: false, waits: this.#waiting !== null, message: line, problems };
  }

  /** Begins to watch, after `load`; what has changed since then is found. */
  start(): void {
    this.#schedulePoll(0);
  }

  /** No call of `onSnapshot` comes after it. Settles when nothing is open any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#settleTimer);
    clearTimeout(this.#pollTimer);
    this.#said.close();
    await this.#watch.close();
    await this.#work;
  }

  /** Something may have changed: reads when it has had time to settle. */
  #changed(): void {
    if (this.#stopped || this.#settleTimer !== undefined) return;
    this.#settleTimer = setTimeout(() => {
      this.#settleTimer = undefined;
      this.#enqueue(() => this.#reload());
    }, this.#options.settle ?? 50);
  }

  #schedulePoll(delay: number): void {
    if (this.#stopped) return;
    this.#pollTimer = setTimeout(() => {
      this.#enqueue(() => this.#look());
      this.#enqueue(() => this.#schedulePoll(this.#options.poll ?? 2000));
    }, delay);
  }

  #enqueue(work: () => Promise<void> | void): void {
    this.#work = this.#work
      .then(() => this.#stopped ? undefined : work())
      .catch((error) => {
        this.#options.log.error("Cannot follow configuration", { file: this.#options.file, error });
      });
  }

  async #look(): Promise<void> {
    await this.#watch.check();
    if (await this.#looksChanged()) this.#changed();
  }

  async #looksChanged(): Promise<boolean> {
    // What is lacking may come without a change of what is there.
    if (this.#waiting !== null) return true;
    if (await this.#formats.stamp() !== this.#stamp) return true;
    const files = [...this.#certificateStamps.keys()];
    for (let i = 0; i < Math.min(files.length, STAMPS_PER_POLL); i++) {
      const file = files[this.#nextStamp++ % files.length];
      if (await stampOf(file) !== this.#certificateStamps.get(file)) return true;
    }
    return false;
  }

  async #reload(): Promise<void> {
    const before = this.#good;
    const reading = await this.#formats.read();
    // A kubelet removes the links of one format some moments before it makes those of another.
    const isFirstMiss = isMissing(reading) && !this.#missed;
    this.#missed = isMissing(reading);
    if (isFirstMiss && before !== null) return this.#changed();
    await this.#read(reading);
    const filesChanged = this.#good === before && await this.#stampCertificates();
    if (this.#stopped || this.#good === null || (this.#good === before && !filesChanged)) return;
    try {
      this.#options.onSnapshot(this.#good);
      this.#first.resolve();
    } catch (error) {
      this.#isRefused = true;
      this.#options.onRefused?.();
      this.#options.log.error("Cannot apply configuration", { file: this.#options.file, error });
    }
  }

  /** Takes a reading: a new good snapshot stands in `#good` afterwards. Returns what refused it. */
  async #read(reading: FileReading): Promise<readonly ConfigProblem[]> {
    this.#stamp = reading.stamp;
    const content = reading.ok ? hashOf(reading.text) : `! ${reading.message}`;
    // One that was incomplete may be whole now.
    if (content === this.#last && this.#waiting === null) return [];
    this.#last = content;
    if (content === this.#goodHash) {
      this.#accepted();
      return [];
    }
    const judgement = reading.ok ? await this.#judge(reading.text) : this.#judgeMissing(reading);
    const { problems } = judgement;
    if (judgement.kind === "incomplete") {
      this.#wait(judgement.lacks);
      return [unreadable({ message: judgement.lacks, remedy: AWAITED })];
    }
    if (judgement.kind === "refused") {
      this.#waiting = null;
      this.#isRefused = true;
      this.#said.refused(problems, this.#good !== null);
      this.#options.onRefused?.();
      this.#tellNone(problems.find(({ severity }) => severity === "error")!.message);
      return problems;
    }
    this.#accepted();
    if (judgement.kind === "late") return [];
    this.#said.badParts(problems);
    this.#good = judgement.snapshot;
    this.#keys = judgement.keys;
    this.#goodHash = content;
    await this.#stampCertificates();
    return [];
  }

  #judgeMissing(reading: Exclude<FileReading, { ok: true }>): Judgement {
    return reading.missing && this.#options.awaitFile === true && this.#good === null
      ? { kind: "incomplete", lacks: reading.message, problems: [] }
      : { kind: "refused", problems: [unreadable(reading)] };
  }

  async #judge(text: string): Promise<Judgement> {
    const options = { clusterDomain: this.#options.clusterDomain };
    let parsed = parseSnapshot(text, options);
    let keys = NO_KEYS;
    if (parsed.set !== null && (parsed.snapshot !== null || parsed.set.sha256 !== null)) {
      const set = await readPublishedSet(this.folder, parsed.set, this.#keys);
      if (set.kind === "incomplete") return { ...set, problems: [] };
      if (set.kind === "unusable") return { kind: "refused", problems: [unreadable(set)] };
      if (set.text !== null) parsed = parseSnapshot(set.text, options);
      keys = set.keys;
    }
    if (parsed.snapshot === null) return { kind: "refused", problems: parsed.problems };
    const objection = this.#options.objectionTo(parsed.snapshot);
    if (objection?.isLate) return { kind: "late", problems: [] };
    if (objection !== null) return { kind: "refused", problems: [objection.problem] };
    const snapshot = withKeys(parsed.snapshot, keys);
    return { kind: "read", snapshot, keys, problems: parsed.problems };
  }

  /** What is read is incomplete. Nobody is told twice, but where it stays so. */
  #wait(lacks: string): void {
    const { onRefused, patience = 120_000 } = this.#options;
    const now = performance.now();
    if (this.#waiting === null) {
      this.#waiting = { since: now, overdue: false };
      this.#said.incomplete(lacks, this.#good !== null);
    } else if (!this.#waiting.overdue && now - this.#waiting.since >= patience) {
      this.#waiting.overdue = true;
      this.#isRefused = true;
      this.#said.overdue(lacks, this.#good !== null);
      onRefused?.();
    }
    this.#tellNone(lacks);
  }

  #tellNone(reason: string): void {
    if (this.#good === null) this.#options.onNone?.(reason);
  }

  #accepted(): void {
    this.#waiting = null;
    this.#isRefused = false;
    this.#said.accepted();
  }

  /** Notes the stamps of the good snapshot's files anew; whether one differs. */
  async #stampCertificates(): Promise<boolean> {
    const stamps = new Map<string, string>();
    for (const { chain, key } of this.#good?.certificates ?? []) {
      for (const pem of [chain, key]) {
        if (pem.kind !== "file") continue;
        const path = resolve(this.folder, pem.path);
        stamps.set(path, await stampOf(path));
      }
    }
    const before = this.#certificateStamps;
    this.#certificateStamps = stamps;
    return [...stamps].some(([path, stamp]) => before.get(path) !== stamp);
  }
}

function foldersToWatch(file: string, watch: readonly string[]): WatchedFolder[] {
  const folders = new Map<string, WatchedFolder>();
  // Not with what is in it: the file may stand in a folder such as / or a home.
  folders.set(dirname(file), { path: dirname(file), recursive: false });
  for (const path of watch.map((folder) => resolve(folder))) {
    folders.set(path, { path, recursive: true });
  }
  return [...folders.values()];
}

/** Told of by nobody: a first reading that comes too late. */
const LATE = { path: "$", message: "a later configuration is active", remedy: "none is needed" };

const AWAITED = "it is applied once it is complete";

function unreadable(reading: { message: string; remedy: string }): ConfigProblem {
  return { path: "$", message: reading.message, remedy: reading.remedy, severity: "error" };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
