/**
 * What a route asks of clients before it forwards. In: filters. Out: its checks by kind; and which of them
 * another route does without. Pure.
 */
import { NetworkSet } from "../../shared/net/network_set.ts";
import type { FilterSpec } from "../../shared/snapshot/types.ts";

/** A check that may reject a client. */
export type Demand =
  | "blocked-clients"
  | "deny-list"
  | "allow-list"
  | "basic-auth"
  | "external-auth";

export interface Demands {
  /** All of them must admit. */
  readonly all: ReadonlySet<Demand>;
  /** One of them is enough; empty for none. */
  readonly any: ReadonlySet<Demand>;
}

export function demandsOf(filters: readonly FilterSpec[]): Demands {
  const all = new Set<Demand>();
  let any = new Set<Demand>();
  for (const filter of filters) {
    if (filter.kind === "blocked-clients") all.add("blocked-clients");
    if (filter.kind !== "access") continue;
    const checks = checksOf(filter);
    if (filter.satisfy === "any" && checks.length > 1) any = new Set(checks);
    else for (const check of checks) all.add(check);
  }
  return { all, any };
}

function checksOf(
  { deny, allow, basic, external }: Extract<FilterSpec, { readonly kind: "access" }>,
): Demand[] {
  const admitsAll = allow === undefined || new NetworkSet(allow).admitsAll;
  return [
    ...(deny === undefined ? [] : ["deny-list"] as const),
    ...(admitsAll ? [] : ["allow-list"] as const),
    ...(basic === undefined ? [] : ["basic-auth"] as const),
    ...(external === undefined ? [] : ["external-auth"] as const),
  ];
}

/** Those that clients had to meet before and need not any more, in a fixed order. */
export function droppedDemands(before: Demands, after: Demands): Demand[] {
  const dropped = [...before.all].filter((demand) => !after.all.has(demand));
  const isFree = before.any.size > 0 && after.any.size === 0 &&
    ![...before.any].some((demand) => after.all.has(demand));
  return [...dropped, ...(isFree ? before.any : [])];
}

export function isOpen({ all, any }: Demands): boolean {
  return all.size + any.size === 0;
}
