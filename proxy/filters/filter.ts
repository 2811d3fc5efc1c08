/**
 * The interface of filters. In: an exchange, at up to five points of its life. Out: changes of it, or
 * a reply in place of the upstream's.
 *
 * One filter serves all requests of its routes, so it keeps what it knows of a request by exchange,
 * and nothing else. `x` is the same object at all points, and belongs to one request alone.
 */
import type { Body } from "../http/body.ts";
import type { Exchange, Reply, ResponseHead } from "../http/message.ts";

/** A hook that throws or rejects ends the request with a 500: filters that decide fail closed. */
export interface Filter {
  /**
   * Its only hook is `request`, which changes nothing but `x.request` and `x.record`, and lets the request
   * go on or throws: where all filters of a route are such, its exchanges need nothing around them.
   */
  readonly changesRequestAlone?: true;
  /**
   * Before an endpoint is chosen. It may change `x.request`, and replace `x.added`, whose fields are
   * other requests' too. Null lets the request go on; a reply passes the response hooks.
   */
  readonly request?: (x: Exchange) => Reply | null | Promise<Reply | null>;
  /**
   * The request's body as the upstream gets it; the very same where it stays as it is. One that has
   * failed must go on to fail.
   */
  readonly requestBody?: (x: Exchange, body: Body) => Body;
  /**
   * Before the head of the final response is sent, be it a local reply or a 101. `head` is a copy: the
   * filter may change it and replace its `fields`.
   */
  readonly response?: (x: Exchange, head: ResponseHead) => void;
  /** After all `response` hooks, where a body follows: the body as the client gets it. */
  readonly body?: (x: Exchange, head: ResponseHead, body: Body) => Body;
  /** Once for each request, after all else. */
  readonly end?: (x: Exchange) => void;
}
