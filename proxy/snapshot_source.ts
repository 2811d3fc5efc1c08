/**
 * Where the proxy's snapshots come from. In: a configuration file and folders to watch. Out: each
 * new snapshot, once; at run time whatever cannot be read leaves the last good one in force.
 *
 * Events of the system make a change known at once: editors write or rename over the file, and
 * Kubernetes swaps the link `..data` beside it. Where they do not come (network file systems, links
 * that lead elsewhere) the file is looked at every two seconds.
 */
import { createHash } from "node:crypto";
import { dirname, resolve } from "node:path";
import type { Logger } from "../shared/log.ts";
import type { Snapshot } from "../shared/snapshot.ts";
import {
  type ConfigProblem,
  type ParsedSnapshot,
  parseSnapshot,
} from "../shared/snapshot_parse.ts";
import { type FileReading, readConfigFile, stampOf } from "./config_file.ts";
import { FolderWatch, type WatchedFolder } from "./folder_watch.ts";
import { objectionTo } from "./snapshot_guard.ts";
import { answerUnspoken } from "./unspoken_protocols.ts";

export interface SnapshotSourceOptions {
  readonly file: string;
  /** Folders beside the file's own, with all folders in them. */
  readonly watch: readonly string[];
  /** See `ParseOptions`. */
  readonly clusterDomain?: string;
  /** See `objectionTo`. */
  readonly maxRouteLoss?: number;
  readonly log: Logger;
  /**
   * Called with each new snapshot, the first one from within `load`, and again with the same one
   * when a file that its certificates name has changed. What it throws then is logged.
   */
  readonly onSnapshot: (snapshot: Snapshot) => void;
  /** Told of each reading that is refused, or not taken by `onSnapshot`, for counters. */
  readonly onRefused?: () => void;
  /** Milliseconds from the first sign of a change to reading; default 50, for files in the making. */
  readonly settle?: number;
  /** Milliseconds between looks at the file where events do not come; default 2000. */
  readonly poll?: number;
  /** Milliseconds from one refusal that is logged to the next; default 1000. */
  readonly refusalInterval?: number;
}

export type LoadResult =
  | { readonly ok: true; readonly snapshot: Snapshot }
  | {
    readonly ok: false;
    /** File, JSON path, the first problem and its remedy in one line. */
    readonly message: string;
    /** All of them; they have been logged. */
    readonly problems: readonly ConfigProblem[];
  };

/** Problems of one reading that are logged; 10,000 lines help nobody. */
const MAX_LOGGED = 20;

/** Files of certificates that one poll looks at, so that thousands of them cost little. */
const STAMPS_PER_POLL = 100;

export class SnapshotSource {
  #options: SnapshotSourceOptions;
  #file: string;
  #watch: FolderWatch;
  #good: Snapshot | null = null;
  #goodHash = "";
  /** Hash of what was last read, good or not, or the reason why it could not be. */
  #last = "";
  /** A refusal has been logged, and no good reading came since. */
  #refused = false;
  /** What the last good reading had to say, so that it is said once. */
  #known = new Set<string>();
  /** Runs from one logged refusal to when the next may be. */
  #refusalTimer: ReturnType<typeof setTimeout> | undefined;
  /** Problems of the last refusal, until they may be logged. */
  #unsaid: readonly ConfigProblem[] | null = null;
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

  constructor(options: SnapshotSourceOptions) {
    this.#options = options;
    this.#file = resolve(options.file);
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

  /** Reads for the first time; what `onSnapshot` throws is thrown here. */
  async load(): Promise<LoadResult> {
    this.#last = "";
    const problems = await this.#read(await readConfigFile(this.#file));
    if (this.#good !== null) {
      this.#options.onSnapshot(this.#good);
      return { ok: true, snapshot: this.#good };
    }
    const { path, message, remedy } = problems.find(({ severity }) => severity === "error")!;
    const line = `configuration ${this.#options.file}: ${path}: ${message}; ${remedy}`;
    return { ok: false, message: line, problems };
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
    clearTimeout(this.#refusalTimer);
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
    if (await stampOf(this.#file) !== this.#stamp) return true;
    const files = [...this.#certificateStamps.keys()];
    for (let i = 0; i < Math.min(files.length, STAMPS_PER_POLL); i++) {
      const file = files[this.#nextStamp++ % files.length];
      if (await stampOf(file) !== this.#certificateStamps.get(file)) return true;
    }
    return false;
  }

  async #reload(): Promise<void> {
    const before = this.#good;
    await this.#read(await readConfigFile(this.#file));
    const filesChanged = this.#good === before && await this.#stampCertificates();
    if (this.#stopped || this.#good === null || (this.#good === before && !filesChanged)) return;
    try {
      this.#options.onSnapshot(this.#good);
    } catch (error) {
      this.#options.onRefused?.();
      this.#options.log.error("Cannot apply configuration", { file: this.#options.file, error });
    }
  }

  /** Takes a reading: a new good snapshot stands in `#good` afterwards. Returns what refused it. */
  async #read(reading: FileReading): Promise<readonly ConfigProblem[]> {
    this.#stamp = reading.stamp;
    const content = reading.ok ? hashOf(reading.text) : `! ${reading.message}`;
    if (content === this.#last) return [];
    this.#last = content;
    if (content === this.#goodHash) {
      this.#acceptedAgain();
      return [];
    }
    const { snapshot, problems } = reading.ok
      ? this.#parse(reading.text)
      : { snapshot: null, problems: [unreadable(reading)] };
    if (snapshot === null) {
      this.#refuse(problems);
      this.#options.onRefused?.();
      return problems;
    }
    const keys = problems.map(({ path, message }) => `${path} ${message}`);
    this.#log(problems.filter((_, index) => !this.#known.has(keys[index])), "bad part");
    this.#known = new Set(keys);
    this.#acceptedAgain();
    this.#good = snapshot;
    this.#goodHash = content;
    await this.#stampCertificates();
    return [];
  }

  #parse(text: string): ParsedSnapshot {
    const parsed = parseSnapshot(text, { clusterDomain: this.#options.clusterDomain });
    if (parsed.snapshot === null) return parsed;
    const objection = this.#good === null
      ? null
      : objectionTo(parsed.snapshot, this.#good, this.#options.maxRouteLoss ?? 0);
    if (objection !== null) return { ...parsed, snapshot: null, problems: [objection] };
    const { snapshot, unspoken } = answerUnspoken(parsed.snapshot);
    return {
      ...parsed,
      snapshot,
      problems: [...parsed.problems, ...unspoken.map(unspokenProtocol)],
    };
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

  /** Logs it now or soon: a file that is written slowly is many half-written ones. */
  #refuse(problems: readonly ConfigProblem[]): void {
    if (this.#refusalTimer !== undefined) {
      this.#unsaid = problems;
      return;
    }
    this.#refused = true;
    this.#log(problems, "refused");
    this.#refusalTimer = setTimeout(() => {
      this.#refusalTimer = undefined;
      const unsaid = this.#unsaid;
      this.#unsaid = null;
      if (unsaid !== null) this.#refuse(unsaid);
    }, this.#options.refusalInterval ?? 1000);
  }

  #acceptedAgain(): void {
    const { log, file } = this.#options;
    this.#unsaid = null;
    if (this.#refused) log.info("Configuration can be read again", { file });
    this.#refused = false;
  }

  /** @param what the problems amount to: the whole is refused, or a part of it is bad. */
  #log(problems: readonly ConfigProblem[], what: "refused" | "bad part"): void {
    const { log, file } = this.#options;
    const refusal = this.#good === null
      ? "Configuration refused"
      : "Configuration refused, the last good one stays in force";
    for (const { severity, path, message, remedy } of problems.slice(0, MAX_LOGGED)) {
      const fields = { file, path, problem: message, remedy };
      if (severity === "warning") log.warn("Configuration has a doubtful part", fields);
      else log.error(what === "refused" ? refusal : "Configuration has a bad part", fields);
    }
    if (problems.length > MAX_LOGGED) {
      log.warn("Configuration has more problems", { file, count: problems.length - MAX_LOGGED });
    }
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

function unreadable(reading: { message: string; remedy: string }): ConfigProblem {
  return { path: "$", message: reading.message, remedy: reading.remedy, severity: "error" };
}

function unspokenProtocol(index: number): ConfigProblem {
  return {
    path: `$.upstreams[${index}].protocol`,
    message: "HTTP/2 is not spoken to backends yet, so requests to this one get 500",
    remedy: 'write "http" or "https" if the backend speaks HTTP/1.1 too',
    severity: "error",
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
