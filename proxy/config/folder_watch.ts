/**
 * Watching folders that may vanish and return. In: folders, and a callback. Out: a call whenever
 * something in one of them may have changed.
 *
 * The system's events are bound to a folder's inode: one that was removed or moved is silent for
 * ever, even when a folder of that name is back. So `check`, called from time to time, watches
 * anew what is another folder now.
 */
import type { Logger } from "../../shared/log.ts";

export interface WatchedFolder {
  readonly path: string;
  /** With all folders in it. */
  readonly recursive: boolean;
}

interface OpenWatch {
  readonly watcher: Deno.FsWatcher;
  /** Which folder is watched: the same name may be another one later. */
  readonly identity: string;
  /** Settles when the watcher's events have ended. */
  readonly ended: Promise<void>;
  /** Its folder went, so no event will come. */
  stale: boolean;
}

const MISSING = "the folder does not exist or cannot be read";

export class FolderWatch {
  #folders: readonly WatchedFolder[];
  #onChange: () => void;
  #log: Logger;
  #open = new Map<string, OpenWatch>();
  /** What was logged of a folder last, so that it is said once. */
  #complaints = new Map<string, string>();
  #closed = false;

  constructor(folders: readonly WatchedFolder[], onChange: () => void, log: Logger) {
    this.#folders = folders;
    this.#onChange = onChange;
    this.#log = log;
  }

  /** Watches what is not watched yet, or no longer. Calls back for a folder that is new or gone. */
  async check(): Promise<void> {
    for (const folder of this.#folders) {
      const identity = await identify(folder.path);
      if (this.#closed) return;
      const open = this.#open.get(folder.path);
      if (open !== undefined && !open.stale && open.identity === identity) continue;
      if (open !== undefined) {
        this.#open.delete(folder.path);
        open.watcher.close();
      }
      if (identity !== null) this.#watch(folder, identity);
      else this.#complain(folder, MISSING);
      if (open !== undefined || identity !== null) this.#onChange();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { watcher } of open) watcher.close();
    await Promise.all(open.map(({ ended }) => ended));
  }

  #watch(folder: WatchedFolder, identity: string): void {
    let watcher: Deno.FsWatcher;
    try {
      watcher = Deno.watchFs(folder.path, { recursive: folder.recursive });
    } catch (error) {
      // Gone since, which the next check would log in other words, or the system's limit of watches
      // is reached: then polling has to do.
      const isGone = error instanceof Deno.errors.NotFound;
      this.#complain(
        folder,
        isGone ? MISSING : error instanceof Error ? error.message : String(error),
      );
      return;
    }
    this.#complaints.delete(folder.path);
    const open: OpenWatch = {
      watcher,
      identity,
      ended: Promise.resolve().then(() => this.#follow(folder, open)),
      stale: false,
    };
    this.#open.set(folder.path, open);
  }

  async #follow(folder: WatchedFolder, open: OpenWatch): Promise<void> {
    try {
      for await (const event of open.watcher) {
        // Reading a file is reported too, and would make us read again for ever.
        if (event.kind === "access") continue;
        this.#onChange();
        if (event.kind === "remove" && event.paths.includes(folder.path)) open.stale = true;
      }
    } catch (error) {
      if (!this.#closed) this.#complain(folder, String(error));
      open.stale = true;
    }
  }

  #complain(folder: WatchedFolder, problem: string): void {
    if (this.#complaints.get(folder.path) === problem) return;
    this.#complaints.set(folder.path, problem);
    this.#log.warn("Cannot watch folder, polling instead", {
      folder: folder.path,
      problem,
    });
  }
}

/** A name for the folder that now has this path; null where there is none. */
async function identify(path: string): Promise<string | null> {
  try {
    const info = await Deno.stat(path);
    // The time of birth, since a new folder often gets the inode of one just removed.
    return info.isDirectory ? `${info.dev} ${info.ino} ${info.birthtime?.getTime()}` : null;
  } catch {
    return null;
  }
}
