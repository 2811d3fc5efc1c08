/**
 * The filters of a route, sorted by hook. In: filters in the order of requests, and in that of
 * responses. Out: for each hook those that have it, so that an exchange calls no others.
 */
import type { Filter } from "./filter.ts";
import type { FilterName } from "./filter_name.ts";

type Hook<K extends keyof Filter> = Filter & Required<Pick<Filter, K>>;

/** A filter and what metrics call it. */
export interface NamedFilter {
  readonly kind: FilterName;
  readonly filter: Filter;
}

export class FilterChain {
  readonly request: readonly Hook<"request">[];
  /** Of those, in the same order. */
  readonly requestNames: readonly FilterName[];
  readonly requestBody: readonly Hook<"requestBody">[];
  readonly response: readonly Hook<"response">[];
  readonly body: readonly Hook<"body">[];
  readonly end: readonly Hook<"end">[];

  constructor(named: readonly NamedFilter[], responses: readonly Filter[]) {
    const requests = named.map(({ filter }) => filter);
    this.request = withHook(requests, "request");
    this.requestNames = named.filter(({ filter }) => filter.request !== undefined)
      .map(({ kind }) => kind);
    this.requestBody = withHook(requests, "requestBody");
    this.response = withHook(responses, "response");
    this.body = withHook(responses, "body");
    this.end = withHook(requests, "end");
  }
}

function withHook<K extends keyof Filter>(filters: readonly Filter[], hook: K): Hook<K>[] {
  return filters.filter((filter): filter is Hook<K> => filter[hook] !== undefined);
}
