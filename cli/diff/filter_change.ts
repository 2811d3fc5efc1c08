/**
 * What filters of a route do otherwise. In: the states before and after, and the route in each. Out: the steps that
 * are gone and those that are new, as `explain` words them. Values of headers are in none. Pure.
 */
import { probesOf } from "../../dev/compare/probe.ts";
import { type FilteredRequest, filterSteps } from "../../dev/explain/filter_steps.ts";
import { canonicalPath } from "../../shared/path/canonical_path.ts";
import type { Route, Snapshot } from "../../shared/snapshot/types.ts";

export interface FilterChange {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

export interface FilteredRoute {
  readonly snapshot: Snapshot;
  readonly route: Route;
}

/** @param before Null for a new route. @param after Null for one that is gone. */
export function filterChange(
  before: FilteredRoute | null,
  after: FilteredRoute | null,
): FilterChange {
  const sample = after ?? before;
  if (sample === null) return { removed: [], added: [] };
  // One request for both, so that what it is redirected to differs by the filters alone.
  const request = requestOf(sample.route);
  const [old, now] = [before, after].map((one) => one === null ? [] : textsOf(one, request));
  return {
    removed: old.filter((text) => !now.includes(text)),
    added: now.filter((text) => !old.includes(text)),
  };
}

function textsOf({ snapshot, route }: FilteredRoute, request: FilteredRequest): string[] {
  return filterSteps(snapshot, route, request)
    // A limit of the policy, which is no filter.
    .filter(({ kind }) => kind !== "body-limit")
    .map(({ text, upstream }) => upstream === null ? text : `${text} (for ${upstream})`);
}

/** One that the route takes, as far as its expressions show. */
function requestOf(route: Route): FilteredRequest {
  const [{ host, path, query } = { host: route.host, path: "/", query: "" }] = probesOf(route);
  return {
    url: { scheme: "https", host, port: null, rawPath: path, query },
    path: canonicalPath(path),
  };
}
