/**
 * Changes of manifests. In: the folders and files that are served. Out: a call after each change,
 * one at a time, when the files have been quiet for a moment (an editor writes in several steps).
 *
 * The system's own notices come within milliseconds; where they do not come (network drives,
 * mounted volumes, too many folders) a look at names, times and sizes every second or so finds it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { findManifestFiles } from "./manifests/folder.ts";

/** Quiet for this long, in ms, and the files count as saved. */
const QUIET = 50;

/** Something that writes all the time does not keep a change back for longer, in ms. */
const MAX_WAIT = 1000;

/** Between two looks, in ms. */
const LOOK_INTERVAL = 1000;

/** Looking takes at most this share of the time, however large the folder is. */
const LOOK_SHARE = 0.05;

/**
 * Notes how the files are from now on, so that what is saved between this and the first reading is
 * not missed. Watches until `signal` aborts.
 */
export async function startWatching(
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ManifestWatch> {
  const changed = new Flag(signal);
  const notices = paths.map((path) => new Notices(path, changed, signal));
  return new ManifestWatch(paths, signal, changed, notices, await fingerprint(paths));
}

export class ManifestWatch {
  #paths: readonly string[];
  #signal: AbortSignal;
  #changed: Flag;
  #notices: readonly Notices[];
  #seen: string;

  constructor(
    paths: readonly string[],
    signal: AbortSignal,
    changed: Flag,
    notices: readonly Notices[],
    seen: string,
  ) {
    this.#paths = paths;
    this.#signal = signal;
    this.#changed = changed;
    this.#notices = notices;
    this.#seen = seen;
  }

  /**
   * Calls `onChange` after each change until the signal aborts; rejects with what it rejects with.
   *
   * @param onChange Gets the time of the first notice, as `performance.now()` gives it.
   */
  async run(onChange: (noticedAt: number) => Promise<void>): Promise<void> {
    const looking = this.#look();
    while (await this.#changed.raised()) {
      const { raisedAt } = this.#changed;
      const deadline = performance.now() + MAX_WAIT;
      do {
        this.#changed.lower();
        await this.#sleep(QUIET);
      } while (this.#changed.isRaised && performance.now() < deadline);
      if (this.#signal.aborted) break;
      this.#changed.lower();
      // Taken before the reading: what is saved during it leads to another one.
      this.#seen = await fingerprint(this.#paths);
      await onChange(raisedAt);
    }
    await Promise.all([looking, ...this.#notices.map(({ ended }) => ended)]);
  }

  async #look(): Promise<void> {
    while (!this.#signal.aborted) {
      const start = performance.now();
      const before = this.#seen;
      const now = await fingerprint(this.#paths);
      if (now !== before && before === this.#seen) this.#changed.raise();
      const interval = Math.max(LOOK_INTERVAL, (performance.now() - start) / LOOK_SHARE);
      await this.#sleep(interval);
    }
  }

  /** Resolves early where the signal aborts. */
  #sleep(milliseconds: number): Promise<void> {
    return sleep(milliseconds, undefined, { signal: this.#signal }).catch(() => {});
  }
}

/** Raised by notices, lowered by whoever takes care of them. */
class Flag {
  #raised = false;
  #raisedAt = 0;
  #waiting: (() => void) | null = null;
  #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#waiting?.());
  }

  get isRaised(): boolean {
    return this.#raised;
  }

  /** When it was raised after it had been lowered; before that, 0. */
  get raisedAt(): number {
    return this.#raisedAt;
  }

  raise(): void {
    if (!this.#raised) this.#raisedAt = performance.now();
    this.#raised = true;
    this.#waiting?.();
  }

  lower(): void {
    this.#raised = false;
  }

  /** Resolves to true once it is raised, to false when the signal aborts. */
  async raised(): Promise<boolean> {
    while (!this.#raised && !this.#signal.aborted) {
      await new Promise<void>((resolve) => this.#waiting = resolve);
    }
    return !this.#signal.aborted;
  }
}

/** The system's notices of one path. Where there are none, the looks remain. */
class Notices {
  /** Never rejects. */
  readonly ended: Promise<void>;

  constructor(path: string, changed: Flag, signal: AbortSignal) {
    this.ended = this.#follow(path, changed, signal);
  }

  async #follow(path: string, changed: Flag, signal: AbortSignal): Promise<void> {
    let watcher: Deno.FsWatcher | null = null;
    const close = () => {
      // Closing twice throws, and the watcher may have ended by itself.
      const open = watcher;
      watcher = null;
      open?.close();
    };
    try {
      // Editors replace a file by another one, and the notices of the old one end with it.
      watcher = Deno.statSync(path).isDirectory
        ? Deno.watchFs(path, { recursive: true })
        : Deno.watchFs(folderOf(path), { recursive: false });
      signal.addEventListener("abort", close);
      // Reading is a notice too, and would lead to reading for ever.
      for await (const event of watcher) if (event.kind !== "access") changed.raise();
    } catch {
      close();
    } finally {
      signal.removeEventListener("abort", close);
    }
  }
}

function folderOf(path: string): string {
  const slash = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return slash === -1 ? "." : slash === 0 ? path[0] : path.slice(0, slash);
}

async function fingerprint(paths: readonly string[]): Promise<string> {
  const { files, problems } = await findManifestFiles(paths);
  return [
    ...files.map(({ file, modified, size }) => `${file}\0${modified}\0${size}`),
    // A link to a missing file is a problem, and none of the files.
    ...problems.map(({ problem: { message }, at }) => `${at?.file ?? ""}\0${message}`),
  ].join("\n");
}
