/** A comparison as plain data. In: the comparison. Out: what `-o json` prints beside its version. Pure. */
import type { LostRoute, OpenedPath } from "../../dev/compare/exposure.ts";
import type { ProbedAnswer } from "../../dev/compare/probed_answer.ts";
import { sharesOf } from "../../dev/gateway/backend_shares.ts";
import type { LocatedProblem } from "../../dev/manifests/file.ts";
import type { Origin, Route } from "../../shared/snapshot/types.ts";
import type { Comparison } from "./comparison.ts";
import type { CertificateChange, RouteChange } from "./route_changes.ts";
import type { Side } from "./side.ts";

/** Where things are written. */
type Places = Pick<Side, "locate">;

/** Fields are added, and none is removed or changes its meaning. */
export function diffJson(
  { before, after, notes, changes, exposure: { lost, opened } }: Comparison,
): Readonly<Record<string, unknown>> {
  return {
    before: before.name,
    after: after.name,
    isComplete: before.unread.length + notes.length === 0,
    notes,
    lost: lost.map((each) => lostRoute(each, before)),
    opened: opened.map((each) => openedPath(each, after)),
    routes: changes.routes.map((change) => routeChange(change, before, after)),
    certificates: changes.certificates.map((change) => certificateChange(change, before, after)),
    settings: changes.settings,
    problems: {
      new: changes.problems.added.map(plainProblem),
      mended: changes.problems.mended.map(plainProblem),
    },
  };
}

function lostRoute({ route, now }: LostRoute, before: Side) {
  return { route: route === null ? null : plainRoute(route, before), now: plainAnswer(now) };
}

function openedPath({ route, dropped, isOpenToAll }: OpenedPath, after: Side) {
  return { route: route === null ? null : plainRoute(route, after), dropped, isOpenToAll };
}

function plainAnswer(answer: ProbedAnswer) {
  const route = answer.route?.id ?? null;
  switch (answer.kind) {
    case "error":
      return { kind: answer.kind, route, status: answer.status, reason: answer.reason };
    case "redirect":
      return { kind: answer.kind, route };
    case "forward":
      return { kind: answer.kind, route, upstreams: answer.upstreams };
  }
}

export function routeChange(change: RouteChange, before: Places, after: Places) {
  return {
    kind: change.kind,
    before: change.kind === "added" ? null : plainRoute(change.before, before),
    after: change.kind === "removed" ? null : plainRoute(change.after, after),
    aspects: change.kind === "changed" ? change.aspects : [],
    filters: change.filters,
  };
}

export function plainRoute({ id, host, match, action, origin }: Route, side: Places) {
  return {
    id,
    host,
    match,
    backends: action.kind === "forward" ? sharesOf(action) : [],
    reply: action.kind === "reply" ? { status: action.status, reason: action.reason } : null,
    origin: plainOrigin(origin, side),
  };
}

export function certificateChange(
  { kind, before, after }: CertificateChange,
  was: Places,
  is: Places,
) {
  const [one, side] = after === undefined ? [before!, was] : [after, is];
  return {
    kind,
    origin: plainOrigin(one.origin, side),
    hostsBefore: before?.hosts ?? [],
    hostsAfter: after?.hosts ?? [],
  };
}

function plainOrigin({ kind, namespace, name, field }: Origin, places: Places) {
  const at = places.locate({ kind, namespace, name }, field);
  return { kind, namespace, name, field, at };
}

export function plainProblem({ problem, at, excerpt = null }: LocatedProblem) {
  const { facts: _, ...text } = problem;
  return { ...text, at, excerpt };
}
