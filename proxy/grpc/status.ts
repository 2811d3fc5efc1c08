/**
 * What our own failures are to gRPC. In: an error's code. Out: the status that a gRPC client gets for
 * it, as a backend would have sent it, and a message that may stand in a field.
 */
import type { ErrorCode } from "../errors.ts";

/** Numbers of the statuses that we answer with (gRPC's doc/statuscodes.md). */
export const GRPC_CODES = {
  UNKNOWN: 2,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcCodeName = keyof typeof GRPC_CODES;

/**
 * The status of each error. What HTTP's status would be taken for (gRPC's
 * doc/http-grpc-status-mapping.md), but where gRPC can say more: a timeout is DEADLINE_EXCEEDED and
 * not UNAVAILABLE, which clients ask for again at once; what is too large is RESOURCE_EXHAUSTED, as
 * of a message that is too large for a gRPC server. Null is answered as HTTP: the client has to read
 * the status itself, or there is nobody to read it.
 */
export const GRPC_STATUS_OF = {
  bad_request: "INTERNAL",
  bad_framing: "INTERNAL",
  bad_host: "INTERNAL",
  bad_target: "INTERNAL",
  bad_chunk: "INTERNAL",
  unauthorized: "UNAUTHENTICATED",
  forbidden: "PERMISSION_DENIED",
  // As of a service or method that a server does not have.
  no_route: "UNIMPLEMENTED",
  method_refused: "UNIMPLEMENTED",
  // The client was too slow, and may be faster next time.
  head_timeout: "UNAVAILABLE",
  body_timeout: "UNAVAILABLE",
  body_too_large: "RESOURCE_EXHAUSTED",
  target_too_long: "RESOURCE_EXHAUSTED",
  too_much_matching: "RESOURCE_EXHAUSTED",
  too_many_bodies: "RESOURCE_EXHAUSTED",
  logins_busy: "UNAVAILABLE",
  head_too_large: "RESOURCE_EXHAUSTED",
  bad_expectation: "INTERNAL",
  // Asks for another connection (RFC 9110 §15.5.20), which is HTTP's business and not the call's.
  misdirected: null,
  deadline_passed: "DEADLINE_EXCEEDED",
  coding_unknown: "UNIMPLEMENTED",
  bad_version: "UNIMPLEMENTED",
  handshake_failed: null,
  client_gone: null,
  tunnel_idle: null,
  client_stalled: null,
  // Configuration that is broken until somebody mends it: to ask again is of no use.
  route_broken: "INTERNAL",
  auth_failed: "UNAVAILABLE",
  // UNAVAILABLE is what clients retry.
  route_closed: "FAILED_PRECONDITION",
  // As route_broken.
  loop_detected: "INTERNAL",
  overloaded: "UNAVAILABLE",
  internal: "INTERNAL",
  connect_failed: "UNAVAILABLE",
  upstream_untrusted: "UNAVAILABLE",
  upstream_refused: "UNAVAILABLE",
  // The call may have been begun: UNAVAILABLE says so too, and clients ask again by their own rules.
  upstream_closed: "UNAVAILABLE",
  upstream_malformed: "UNAVAILABLE",
  no_endpoint: "UNAVAILABLE",
  upstream_timeout: "DEADLINE_EXCEEDED",
} as const satisfies Record<ErrorCode, GrpcCodeName | null>;

/**
 * `text` as the value of `grpc-message`: its UTF-8 with `%` and what is not visible ASCII or a blank
 * as `%XX` (gRPC's doc/PROTOCOL-HTTP2.md, Percent-Encoded).
 */
export function encodeGrpcMessage(text: string): string {
  let encoded = "";
  for (const byte of encoder.encode(text)) {
    encoded += byte >= 0x20 && byte <= 0x7e && byte !== 0x25
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

const encoder = new TextEncoder();
