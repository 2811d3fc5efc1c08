/**
 * The filters of a route, sorted by hook. In: filters in the order of requests, and in that of
 * responses. Out: for each hook those that have it, so that an exchange calls no others.
 */
import type { Filter } from "./filter.ts";

type Hook<K extends keyof Filter> = Filter & Required<Pick<Filter, K>>;

export class FilterChain {
  readonly request: readonly Hook<"request">[];
  readonly requestBody: readonly Hook<"requestBody">[];
  readonly response: readonly Hook<"response">[];
  readonly body: readonly Hook<"body">[];
  readonly end: readonly Hook<"end">[];

  constructor(requests: readonly Filter[], responses: readonly Filter[]) {
    this.request = withHook(requests, "request");
    this.requestBody = withHook(requests, "requestBody");
    this.response = withHook(responses, "response");
    this.body = withHook(responses, "body");
    this.end = withHook(requests, "end");
  }
}

function withHook<K extends keyof Filter>(filters: readonly Filter[], hook: K): Hook<K>[] {
  return filters.filter((filter): filter is Hook<K> => filter[hook] !== undefined);
}
