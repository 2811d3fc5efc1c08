/**
 * Answers that an API server, or what stands before it, gives on a bad day. In: a request and the way
 * to the real server. Out: another answer than it would have given.
 */
import type { ApiRequest } from "./api_request.ts";

/** Answers in place of the API server; `forward` asks it, at most once. */
export type Answer = (
  request: ApiRequest,
  forward: () => Promise<Response>,
) => Response | Promise<Response>;

/** 429, as from priority and fairness. */
export function tooManyRequests(retryAfterSeconds: number): Answer {
  const headers = { "retry-after": String(retryAfterSeconds) };
  return () => statusResponse(429, "TooManyRequests", "slow down", headers);
}

/** Any failure: 500, 503, 403, 401. */
export function failure(status: number, reason = "InternalError", message = "injected"): Answer {
  return () => statusResponse(status, reason, message);
}

/** 410 as the status of the answer: to a list, or to a watch. */
export function gone(): Answer {
  return () => statusResponse(410, "Expired", "The resourceVersion is too old");
}

/** 410 as an ERROR event of a watch that began well: what an API server does mostly. */
export function goneInWatch(): Answer {
  const object = statusObject(410, "Expired", "too old resource version: 1 (2)");
  return () => watchResponse(`${JSON.stringify({ type: "ERROR", object })}\n`);
}

/** A watch that says these bytes and ends: garbage, half an event, or nothing. */
export function watchThatSays(text: string): Answer {
  return () => watchResponse(text);
}

/** The list without its members, though its resourceVersion is that of the real one. */
export function emptyList(): Answer {
  return truncatedList(0);
}

/** The list's first members only, and no word of more. */
export function truncatedList(keep: number): Answer {
  return async (_request, forward) => {
    const response = await forward();
    const list = await response.json();
    delete list.metadata.continue;
    delete list.metadata.remainingItemCount;
    list.items = list.items.slice(0, keep);
    return Response.json(list, { status: response.status });
  };
}

/** The real answer, after so many ms. */
export function delayed(ms: number): Answer {
  return async (_request, forward) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return await forward();
  };
}

/** The real answer, when the promise settles. */
export function heldUntil(released: Promise<unknown>): Answer {
  return async (_request, forward) => {
    await released;
    return await forward();
  };
}

/** The real server does it, and the client is told that it failed. */
export function doneButFailed(status = 500): Answer {
  return async (_request, forward) => {
    await (await forward()).body?.cancel();
    return statusResponse(status, "InternalError", "the answer was lost");
  };
}

function statusObject(code: number, reason: string, message: string) {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    code,
  };
}

function statusResponse(
  status: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): Response {
  return Response.json(statusObject(status, reason, message), { status, headers });
}

function watchResponse(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}
