/**
 * What /explain shows of the filters of a route. In: the route, or the default action, and its snapshot. Out: the filters without values
 * of headers, which may be secret; logins whose users cannot be read; and the limit of request bodies.
 */
import { requiredUsersOf } from "../../shared/credentials/credentials.ts";
import type { Place } from "../../shared/snapshot/forward_action.ts";
import type { FilterSpec, Snapshot } from "../../shared/snapshot/types.ts";

export interface ExplainedSettings {
  /** As in the snapshot, with "" for each value of a header. */
  readonly filters: readonly FilterSpec[];
  /** Ids of credentials: requests that need them get 503. */
  readonly missingUsers: readonly string[];
  /** In bytes; 0 for none. */
  readonly bodyLimit: number;
}

/** @param place Null where no filters meet the request. */
export function explainedSettings(
  place: Pick<Place, "filterSet" | "policy"> | null,
  { filterSets = [], policies = [], credentials = [] }: Snapshot,
): ExplainedSettings {
  const filters = filterSets.find(({ id }) => id === place?.filterSet)?.filters ?? [];
  const logins = filters.flatMap((filter) => requiredUsersOf(filter) ?? []);
  const isMissing = (login: string) => {
    const users = credentials.find(({ id }) => id === login)?.users;
    return users === undefined || users.kind === "missing";
  };
  return {
    filters: filters.map(withoutValues),
    missingUsers: logins.filter(isMissing),
    bodyLimit: policies.find(({ id }) => id === place?.policy)?.bodyLimit ?? 0,
  };
}

function withoutValues(filter: FilterSpec): FilterSpec {
  if (filter.kind !== "request-headers" && filter.kind !== "response-headers") return filter;
  const hidden = (lines: typeof filter.set) => lines?.map(({ name }) => ({ name, value: "" }));
  const { set, add } = filter;
  return {
    ...filter,
    ...(set === undefined ? {} : { set: hidden(set) }),
    ...(add === undefined ? {} : { add: hidden(add) }),
  };
}
