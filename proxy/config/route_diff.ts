/**
 * Which hosts' routes have changed. In: the routes of one snapshot after another. Out: the hosts
 * whose routes are others now, and no others, at the cost of one look at each route: a change of one
 * among 100,000 must not stall the loop that serves.
 *
 * Routes are compared by identity, then by their JSON, which is what made them.
 */
import { isSamePart } from "../../shared/snapshot/equality.ts";
import type { HostChange, Route } from "../../shared/snapshot/types.ts";

interface Host {
  readonly host: string;
  routes: readonly Route[];
  /** What it gets in this turn, where that is not the very same. */
  next: readonly Route[] | null;
  /** When it was last there. */
  turn: number;
}

/** Compares each list with the one before. */
export class RouteDiffer {
  #routes: readonly Route[] = [];
  readonly #hosts = new Map<string, Host>();
  #turn = 0;

  /** What changed since the last call; everything at the first. */
  update(routes: readonly Route[]): HostChange[] {
    if (routes === this.#routes) return [];
    this.#routes = routes;
    return this.#settle(this.#followRuns(routes) ?? this.#followGroups(routes));
  }

  /** Takes in a change that is known, at the cost of that change; `routes` are all after it. */
  follow(routes: readonly Route[], changes: readonly HostChange[]): void {
    this.#routes = routes;
    for (const { host, routes: now } of changes) {
      if (now.length === 0) {
        this.#hosts.delete(host);
        continue;
      }
      this.#entryOf(host).routes = now;
    }
  }

  /**
   * Those that get something else, where the routes of each host stand together, as in all that a
   * controller has made; null where they do not.
   */
  #followRuns(routes: readonly Route[]): Host[] | null {
    const turn = ++this.#turn;
    const others: Host[] = [];
    for (let start = 0, end = 0; start < routes.length; start = end) {
      const { host } = routes[start];
      while (end < routes.length && routes[end].host === host) end++;
      const entry = this.#entryOf(host);
      if (entry.turn === turn) return null;
      entry.turn = turn;
      entry.next = null;
      if (isRun(entry.routes, routes, start, end)) continue;
      entry.next = routes.slice(start, end);
      others.push(entry);
    }
    return others;
  }

  #followGroups(routes: readonly Route[]): Host[] {
    const turn = ++this.#turn;
    const others: Host[] = [];
    for (const [host, group] of Map.groupBy(routes, (route) => route.host)) {
      const entry = this.#entryOf(host);
      entry.turn = turn;
      entry.next = group;
      others.push(entry);
    }
    return others;
  }

  #entryOf(host: string): Host {
    let entry = this.#hosts.get(host);
    if (entry === undefined) {
      entry = { host, routes: [], next: null, turn: 0 };
      this.#hosts.set(host, entry);
    }
    return entry;
  }

  #settle(others: readonly Host[]): HostChange[] {
    const changes: HostChange[] = [];
    for (const entry of others) {
      const { host, routes: before, next } = entry;
      entry.next = null;
      if (next === null) continue;
      entry.routes = next;
      if (!isSameList(before, next)) changes.push({ host, before, routes: next });
    }
    for (const { host, routes: before, turn } of this.#hosts.values()) {
      if (turn === this.#turn) continue;
      this.#hosts.delete(host);
      changes.push({ host, before, routes: [] });
    }
    return changes;
  }
}

/** Whether a list is the very same routes as those from `start` up to `end`. */
function isRun(list: readonly Route[], routes: readonly Route[], start: number, end: number) {
  if (list.length !== end - start) return false;
  for (let i = start; i < end; i++) if (list[i - start] !== routes[i]) return false;
  return true;
}

/** What came by a stream is the very same where it did not change; what a file holds is read anew. */
function isSameList(before: readonly Route[], now: readonly Route[]): boolean {
  return before.length === now.length &&
    now.every((route, i) => isSamePart(route, before[i]));
}
