/**
 * Memory that runs short. In: the limit of the process and what it uses, looked at a few times a
 * second. Out: how hard the pressure is, for those who can relieve it.
 *
 *     none ──92 %──▶ high ──95 %──▶ critical        high: no keep-alive, idle connections are shed
 *       ◀──88 %──      ◀──91 %──                    critical: besides, new requests get 503
 *
 * A level is left at less than it is entered with, so that traffic does not flutter at the edge.
 * The limit comes as a number: reading it from cgroup files would need permissions that the proxy
 * does not have.
 */
import type { Logger } from "../../shared/log.ts";

export type Pressure = "none" | "high" | "critical";

/** Shares of the limit at which a level is entered and left. */
const HIGH = { enter: 0.92, leave: 0.88 };
const CRITICAL = { enter: 0.95, leave: 0.91 };

/** Between two looks, in ms; one costs a few microseconds. */
const INTERVAL = 100;

export interface OverloadOptions {
  /** Bytes; 0 never looks. */
  readonly limit: number;
  /** Bytes in use; `memoryInUse` outside of tests. */
  readonly usage: () => number;
  /** Called at every look that finds pressure. */
  readonly relieve: () => void;
  readonly log: Logger;
}

export class Overload {
  readonly #options: OverloadOptions;
  #pressure: Pressure = "none";
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: OverloadOptions) {
    this.#options = options;
  }

  get pressure(): Pressure {
    return this.#pressure;
  }

  /** Connections are to close after the exchange under way. */
  get isHigh(): boolean {
    return this.#pressure !== "none";
  }

  /** Requests are to be refused. */
  get isCritical(): boolean {
    return this.#pressure === "critical";
  }

  start(): void {
    if (this.#options.limit > 0) this.#timer ??= setInterval(() => this.look(), INTERVAL);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Looks now. */
  look(): void {
    const { limit, usage, relieve, log } = this.#options;
    const used = usage();
    const before = this.#pressure;
    this.#pressure = pressureOf(used / limit, before);
    if (this.#pressure !== before) {
      const level = this.#pressure === "none" ? "info" : "warn";
      log[level]("Memory pressure changed", { pressure: this.#pressure, before, used, limit });
    }
    if (this.#pressure !== "none") relieve();
  }
}

/** The level for a share of the limit, coming from `before`. */
function pressureOf(share: number, before: Pressure): Pressure {
  const stays = (level: { enter: number; leave: number }, held: boolean) =>
    share >= (held ? level.leave : level.enter);
  if (stays(CRITICAL, before === "critical")) return "critical";
  return stays(HIGH, before !== "none") ? "high" : "none";
}

/** What the process holds, in bytes: that is what a container's limit is about. */
export function memoryInUse(): number {
  const { rss, heapTotal, external } = Deno.memoryUsage();
  // Where the system does not tell, what V8 knows of itself is the most of it.
  return rss > 0 ? rss : heapTotal + external;
}
