/**
 * The load. In: a target, and what a case asks for. Out: how much was answered, and how fast. Every
 * load is a closed loop in a process of its own: it offers what the proxy can take, and its CPU time
 * is not counted.
 */
import { type Case, type Unit } from "./case.ts";
import { versionOf } from "./child.ts";
import { AB } from "./loads/ab.ts";
import { WEBSOCKET } from "./loads/websocket.ts";
import { WRK } from "./loads/wrk.ts";
import { type Target } from "./target.ts";

export interface LoadResult {
  /** Answered requests, handshakes or messages, as the case counts. */
  readonly count: number;
  readonly perSecond: number;
  /** Latency in ms. */
  readonly p50: number;
  readonly p99: number;
  /** What failed or was refused: a fast refusal must not pass for speed. */
  readonly errors: number;
}

export interface Load {
  /** How its program says its version, and what to do where it cannot. */
  readonly version: readonly string[];
  readonly remedy: string;
  /** Runs for `seconds`; throws with what the program said when it cannot tell what happened. */
  run(target: Target, what: Case, seconds: number, folder: string): Promise<LoadResult>;
}

const LOADS: Readonly<Record<Unit, Load>> = { request: WRK, handshake: AB, message: WEBSOCKET };

export function loadFor({ unit }: Case): Load {
  return LOADS[unit];
}

/** Null where this case's load is there, and what checks answers; otherwise what to do about it. */
export async function missingLoad(what: Case): Promise<string | null> {
  const { version, remedy } = loadFor(what);
  if (await versionOf(version) === null) return remedy;
  return what.tls && await versionOf(["openssl", "version"]) === null
    ? "openssl is not installed (remedy: apt-get install openssl)"
    : null;
}
