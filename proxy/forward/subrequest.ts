/**
 * Requests that the proxy sends for another request, such as those for authentication. In: an exchange,
 * what to send for it, and where it may go. Out: status and fields of the response; its body is dropped.
 *
 * A subrequest is an exchange of its own, so that it has attempts, time-outs and limits as others do. One
 * for a host of our own routes never leaves the process, and meets the filters of its route.
 */
import { ProxyError } from "../errors.ts";
import { ResponseCache } from "../filters/access/response_cache.ts";
import type { AccessServices, Subrequest, Subresponse } from "../filters/access/services.ts";
import { Cancellation } from "../http/cancellation.ts";
import { changedFields } from "../http/changed_fields.ts";
import { DROPPED, type Fields, fieldsOf, X_FORWARDED_PROTO } from "../http/fields.ts";
import { readAuthority } from "../http/host.ts";
import { requestIdOf } from "../http/forwarded_headers.ts";
import { type Body, NO_BODY } from "../http/body.ts";
import {
  type Client,
  type Duplex,
  type Exchange,
  ExchangeRecord,
  RequestHead,
  type ResponseHead,
  type Serving,
} from "../http/message.ts";
import { Timeout } from "../io/timeout.ts";
import type { CompiledRoute, HttpUpstream } from "../route/route.ts";

/** Where subrequests go. */
export interface SubrequestTargets {
  /** Whether routes name the host, not only any. */
  namesHost(host: string, listener: string): boolean;
  upstream(id: string): HttpUpstream | null;
  /** Id of the route that has taken an exchange; null where it is not known, or has gone. */
  routeOf(exchange: Exchange): string | null;
  /** Serves by the route that takes the exchange, if it is allowed to. */
  route(exchange: Exchange, isAllowed: (route: CompiledRoute) => boolean): Serving;
  /** Serves by an upstream, with the settings of routes that say nothing. */
  forward(exchange: Exchange, upstream: HttpUpstream): Promise<void>;
}

/** Of a body that is dropped: for a longer one the connection is, in bytes. */
const MAX_DROPPED = 64 * 1024;
/** How long such a body may take, in ms. */
const DROP_TIME = 2_000;

/** What filters get of it. */
export function subrequestServices(targets: SubrequestTargets): AccessServices {
  const { send, isSubrequest } = new Subrequests(targets);
  const routeOf = (exchange: Exchange) => targets.routeOf(exchange);
  return { subrequest: send, isSubrequest, routeOf, authCache: new ResponseCache() };
}

class Subrequests {
  readonly #targets: SubrequestTargets;
  readonly #records = new WeakSet<ExchangeRecord>();

  constructor(targets: SubrequestTargets) {
    this.#targets = targets;
  }

  /** Whether an exchange is one of these. */
  readonly isSubrequest = ({ record }: Exchange): boolean => this.#records.has(record);

  /** Rejects with a ProxyError where there is no response. */
  readonly send = async (outer: Exchange, subrequest: Subrequest): Promise<Subresponse> => {
    const { authority, scheme, upstream: id, ownHostsFirst, namespace } = subrequest;
    const host = readAuthority(authority);
    if (host === null) throw new ProxyError("auth_failed", "the URL has no host");
    // It may have waited for a password, or for another request's response, and its client have gone.
    if (outer.isOver) throw outer.cancellation.reason ?? new ProxyError("client_gone");
    const inner = new SubrequestExchange(outer, subrequest, host);
    this.#records.add(inner.record);
    const isNamed = this.#targets.namesHost(host, scheme);
    const isOwn = id === null || (ownHostsFirst && isNamed);
    const upstream = isOwn ? null : this.#targets.upstream(id);
    if (!isOwn && upstream === null) throw new ProxyError("auth_failed", `no upstream ${id}`);
    const cancel = (reason: ProxyError) => inner.cancellation.cancel(reason);
    outer.cancellation.register(cancel);
    try {
      const serving = upstream === null
        ? this.#targets.route(
          inner,
          (route) =>
            namespace === null || (isNamed && host === outer.request.host) ||
            isOf(namespace, route),
        )
        : this.#targets.forward(inner, upstream);
      const unserved = Promise.resolve(serving).then(() => inner.ended());
      return await Promise.race([inner.response, unserved]);
    } finally {
      outer.cancellation.unregister(cancel);
    }
  };
}

/** Whether a route forwards to a backend of a namespace; see `Upstream.id`. */
function isOf(namespace: string, { action }: CompiledRoute): boolean {
  return action.kind === "forward" && action.upstream.id.startsWith(`${namespace}/`);
}

/** Its client is the one of the exchange that it is sent for. */
class SubrequestExchange implements Exchange {
  readonly request = new RequestHead();
  readonly record = new ExchangeRecord();
  readonly payload = null;
  readonly body: Body = NO_BODY;
  readonly client: Client;
  readonly added: Fields;
  readonly addedAuthority = "";
  readonly addedMark = "";
  readonly cancellation = new Cancellation();
  readonly #answered = Promise.withResolvers<Subresponse>();
  #responded = false;

  constructor(outer: Exchange, subrequest: Subrequest, host: string) {
    const { method, authority, path, query, fields, scheme } = subrequest;
    const secure = scheme === "https";
    const { request, record } = this;
    request.method = method;
    request.host = host;
    request.authority = authority;
    request.path = path;
    request.query = query;
    copyFields(fields, request.fields);
    record.startedAt = outer.record.startedAt;
    record.method = method;
    record.hasHead = true;
    record.isLogged = false;
    record.prepared = true;
    record.clientAddress = outer.record.clientAddress;
    const { address, port, localPort, trusted, isExempt } = outer.client;
    this.client = {
      ...{ address, port, localPort, trusted, isExempt, secure },
      listener: scheme,
      certificate: null,
    };
    this.added = addedFields(outer);
    // Nobody waits for it by name.
    this.#answered.promise.catch(() => {});
  }

  get response(): Promise<Subresponse> {
    return this.#answered.promise;
  }

  get responded(): boolean {
    return this.#responded;
  }

  get isOver(): boolean {
    return this.cancellation.reason !== null;
  }

  /** It has been served; its response, or why there is none. */
  ended(): Promise<Subresponse> {
    const { reason } = this.cancellation;
    this.#answered.reject(reason ?? new ProxyError("auth_failed", "there is no response"));
    return this.#answered.promise;
  }

  limitBody(): void {}

  interim(): void {}

  respond({ status, fields, extra }: ResponseHead, body: Body): Promise<void> | void {
    this.#responded = true;
    const { error } = this.record;
    // A local reply says by its code what it is, also where its status is that of another protocol.
    if (error !== null && status < 400) {
      this.#answered.reject(new ProxyError("auth_failed", error));
    } else {
      const all = extra === null ? fields : changedFields(fields, [], extra);
      this.#answered.resolve({ status, fields: all.copy() });
    }
    if (!body.done) return this.#drop(body);
  }

  upgrade(): Promise<Duplex> {
    return Promise.reject(new ProxyError("upstream_malformed", "101 to a subrequest"));
  }

  /** Rejects for a body that is not worth its connection. */
  async #drop(body: Body): Promise<void> {
    const timer = new Timeout(DROP_TIME, () => this.cancellation.cancel(NOT_WAITED_FOR));
    try {
      let bytes = 0;
      for (let view = await body.read(); view !== null; view = await body.read()) {
        bytes += view.length;
        if (bytes > MAX_DROPPED) throw NOT_WAITED_FOR;
      }
    } finally {
      timer.cancel();
    }
  }
}

const NOT_WAITED_FOR = new ProxyError("client_gone", "nobody waits for the rest of the body");

function copyFields(from: Fields, to: Fields): void {
  to.clear(from.bytes);
  for (let i = 0; i < from.count; i++) {
    if (from.ids[i] === DROPPED) continue;
    const { ids } = from;
    to.push(ids[i], from.nameStart(i), from.nameEnd(i), from.valueStart(i), from.valueEnd(i));
  }
}

/**
 * What the proxy says of the client to backends, its id first. Not the scheme: ingress-nginx does not
 * say it to whoever authenticates, as the URL of the subrequest may have another one.
 */
function addedFields(outer: Exchange): Fields {
  const { added, request: { extra } } = outer;
  const pairs: [string, string][] = [["X-Request-Id", requestIdOf(outer)]];
  const addFrom = (fields: Fields, first: number) => {
    for (let i = first; i < fields.count; i++) {
      if (fields.ids[i] === DROPPED || fields.ids[i] === X_FORWARDED_PROTO) continue;
      pairs.push([fields.name(i), fields.value(i)]);
    }
  };
  if (added !== null) addFrom(added, 1);
  // Of filters that come before access, such as the prefix of a rewritten path.
  if (extra !== null) addFrom(extra, 0);
  return fieldsOf(pairs);
}
