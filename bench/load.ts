/**
 * The load. In: a target, and what a case asks for. Out: how much was answered, and how fast. Every
 * load is a process of its own, whose CPU time is not counted. Most are closed loops, which offer what
 * the proxy can take; `open_loop` offers a constant rate, `events` has the pace of its backend, and
 * `idle` asks for nothing once it is connected.
 */
import { type Case, type Unit } from "./case.ts";
import { versionOf } from "./child.ts";
import { EVENTS } from "./loads/events.ts";
import { H2LOAD } from "./loads/h2load.ts";
import { WEBSOCKET } from "./loads/websocket.ts";
import { WRK } from "./loads/wrk.ts";
import { type Target } from "./target.ts";

export interface LoadResult {
  /** Answered requests, handshakes, messages or events, as the case counts. */
  readonly count: number;
  readonly perSecond: number;
  /** Latency in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Null where the load's program does not tell. */
  readonly p999: number | null;
  /** What failed or was refused: a fast refusal must not pass for speed. */
  readonly errors: number;
  /** What is to be known about these figures: that the load itself was late. */
  readonly note?: string;
}

/** For a load that opens much before what counts begins, and holds it: tells when it counts. */
export interface Meter {
  begin(): void;
  /**
   * All is open and answered, and nothing is asked from here on: what has been used so far is the
   * cost of opening. Resolves when memory has settled; what is used from then on is that of rest.
   */
  rest(): Promise<void>;
  /** Everything is still open then. */
  end(): void;
}

export interface Load {
  /** How its program says its version, and what to do where it cannot. */
  readonly version: readonly string[];
  readonly remedy: string;
  /**
   * Runs for `seconds`; throws with what the program said when it cannot tell what happened.
   *
   * @param rate requests a second in all, for a load that offers a constant rate; 0 for others.
   */
  run(
    target: Target,
    what: Case,
    seconds: number,
    folder: string,
    meter: Meter,
    rate: number,
  ): Promise<LoadResult>;
}

const LOADS: Readonly<Partial<Record<Unit, Load>>> = {
  request: WRK,
  message: WEBSOCKET,
  event: EVENTS,
};

/** The load that measures; throws for a case that names none where it must. */
export function loadFor(what: Case): Load {
  return what.load ?? closedLoadFor(what);
}

/** The closed loop that the unit and the version of HTTP decide on: it finds saturation. */
export function closedLoadFor({ name, unit, http }: Case): Load {
  const load = unit === "request" && http === 2 ? H2LOAD : LOADS[unit];
  if (load === undefined) throw new Error(`${name} names no load, and nothing else decides on it`);
  return load;
}

/** Null where this case's load is there, and what checks answers; otherwise what to do about it. */
export async function missingLoad(what: Case): Promise<string | null> {
  const { version, remedy } = loadFor(what);
  if (await versionOf(version) === null) return remedy;
  return what.tls && await versionOf(["openssl", "version"]) === null
    ? "openssl is not installed (remedy: apt-get install openssl)"
    : null;
}
