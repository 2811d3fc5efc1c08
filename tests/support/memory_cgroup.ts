/**
 * A memory limit such as a container has. In: bytes, and processes. Out: whether the kernel had to end
 * one of them, and the most that they used. Needs root and cgroups of version 1 or 2 that can be
 * written; null where there are none.
 */
import { join } from "node:path";

const ROOT = "/sys/fs/cgroup";

/** Files of a version's memory controller. */
interface Files {
  readonly parent: string;
  readonly limit: string;
  readonly peak: string;
  /** Has a line `oom_kill N`. */
  readonly events: string;
}

const VERSIONS: readonly Files[] = [
  { parent: ROOT, limit: "memory.max", peak: "memory.peak", events: "memory.events" },
  {
    parent: join(ROOT, "memory"),
    limit: "memory.limit_in_bytes",
    peak: "memory.max_usage_in_bytes",
    events: "memory.oom_control",
  },
];

export class MemoryCgroup {
  readonly #folder: string;
  readonly #files: Files;

  private constructor(folder: string, files: Files) {
    this.#folder = folder;
    this.#files = files;
  }

  static create(limit: number): MemoryCgroup | null {
    for (const files of VERSIONS) {
      const folder = join(files.parent, `pingress-test-${crypto.randomUUID()}`);
      try {
        Deno.mkdirSync(folder);
      } catch {
        continue;
      }
      try {
        Deno.writeTextFileSync(join(folder, files.limit), String(limit), { create: false });
        return new MemoryCgroup(folder, files);
      } catch {
        Deno.removeSync(folder);
      }
    }
    return null;
  }

  /** What the process has by now counts where it was before, unless it has just begun. */
  add(pid: number): void {
    Deno.writeTextFileSync(join(this.#folder, "cgroup.procs"), String(pid), { create: false });
  }

  /** Goes before a command: what it starts is in the group from its beginning. */
  get wrapper(): readonly string[] {
    const file = join(this.#folder, "cgroup.procs");
    return ["sh", "-c", `echo $$ > ${file} && exec "$@"`, "sh"];
  }

  /** Bytes. */
  get peak(): number {
    return Number(Deno.readTextFileSync(join(this.#folder, this.#files.peak)));
  }

  /** Processes that the kernel has ended. */
  get kills(): number {
    const events = Deno.readTextFileSync(join(this.#folder, this.#files.events));
    return Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0);
  }

  /** Once its processes have ended. */
  [Symbol.dispose](): void {
    // A process that has been killed is there for a moment more.
    for (let i = 0; i < 1_000; i++) {
      try {
        return Deno.removeSync(this.#folder);
      } catch {
        // Tried again.
      }
    }
  }
}
