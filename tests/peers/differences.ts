/**
 * What nginx and we do differently on purpose, as data. In: what a backend or a client got from one
 * of the two. Out: the same without the difference. What is not listed here must be equal.
 */
import type { Received } from "./backend.ts";
import type { Seen } from "./client.ts";
import type { CaseRequest } from "./requests.ts";
import type { Field } from "./wire.ts";

/** Which of the two a view comes from, with its port. */
export interface Side {
  readonly name: "nginx" | "pingress";
  readonly port: number;
}

export interface Difference<View> {
  readonly what: string;
  readonly reason: string;
  /** Whose view shows it: the other's stays as it is, and must be like this one's without it. */
  readonly of: Side["name"] | "both";
  /** The view without the difference; `request` is what the client sent. */
  readonly without: (view: View, side: Side, request: CaseRequest) => View;
}

/** A view of `side` without these differences. */
export function withoutDifferences<View>(
  view: View,
  differences: readonly Difference<View>[],
  side: Side,
  request: CaseRequest,
): View {
  return differences
    .filter((one) => one.of === "both" || one.of === side.name)
    .reduce((left, one) => one.without(left, side, request), view);
}

interface WithFields {
  readonly fields: readonly Field[];
}

/** Drops the fields that `isDropped` names; `name` is in lower case. */
function drop<View extends WithFields>(isDropped: (name: string, value: string) => boolean) {
  return (view: View): View => ({
    ...view,
    fields: view.fields.filter(([name, value]) => !isDropped(name.toLowerCase(), value)),
  });
}

/** Puts `value` in place of the values of fields that `isReplaced` names. */
function replace<View extends WithFields>(
  isReplaced: (name: string, value: string, side: Side) => boolean,
  value: string,
) {
  return (view: View, side: Side): View => ({
    ...view,
    fields: view.fields.map(([name, was]) => [
      name,
      isReplaced(name.toLowerCase(), was, side) ? value : was,
    ]),
  });
}

/** Sorts these fields to the front, the others keep their order. */
function sortFirst<View extends WithFields>(isOwn: (name: string) => boolean) {
  return (view: View): View => {
    const own = view.fields.filter(([name]) => isOwn(name.toLowerCase()));
    const others = view.fields.filter(([name]) => !isOwn(name.toLowerCase()));
    own.sort(([a], [b]) => a.toLowerCase() < b.toLowerCase() ? -1 : 1);
    return { ...view, fields: [...own, ...others] };
  };
}

const REQUEST_OWN = new Set([
  ...["host", "connection", "content-length", "transfer-encoding"],
  ...["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port"],
  ...["x-real-ip", "x-request-id"],
]);
const RESPONSE_OWN = new Set([
  ...["server", "date", "connection", "content-length", "transfer-encoding"],
  ...["content-type", "last-modified", "location", "etag", "accept-ranges", "expires"],
  ...["cache-control", "content-encoding", "www-authenticate", "link"],
]);

/** What each of the two sends to the backend for the same request. */
export const REQUEST_DIFFERENCES: readonly Difference<Received>[] = [
  {
    what: "X-Request-Id's value",
    reason: "each makes up 32 hexadecimal digits",
    of: "both",
    without: replace(
      (name, value) => name === "x-request-id" && /^[0-9a-f]{32}$/.test(value),
      "id",
    ),
  },
  {
    what: "X-Forwarded-Port's value",
    reason: "each names the port that it listens on",
    of: "both",
    without: replace(
      (name, value, { port }) => name === "x-forwarded-port" && value === String(port),
      "port",
    ),
  },
  {
    what: "CDN-Loop, with a mark of its own",
    reason: "it ends forwarding loops (RFC 8586); nginx adds nothing",
    of: "pingress",
    without: drop((name, value) => name === "cdn-loop" && /^pingress-[0-9a-f]{16}$/.test(value)),
  },
  {
    what: "an empty Host, for a client of HTTP/1.0 that sent none",
    reason: "HTTP/1.1 has one in every request (RFC 9112 §3.2); nginx sends none",
    of: "pingress",
    without: (view, _, { host }) =>
      host === null ? drop<Received>((name, value) => name === "host" && value === "")(view) : view,
  },
  {
    what: "tabs around a value",
    reason: "they are no part of it (RFC 9110 §5.5); nginx takes them for one",
    of: "nginx",
    without: (view) => ({
      ...view,
      fields: view.fields.map(([name, value]) => [name, value.replace(/^[ \t]+|[ \t]+$/g, "")]),
    }),
  },
  {
    what: "names with other bytes than letters, digits and hyphens",
    reason: "any token is a name (RFC 9110 §5.1); nginx drops these fields",
    of: "pingress",
    without: drop((name) => !/^[0-9a-z-]+$/.test(name)),
  },
  {
    what: "a length in place of chunks",
    reason:
      "nginx counts a chunked body that came whole with its head; we keep the client's framing",
    of: "nginx",
    without: (view, _, { framing }) =>
      framing === "chunked" && view.framing === "length"
        ? {
          ...view,
          framing: "chunked",
          fields: view.fields.map(([name, value]) =>
            name === "Content-Length" ? ["Transfer-Encoding", "chunked"] : [name, value]
          ),
        }
        : view,
  },
  {
    what: "Expect",
    reason: "the backend decides (RFC 9110 §10.1.1); nginx answers 100 itself",
    of: "pingress",
    without: drop((name) => name === "expect"),
  },
  {
    what: "TE: trailers, with its Connection",
    reason: "we pass trailers on (RFC 9110 §6.5.1, §10.1.4); nginx drops them",
    of: "pingress",
    without: drop((name, value) =>
      (name === "te" && value === "trailers") || (name === "connection" && value === "TE")
    ),
  },
  {
    what: "Max-Forwards of OPTIONS, one lower",
    reason: "each hop counts it down (RFC 9110 §7.6.2); nginx passes it on",
    of: "pingress",
    without: (view, side, request) =>
      request.method === "OPTIONS"
        ? replace<Received>((name, was) => name === "max-forwards" && was === "2", "3")(view, side)
        : view,
  },
  {
    what: "fields that Connection names",
    reason: "they end at each hop (RFC 9110 §7.6.1); nginx passes them on",
    of: "nginx",
    without: drop((name) => name === "x-hop"),
  },
  {
    what: "Proxy-Connection, Proxy-Authorization, Trailer",
    reason:
      "they are for one hop (RFC 9110 §7.6.1, §11.7.2) or for trailers that end here (§6.6.2); " +
      "nginx passes them on",
    of: "nginx",
    without: drop((name) => /^(proxy-connection|proxy-authorization|trailer)$/.test(name)),
  },
  {
    what: "Forwarded, X-Original-*, X-Envoy-* and X-Forwarded-* beyond our own",
    reason: "a client that is not trusted must not speak for a proxy (RFC 7239 §8.1); " +
      "nginx passes them on",
    of: "nginx",
    without: drop((name) => /^(forwarded|x-original-.*|x-envoy-.*|x-forwarded-prefix)$/.test(name)),
  },
  {
    what: "where the proxy's own fields stand",
    reason: "the order of different names means nothing (RFC 9110 §5.3): " +
      "nginx writes its own first, we write Host first and the rest last",
    of: "both",
    without: sortFirst((name) => REQUEST_OWN.has(name)),
  },
];

/** What a client gets from each of the two for the same answer. */
export const RESPONSE_DIFFERENCES: readonly Difference<Seen>[] = [
  {
    what: "Connection: keep-alive to HTTP/1.1",
    reason: "it keeps connections by itself (RFC 9112 §9.3); nginx says so each time",
    of: "nginx",
    without: (view, _, { version }) =>
      version === "HTTP/1.1"
        ? drop<Seen>((name, value) => name === "connection" && value === "keep-alive")(view)
        : view,
  },
  {
    what: "Server, where the backend has none",
    reason: "we give our name (RFC 9110 §10.2.4); nginx, told to pass on the backend's, gives none",
    of: "pingress",
    without: drop((name, value) => name === "server" && value === "pingress"),
  },
  {
    what: "Date, where the backend has none",
    reason: "a recipient with a clock adds it (RFC 9110 §6.6.1); nginx as above",
    of: "pingress",
    without: drop((name, value) => name === "date" && !value.includes("1994")),
  },
  {
    what: "trailers, for a client of HTTP/1.1 that says TE: trailers",
    reason: "we pass them on (RFC 9110 §6.5.1); nginx drops them",
    of: "pingress",
    without: (view, _, { takesTrailers }) => takesTrailers ? { ...view, trailers: [] } : view,
  },
  {
    what: "Trailer, for any other client",
    reason: "no trailers follow (RFC 9110 §6.6.2); nginx passes it on all the same",
    of: "nginx",
    without: (view, _, { takesTrailers }) =>
      takesTrailers ? view : drop<Seen>((name) => name === "trailer")(view),
  },
  {
    what: "103 (Early Hints)",
    reason:
      "we pass interim answers on (RFC 9110 §15.2); nginx before 1.29 takes this one for the " +
      "final answer, so its backend sends none",
    of: "pingress",
    without: (view) => ({
      ...view,
      interim: view.interim.filter(({ line }) => line !== "HTTP/1.1 103 Early Hints"),
    }),
  },
  {
    what: "fields that Connection names",
    reason: "they end at each hop (RFC 9110 §7.6.1); nginx passes them on",
    of: "nginx",
    without: drop((name) => name === "x-hop"),
  },
  {
    what: "Proxy-Authenticate",
    reason: "it is for one hop (RFC 9110 §11.7.1); nginx passes it on",
    of: "nginx",
    without: drop((name) => name === "proxy-authenticate"),
  },
  {
    what: "where the fields stand that nginx reads",
    reason: "the order of different names means nothing (RFC 9110 §5.3): nginx writes these anew " +
      "ahead of the others, we keep the backend's order",
    of: "both",
    without: sortFirst((name) => RESPONSE_OWN.has(name)),
  },
];
