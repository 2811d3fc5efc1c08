/**
 * The filters of a route, sorted by hook. In: filters in the order of requests, and in that of
 * responses. Out: for each hook those that have it, so that an exchange calls no others.
 */
import type { Exchange } from "../http/message.ts";
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
  /** Whether no request needs a `FilteredExchange`. */
  readonly changesRequestAlone: boolean;

  constructor(named: readonly NamedFilter[], responses: readonly Filter[]) {
    const requests = named.map(({ filter }) => filter);
    this.request = withHook(requests, "request");
    this.requestNames = named.filter(({ filter }) => filter.request !== undefined)
      .map(({ kind }) => kind);
    this.requestBody = withHook(requests, "requestBody");
    this.response = withHook(responses, "response");
    this.body = withHook(responses, "body");
    this.end = withHook(requests, "end");
    this.changesRequestAlone = requests.every((filter) => filter.changesRequestAlone === true);
  }

  /** Calls the request hooks, which change nothing else; the one that has thrown, and what, or null. */
  change(x: Exchange): { readonly filter: FilterName; readonly thrown: unknown } | null {
    let at = 0;
    try {
      for (; at < this.request.length; at++) this.request[at].request(x);
    } catch (thrown) {
      return { filter: this.requestNames[at], thrown };
    }
    return null;
  }
}

function withHook<K extends keyof Filter>(filters: readonly Filter[], hook: K): Hook<K>[] {
  return filters.filter((filter): filter is Hook<K> => filter[hook] !== undefined);
}
