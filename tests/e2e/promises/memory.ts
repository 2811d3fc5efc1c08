/**
 * What the proxies' processes use. In: a scene, on the machine of its nodes. Out: memory and
 * descriptors of each.
 */
import { memoryOf } from "../../../bench/controller/process_usage.ts";
import type { Finding } from "./finding.ts";
import type { Scene } from "./scene.ts";

export interface Usage {
  /** In bytes. */
  readonly resident: number;
  readonly descriptors: number;
}

/** How often memory is looked at, for its lowest: garbage that is not collected yet is no leak. */
const LOOKS = 20;
const PAUSE = 100;

export class Memory {
  /** By the names of pods. */
  readonly processes: ReadonlyMap<string, Usage>;

  private constructor(processes: ReadonlyMap<string, Usage>) {
    this.processes = processes;
  }

  /** The lowest of each in two seconds. */
  static async of(scene: Scene): Promise<Memory> {
    const lowest = new Map<string, Usage>();
    const processes = await scene.proxyProcesses();
    for (let look = 0; look < LOOKS; look++) {
      for (const [name, pid] of processes) {
        const { resident } = memoryOf(pid);
        const descriptors = [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
        const { resident: before = Infinity, descriptors: fewest = Infinity } = lowest.get(name) ??
          {};
        lowest.set(name, {
          resident: Math.min(before, resident),
          descriptors: Math.min(fewest, descriptors),
        });
      }
      await new Promise((resume) => setTimeout(resume, PAUSE));
    }
    return new Memory(lowest);
  }

  /**
   * The same as soon as it is about where it was before, or after `SETTLING`: a moment in which the machine
   * was busy leaves connections, which are kept until they have been idle for a while.
   */
  static async settled(scene: Scene, before: Memory): Promise<Memory> {
    const end = performance.now() + SETTLING;
    for (;;) {
      const after = await Memory.of(scene);
      if (after.#isAbout(before) || performance.now() > end) return after;
    }
  }

  #isAbout(before: Memory): boolean {
    return [...before.processes].every(([name, { resident, descriptors }]) => {
      const now = this.processes.get(name);
      return now !== undefined && now.resident - resident <= MARGIN.memory &&
        now.descriptors - descriptors <= MARGIN.descriptors;
    });
  }
}

/** What a process may have more than before: heaps grow in steps, and connections are kept. */
const MARGIN = { memory: 48 * 1024 * 1024, descriptors: 64 };

/** Longer than an idle connection to a backend is kept, in ms. */
const SETTLING = 90_000;

/** Each proxy's memory and descriptors must be about where they were. */
export function compareMemory(finding: Finding, before: Memory, after: Memory): void {
  for (const [name, { resident, descriptors }] of before.processes) {
    const now = after.processes.get(name);
    if (now === undefined) throw new Error(`${name} is gone`);
    finding.holds(
      `memory of ${name}`,
      `${mib(resident)} before, ${mib(now.resident)} after`,
      `at most ${mib(MARGIN.memory)} more`,
      now.resident - resident <= MARGIN.memory,
    );
    finding.holds(
      `descriptors of ${name}`,
      `${descriptors} before, ${now.descriptors} after`,
      `at most ${MARGIN.descriptors} more`,
      now.descriptors - descriptors <= MARGIN.descriptors,
    );
  }
}

function mib(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
}
