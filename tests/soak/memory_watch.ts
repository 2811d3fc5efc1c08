/**
 * What the endurance tests share. In: a proxy in a process of its own. Out: the most memory that it
 * has had meanwhile, and a wait for what it lets go.
 */
import type { ProxyProcess } from "../support/proxy_process.ts";

/** PINGRESS_FULL=1 makes loads what the figures to hold say; otherwise they end within seconds. */
export const FULL = Deno.env.get("PINGRESS_FULL") === "1";

export const MIB = 1024 * 1024;

/** Resident memory that garbage may come to between two collections, in bytes. */
export const SLACK = 40 * MIB;

/** Watches the memory of a process until it is disposed of. */
export class MemoryWatch {
  readonly start: number;
  #highest: number;
  readonly #timer: ReturnType<typeof setInterval>;

  private constructor(process: ProxyProcess, start: number) {
    this.start = this.#highest = start;
    this.#timer = setInterval(async () => {
      this.#highest = Math.max(this.#highest, await process.memory());
    }, 50);
  }

  static async begin(process: ProxyProcess): Promise<MemoryWatch> {
    return new MemoryWatch(process, await process.memory());
  }

  /** Bytes above the start, at the highest. */
  get growth(): number {
    return this.#highest - this.start;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

export function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

/** Waits until `value` is at most `limit`; the last value when it does not become so in 30 s. */
export async function falls(value: () => Promise<number> | number, limit: number): Promise<number> {
  const end = performance.now() + 30_000;
  for (;;) {
    const now = await value();
    if (now <= limit || performance.now() > end) return now;
    await new Promise((resume) => setTimeout(resume, 50));
  }
}
