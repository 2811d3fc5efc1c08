/**
 * The head of a request for the stream. In: a request. Out: the token that it shows, or the answer that
 * it gets. Reasons are the same for all who get them: nothing of a request stands in them.
 */
import type { IncomingMessage } from "node:http";
import {
  PROTOCOL_FIELD,
  STREAM_PATH,
  STREAM_PROTOCOL,
  STREAM_TYPE,
} from "../../shared/stream/protocol.ts";

export type Head =
  | { readonly ok: true; readonly token: string }
  | Refused & { readonly ok: false };

export interface Refused {
  readonly status: 400 | 401 | 403 | 404 | 405 | 426 | 503;
  /** One line. */
  readonly reason: string;
}

/** @param path Of the stream, or of another of its kind. */
export function readHead(
  { method, url, headers }: Pick<IncomingMessage, "method" | "url" | "headers">,
  path = STREAM_PATH,
): Head {
  if (url !== path) return refused(404, `the stream is at ${path}`);
  if (method !== "POST") return refused(405, "the stream requires POST");
  const protocol = headers[PROTOCOL_FIELD];
  if (protocol === undefined) return refused(400, `the field ${PROTOCOL_FIELD} is missing`);
  if (protocol !== STREAM_PROTOCOL) {
    return refused(426, `only protocol ${STREAM_PROTOCOL} of the stream is supported`);
  }
  if (headers["content-type"] !== STREAM_TYPE) {
    return refused(400, `the content type must be ${STREAM_TYPE}`);
  }
  const token = /^bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  return token === undefined ? refused(401, "a bearer token is needed") : { ok: true, token };
}

function refused(status: Refused["status"], reason: string): Head {
  return { ok: false, status, reason };
}
