/**
 * In which order a request and its response meet filters. In: nothing. Out: the names of all, in both orders.
 *
 * The orders are fixed here, not in configuration: which filter comes first decides what others see,
 * and users of ingress-nginx expect the order of nginx's phases.
 */
import type { FilterName, Kind, OwnKind } from "./filter_name.ts";

/** What the order also knows: the redirect to HTTPS, which is no filter of a route. */
export const HTTPS_REDIRECT = "https-redirect";

/** Filters of one kind keep the order of the snapshot: those of the route, then the backend's. */
export const REQUEST_ORDER = inOrder<FilterName>({
  "received-path": true,
  // Checks of other filters take their time too.
  "deadline": true,
  // Of all hosts, so that no setting of a route comes before.
  "blocked-clients": true,
  // nginx responds with `return` before it checks who sends the request, and how.
  "www-redirect": true,
  "redirect": true,
  "request-redirect": true,
  "rewrite": true,
  [HTTPS_REDIRECT]: true,
  "access": true,
  "max-forwards": true,
  "request-host": true,
  "nginx-forwarded-headers": true,
  "request-headers": true,
  "response-headers": true,
  "hsts": true,
  "grpc-web": true,
});

export const RESPONSE_ORDER = inOrder<Kind | OwnKind>({
  "grpc-web": true,
  "request-headers": true,
  "response-headers": true,
  "hsts": true,
  "nginx-forwarded-headers": true,
  "request-host": true,
  "max-forwards": true,
  "access": true,
  "rewrite": true,
  "request-redirect": true,
  "redirect": true,
  "blocked-clients": true,
  "received-path": true,
  "www-redirect": true,
  "deadline": true,
});

/** Names in the order in which they are written; one that is left out is an error of types. */
function inOrder<K extends string>(places: Readonly<Record<K, true>>): readonly K[] {
  return Object.keys(places) as K[];
}
