import assert from "node:assert/strict";
import { ERROR_KINDS, type ErrorCode } from "../../shared/error_kinds.ts";
import { CONTENT_TYPE, type Fields, fieldsOf, X_REQUEST_ID } from "../http/fields.ts";
import { NO_BODY } from "../http/body.ts";
import { type Exchange, RequestHead, type ResponseHead } from "../http/message.ts";
import { localReply } from "../forward/local_reply.ts";
import { encodeGrpcMessage } from "./status.ts";

function exchangeOf(fields: [string, string][]): Exchange {
  const request = Object.assign(new RequestHead(), { method: "POST", host: "a.test", path: "/" });
  Object.assign(request.fields, fieldsOf(fields));
  const added = fieldsOf([["X-Request-Id", "some-id"]]);
  return { request, client: { trusted: false }, added } as unknown as Exchange;
}

const GRPC: [string, string][] = [["Content-Type", "application/grpc"], ["TE", "trailers"]];

function field({ fields }: ResponseHead, name: string): string | null {
  return valueOf(fields, name);
}

function valueOf(fields: Fields, name: string): string | null {
  for (let i = 0; i < fields.count; i++) {
    if (fields.name(i).toLowerCase() === name) return fields.value(i);
  }
  return null;
}

/** The status that a gRPC client gets for each error; null for what is answered as HTTP, or never. */
const EXPECTED: Record<ErrorCode, number | null> = {
  bad_request: 13,
  bad_framing: 13,
  bad_host: 13,
  bad_target: 13,
  bad_chunk: 13,
  unauthorized: 16,
  forbidden: 7,
  no_route: 12,
  method_refused: 12,
  head_timeout: 14,
  body_timeout: 14,
  body_too_large: 8,
  target_too_long: 8,
  too_much_matching: 8,
  bad_expectation: 13,
  misdirected: null,
  head_too_large: 8,
  deadline_passed: 4,
  coding_unknown: 12,
  bad_version: 12,
  handshake_failed: null,
  client_gone: null,
  tunnel_idle: null,
  client_stalled: null,
  route_broken: 13,
  auth_failed: 14,
  route_closed: 9,
  loop_detected: 13,
  too_many_bodies: 8,
  logins_busy: 14,
  overloaded: 14,
  internal: 13,
  connect_failed: 14,
  upstream_untrusted: 14,
  upstream_refused: 14,
  upstream_closed: 14,
  upstream_malformed: 14,
  no_endpoint: 14,
  upstream_timeout: 4,
};

for (const [code, status] of Object.entries(EXPECTED) as [ErrorCode, number | null][]) {
  if (ERROR_KINDS[code].status === 0) continue;
  const what = status === null ? "as HTTP" : `with grpc-status ${status}`;
  Deno.test(`${code} of a gRPC request is sent ${what}`, () => {
    const { head, body } = localReply(code, exchangeOf(GRPC));
    assert.equal(field(head, "x-request-id"), "some-id");
    if (status === null) {
      assert.equal(head.status, ERROR_KINDS[code].status);
      assert.equal(field(head, "grpc-status"), null);
      return;
    }
    assert.equal(head.status, 200);
    assert.equal(head.fields.value(head.fields.find(CONTENT_TYPE)), "application/grpc");
    assert.equal(field(head, "grpc-status"), String(status));
    const message = decodeURIComponent(field(head, "grpc-message")!);
    assert.equal(message, ERROR_KINDS[code].text);
    assert.deepEqual([head.bodyLength, head.contentLength, body], [0, -1, NO_BODY]);
  });
}

Deno.test("every error of a request that is not gRPC becomes an HTTP response", () => {
  const types = [[], ["text/html"], ["application/grpc-web+proto"], ["application/grpcish"]];
  for (const code of Object.keys(ERROR_KINDS) as ErrorCode[]) {
    for (const type of types) {
      const fields = type.map((value): [string, string] => ["Content-Type", value]);
      const { head } = localReply(code, exchangeOf(fields));
      assert.equal(head.status, ERROR_KINDS[code].status);
      assert.equal(field(head, "grpc-status"), null);
      assert.notEqual(head.fields.find(X_REQUEST_ID), -1);
    }
  }
});

Deno.test("a message has percent signs and everything but visible ASCII percent-encoded as UTF-8", () => {
  assert.equal(encodeGrpcMessage("No backend is ready"), "No backend is ready");
  assert.equal(encodeGrpcMessage("100 % für\r\n~\x7f"), "100 %25 f%C3%BCr%0D%0A~%7F");
});
