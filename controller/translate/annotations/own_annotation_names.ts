/**
 * The names of our own annotations. In: nothing. Out: each name, and which objects it belongs on
 * (`docs/annotations.md`).
 */

/** Of a Service: how its endpoints are balanced. */
export const BALANCE_ANNOTATION = "pingress.io/balance";

/** Of a Service: whether gRPC-Web is translated. */
export const GRPC_WEB_ANNOTATION = "pingress.io/grpc-web";

/** What all annotations about TLS to a backend begin with. */
export const UPSTREAM_TLS_PREFIX = "pingress.io/upstream-tls-";

export const UPSTREAM_TLS = {
  name: `${UPSTREAM_TLS_PREFIX}name`,
  ca: `${UPSTREAM_TLS_PREFIX}ca`,
  clientCertificate: `${UPSTREAM_TLS_PREFIX}client-certificate`,
  verify: `${UPSTREAM_TLS_PREFIX}verify`,
} as const;

/** Of a Service, in the order of the table in docs/annotations.md. */
export const UPSTREAM_TLS_ANNOTATIONS: readonly string[] = [
  UPSTREAM_TLS.name,
  UPSTREAM_TLS.ca,
  UPSTREAM_TLS.clientCertificate,
  UPSTREAM_TLS.verify,
];

/** Those of them that name a Secret. */
export const SECRET_ANNOTATIONS: readonly string[] = [
  UPSTREAM_TLS.ca,
  UPSTREAM_TLS.clientCertificate,
];

/** Of an IngressClass: how its Ingresses are read. */
export const PROFILE_ANNOTATION = "pingress.io/profile";

/** Of an IngressClass: whether addresses are written to the status of its Ingresses. */
export const STATUS_ANNOTATION = "pingress.io/status";

/** Of an Ingress: which namespaces may serve its hosts too. */
export const SHARE_ANNOTATION = "pingress.io/share-host-with";

/** Where an annotation without a prefix of ingress-nginx stands in its object. */
export function fieldOfOwnAnnotation(name: string): string {
  return `metadata.annotations[${JSON.stringify(name)}]`;
}
