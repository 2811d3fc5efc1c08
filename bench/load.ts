/**
 * The load. In: a target, and what a case asks for. Out: how much was answered, and how fast. Every
 * load is a process of its own, whose CPU time is not counted. Most are closed loops, which offer what
 * the proxy can take; `open_loop` offers a constant rate, `events` has the pace of its backend, and
 * `idle` asks for nothing once it is connected.
 */
import { versionOf } from "./child.ts";
import { AB } from "./loads/ab.ts";
import { EVENTS } from "./loads/events.ts";
import { H2LOAD } from "./loads/h2load.ts";
import { WEBSOCKET } from "./loads/websocket.ts";
import { WRK } from "./loads/wrk.ts";
import type { Case, Load, Unit } from "./model.ts";

const LOADS: Readonly<Partial<Record<Unit, Load>>> = {
  request: WRK,
  connection: AB,
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
  const found = await loadFor(what).find();
  if (found.kind !== "found") return found.kind === "missing" ? found.remedy : found.why;
  return what.tls && await versionOf(["openssl", "version"]) === null
    ? "openssl is not installed (remedy: apt-get install openssl)"
    : null;
}
