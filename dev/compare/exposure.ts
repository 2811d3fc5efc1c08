/**
 * What clients lose and gain by a change. In: two snapshots. Out: routes whose requests no longer reach their
 * backends, and paths that forward requests which were rejected or asked for credentials before. Pure.
 */
import { backendNameOf } from "../../shared/snapshot/forward_action.ts";
import type { Action, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { type Demand, droppedDemands, isOpen } from "./demands.ts";
import { type Probe, probesOf, REST_PROBES } from "./probe.ts";
import { type ProbedAnswer, ProbedSnapshot } from "./probed_answer.ts";

export interface LostRoute {
  /** As it was; null for the default backend. */
  readonly route: Route | null;
  /** What became of its requests. */
  readonly action: Action;
  /** What its requests get now. */
  readonly now: ProbedAnswer;
}

export interface OpenedPath {
  /** The route that takes the requests now; null for the default backend. */
  readonly route: Route | null;
  /** The route that took them before; null for the default backend. */
  readonly before: Route | null;
  /** What clients needed and need no more; empty where the path was closed. */
  readonly dropped: readonly Demand[];
  /** Whether nothing is asked of clients any more. */
  readonly isOpenToAll: boolean;
}

export interface Exposure {
  /** In the order of the routes before, the default backend last. */
  readonly lost: readonly LostRoute[];
  /** In the order of the routes now, the default backend last. */
  readonly opened: readonly OpenedPath[];
}

export function exposureOf(before: Snapshot, after: Snapshot): Exposure {
  const [old, now] = [new ProbedSnapshot(before), new ProbedSnapshot(after)];
  return {
    lost: [
      ...before.routes.map((route) => lostRoute(route, old, now)),
      lostDefault(old, now),
    ].filter((lost) => lost !== null),
    opened: openedPaths(old, now),
  };
}

/** Null where a backend of the route still gets its requests, or none did before. */
function lostRoute(route: Route, old: ProbedSnapshot, now: ProbedSnapshot): LostRoute | null {
  const same = now.same(route);
  const lost = lostAnswer(
    old.answerOf(route),
    same === null ? null : now.answerOf(same),
    () => answersOfOthers(route, old, now),
  );
  return lost === undefined ? null : { route, action: route.action, now: lost };
}

/** As `lostRoute`, of the default backend: its requests are those that no host and no path is written for. */
function lostDefault(old: ProbedSnapshot, now: ProbedSnapshot): LostRoute | null {
  const { defaultAction: action } = old.snapshot;
  const lost = lostAnswer(
    old.answerOfDefault(),
    now.snapshot.defaultAction === null ? null : now.answerOfDefault(),
    () =>
      REST_PROBES.filter((probe) => old.answer(probe).route === null)
        .map((probe) => now.answer(probe)),
  );
  return action === null || lost === undefined ? null : { route: null, action, now: lost };
}

/**
 * What requests get in place of a backend of theirs; undefined where one of them still gets them.
 *
 * @param same What takes the same requests now; null where nothing does, and `others` says what becomes of them.
 */
function lostAnswer(
  was: ProbedAnswer,
  same: ProbedAnswer | null,
  others: () => readonly ProbedAnswer[],
): ProbedAnswer | undefined {
  if (was.kind !== "forward") return undefined;
  if (same !== null) return same.kind === "error" ? same : undefined;
  return others().find((answer) =>
    answer.kind === "error" || (answer.kind === "forward" && !haveCommonService(was, answer))
  );
}

/** What the requests of a route get that is gone; nothing where other routes took all of them before. */
function answersOfOthers(
  route: Route,
  old: ProbedSnapshot,
  now: ProbedSnapshot,
): readonly ProbedAnswer[] {
  // Of which no request is known, it is not known either that another route gets them.
  if (probesOf(route).length === 0) return [now.answerOf(null)];
  return old.probesOf(route).map((probe) => now.answer(probe));
}

type Forwarded = Extract<ProbedAnswer, { readonly kind: "forward" }>;

/** Whatever its port is called, and however it is spoken to. */
function haveCommonService(a: Forwarded, b: Forwarded): boolean {
  const services = new Set(a.upstreams.map(backendKey));
  return b.upstreams.some((id) => services.has(backendKey(id)));
}

function backendKey(id: string): string {
  const { namespace, name } = backendNameOf(id);
  return `${namespace}/${name}`;
}

function openedPaths(old: ProbedSnapshot, now: ProbedSnapshot): OpenedPath[] {
  const found = new Map<Route | null, OpenedPath>();
  const look = (was: ProbedAnswer, is: ProbedAnswer) => {
    if (is.kind !== "forward" || found.has(is.route)) return;
    const opened = openedPath(was, is);
    if (opened !== null) found.set(is.route, opened);
  };
  const probe = (each: Probe) => look(old.answer(each), now.answer(each));
  // What took no probe has the same match on both sides, or is not known.
  for (const route of now.snapshot.routes) {
    const same = old.same(route);
    if (same !== null) look(old.answerOf(same), now.answerOf(route));
    for (const each of now.probesOf(route)) probe(each);
  }
  for (const route of old.snapshot.routes) for (const each of old.probesOf(route)) probe(each);
  REST_PROBES.forEach(probe);
  const guarded = old.snapshot.routes.filter((route) => isGuarded(old.answerOf(route)));
  for (const each of probesBelow(now.snapshot, old.snapshot, guarded)) probe(each);
  for (const each of probesBelow(old.snapshot, now.snapshot, now.snapshot.routes)) probe(each);
  return [...now.snapshot.routes, null].flatMap((route) => found.get(route) ?? []);
}

/**
 * Requests for the hosts of `one` that the other has no routes for, with the paths of wildcards over them in
 * `routes`. One by one: of thousands of hosts and paths there are millions.
 */
function* probesBelow(
  one: Snapshot,
  other: Snapshot,
  routes: readonly Route[],
): Generator<Probe> {
  const known = new Set(other.routes.map(({ host }) => host));
  const own = new Set(one.routes.map(({ host }) => host));
  const wildcards = routes.filter(({ host }) => host.startsWith("*"));
  for (const host of own.difference(known)) {
    for (const route of wildcards) {
      if (host.endsWith(route.host.slice(1))) yield* probesOf({ ...route, host });
    }
  }
}

/** Whether clients have to pass a check, or none can: only such paths can be opened. */
function isGuarded(answer: ProbedAnswer): boolean {
  return answer.kind === "forward"
    ? !isOpen(answer.demands)
    : answer.kind === "error" && answer.isClosed;
}

function openedPath(
  was: ProbedAnswer,
  { route, demands }: Forwarded,
): OpenedPath | null {
  const { route: before } = was;
  if (was.kind === "error" && was.isClosed && isOpen(demands)) {
    return { route, before, dropped: [], isOpenToAll: true };
  }
  if (was.kind !== "forward") return null;
  const dropped = droppedDemands(was.demands, demands);
  return dropped.length === 0 ? null : { route, before, dropped, isOpenToAll: isOpen(demands) };
}
