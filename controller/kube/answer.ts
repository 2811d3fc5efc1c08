/**
 * What the API server says. In: a whole answer, or a line of a watch. Out: an object, an event, or
 * how the call failed, as a value. Nothing of an object's content gets into an error: it may be a
 * Secret.
 */
import { isRevision } from "./revision.ts";
import type { HttpAnswer } from "./transport.ts";
import type { ApiError, ApiResult, KubeObject, WatchEvent } from "./types.ts";

/** Characters of the server's message that are kept. */
const MAX_MESSAGE = 1024;

const TYPES: ReadonlySet<unknown> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

export function readAnswer<T>(answer: HttpAnswer | ApiError): ApiResult<T> {
  if (!("status" in answer)) return { ok: false, error: answer };
  const { status, retryAfter, body } = answer;
  const value = parse(body);
  if (status < 200 || status > 299) {
    return { ok: false, error: readStatus(value, status, retryAfter) };
  }
  if (typeof value === "object" && value !== null) return { ok: true, value: value as T };
  return { ok: false, error: garbled("the answer is not JSON") };
}

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes */
export function readEvent(line: string): ApiResult<WatchEvent<KubeObject>> {
  const event = parse(line);
  const type = fieldOf(event, "type");
  const object = fieldOf(event, "object");
  if (type === "ERROR") {
    return { ok: false, error: readStatus(object, Number(fieldOf(object, "code")) || 500, null) };
  }
  const metadata = fieldOf(object, "metadata");
  const isNamed = type === "BOOKMARK" || typeof fieldOf(metadata, "name") === "string";
  if (!TYPES.has(type) || !isRevision(fieldOf(metadata, "resourceVersion")) || !isNamed) {
    return { ok: false, error: garbled("the watch sent what is not an event") };
  }
  return { ok: true, value: event as WatchEvent<KubeObject> };
}

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ */
function readStatus(status: unknown, code: number, retryAfter: number | null): ApiError {
  const reason = fieldOf(status, "reason");
  const message = fieldOf(status, "message");
  return {
    code,
    reason: typeof reason === "string" && reason !== "" ? reason : `Status${code}`,
    message: typeof message === "string" && message !== ""
      ? message.slice(0, MAX_MESSAGE)
      : `the API server answered ${code}`,
    retryAfter,
  };
}

/** An answer that no API server gives: something else speaks in its place. */
export function garbled(message: string): ApiError {
  return { code: 0, reason: "Garbled", message, retryAfter: null };
}

/** Without V8's message, which quotes the text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/**
 * Whether such an answer is about the server, or our access to it, rather than about what was asked
 * for. @param code An HTTP status, or 0 where none came.
 */
export function isOutage(code: number): boolean {
  return code === 0 || code === 401 || code === 403 || code === 429 || code >= 500;
}
