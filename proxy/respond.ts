/**
 * Our own answers, in this one place. In: an error's code and the exchange that it ends, if a head
 * could be read. Out: a head and a body, plain text or JSON by Accept, with the request's id and
 * never an inner detail.
 */
import { STATUS_CODES } from "node:http";
// @ts-types="@types/negotiator"
import Negotiator from "negotiator";
import { ERROR_KINDS, type ErrorCode } from "./errors.ts";
import { ACCEPT, fieldsOf } from "./fields.ts";
import { requestIdOf } from "./headers.ts";
import { type Body, BytesBody, type Exchange, ResponseHead } from "./message.ts";

/** A backend that is not ready now may be soon: rollouts take seconds. */
const RETRY_AFTER_SECONDS = "5";

/** What is not refused, for Allow: others of a kind that nobody lists go on too. */
export const ALLOW = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

const encoder = new TextEncoder();

/** The answer to `code`. `exchange` is null where the request's fields could not be believed. */
export function answerTo(
  code: ErrorCode,
  exchange: Exchange | null,
): { head: ResponseHead; body: Body } {
  const { status, text } = ERROR_KINDS[code];
  const reason = STATUS_CODES[status] ?? "";
  const requestId = requestIdOf(exchange);
  const json = exchange !== null && prefersJson(exchange);
  const body = encoder.encode(
    json
      ? JSON.stringify({ status, error: reason, message: text, requestId }) + "\n"
      : `${status} ${reason}: ${text}\nRequest id: ${requestId}\n`,
  );
  const fields: [string, string][] = [
    ["Content-Type", json ? "application/json" : "text/plain; charset=utf-8"],
    ["Cache-Control", "no-store"],
    ["X-Request-Id", requestId],
  ];
  if (status === 503) fields.push(["Retry-After", RETRY_AFTER_SECONDS]);
  if (status === 405) fields.push(["Allow", ALLOW]);
  const head = new ResponseHead();
  head.status = status;
  head.reason = reason;
  head.fields = fieldsOf(fields);
  head.bodyLength = head.contentLength = body.length;
  // Whether the request's body has come already, or is still to be waited for, is chance.
  head.closes = exchange !== null && exchange.request.bodyLength !== 0;
  return { head, body: new BytesBody(body) };
}

function prefersJson({ request: { fields } }: Exchange): boolean {
  const values: string[] = [];
  for (let i = fields.find(ACCEPT); i !== -1; i = fields.find(ACCEPT, i + 1)) {
    values.push(fields.value(i));
  }
  if (values.length === 0) return false;
  const headers = { accept: values.join(", ") };
  return new Negotiator({ headers }).mediaType(["text/plain", "application/json"]) ===
    "application/json";
}
