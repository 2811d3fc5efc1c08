/**
 * Upstreams whose protocol is not spoken here. In: a snapshot. Out: the same snapshot in which
 * requests to them get 500, and which upstreams these are. A backend that asks for HTTP/2 is never
 * sent HTTP/1.1 instead: gRPC fails by it in ways that nobody finds.
 */
import type { Action, Snapshot, Upstream } from "../shared/snapshot.ts";
import type { ConfigProblem } from "../shared/snapshot_parse.ts";

export interface SpokenSnapshot {
  /** The one given where all its protocols are spoken. */
  readonly snapshot: Snapshot;
  /** Places in the given snapshot's `upstreams`. */
  readonly unspoken: readonly number[];
}

/** Doing it twice changes nothing more. */
export function answerUnspoken(snapshot: Snapshot): SpokenSnapshot {
  const unspoken = [...snapshot.upstreams.keys()]
    .filter((index) => !isSpoken(snapshot.upstreams[index]));
  if (unspoken.length === 0) return { snapshot, unspoken };
  const reasons = new Map(
    unspoken.map((index) => [snapshot.upstreams[index].id, reasonFor(snapshot.upstreams[index])]),
  );
  const answered = <A extends Action | null>(action: A): A | Action => {
    const reason = action?.kind === "forward" ? reasons.get(action.upstream) : undefined;
    return reason === undefined ? action : { kind: "answer", status: 500, reason };
  };
  const { routes, defaultAction, upstreams } = snapshot;
  return {
    snapshot: {
      ...snapshot,
      // The others stay the same objects, which is how they are known to be unchanged.
      routes: routes.map((route) => {
        const action = answered(route.action);
        return action === route.action ? route : { ...route, action };
      }),
      defaultAction: answered(defaultAction),
      upstreams: upstreams.filter(isSpoken),
    },
    unspoken,
  };
}

/** What to tell of them. */
export function unspokenProblems(snapshot: Snapshot): ConfigProblem[] {
  return answerUnspoken(snapshot).unspoken.map((index) => ({
    path: `$.upstreams[${index}].protocol`,
    message: "HTTP/2 is not spoken to backends yet, so requests to this one get 500",
    remedy: 'write "http" or "https" if the backend speaks HTTP/1.1 too',
    severity: "error",
  }));
}

function isSpoken({ protocol }: Upstream): boolean {
  return protocol === "http" || protocol === "https";
}

function reasonFor({ id, protocol }: Upstream): string {
  return `upstream ${id} is to be spoken to in HTTP/2 (${protocol}), which is not there yet`;
}
