/**
 * One request of OTLP over HTTP. In: a body of JSON. Out: what the collector has done with it, as far as it
 * can be believed. No response, however slow, long or strange, costs more than its time and 64 KiB.
 *
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp-response
 */
import { parseRetryAfter } from "../../../shared/net/retry_after.ts";

export type ExportOutcome =
  /** `rejected` of its spans were not taken. */
  | { readonly kind: "taken"; readonly rejected: number; readonly reason: string }
  /** It will never be taken. */
  | { readonly kind: "refused"; readonly reason: string }
  /** It may be, later: `after` so many ms, if the collector says so. */
  | { readonly kind: "retry"; readonly reason: string; readonly after: number | null };

/** These may be sent again (OTLP 1.x, "Retryable Response Codes"). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Of a response's body that is read, in bytes. */
const MAX_RESPONSE = 64 * 1024;

/** Sends `body` to `url` within `timeout` ms. Never rejects. */
export async function exportTo(
  url: string,
  body: Uint8Array<ArrayBuffer>,
  timeout: number,
): Promise<ExportOutcome> {
  const signal = AbortSignal.timeout(timeout);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", "User-Agent": "pingress" },
      body,
      // Another host may not be dialled, and what is sent is for this one.
      redirect: "manual",
      signal,
    });
    text = await readText(response, signal);
  } catch (error) {
    const reason = signal.aborted ? `no response in ${Math.ceil(timeout)} ms` : causeOf(error);
    return { kind: "retry", reason, after: null };
  }
  const { status, headers } = response;
  if (RETRYABLE.has(status)) {
    const after = parseRetryAfter(headers.get("Retry-After"), Date.now());
    return { kind: "retry", reason: `status ${status}`, after };
  }
  if (status < 200 || status > 299) return { kind: "refused", reason: `status ${status}` };
  return readResponse(text, status);
}

/** `fetch failed` alone helps nobody: the innermost cause is what the system says. */
function causeOf(error: unknown): string {
  let cause = error;
  for (let depth = 0; depth < 4 && cause instanceof Error && cause.cause; depth++) {
    cause = cause.cause;
  }
  return cause instanceof Error ? cause.message : String(cause);
}

/**
 * What a success says: nothing, `{}`, or how many spans were rejected. A 200 with another body may be any
 * page; OTLP knows no other success, so nothing is asked of the body of a 202.
 */
function readResponse(text: string, status: number): ExportOutcome {
  let parsed: unknown = {};
  try {
    if (text !== "") parsed = JSON.parse(text);
  } catch {
    parsed = null;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return status === 200
      ? { kind: "refused", reason: "the response is none of OTLP: check --otlp-endpoint" }
      : { kind: "taken", rejected: 0, reason: "" };
  }
  const partial = "partialSuccess" in parsed ? parsed.partialSuccess : null;
  if (typeof partial !== "object" || partial === null) {
    return { kind: "taken", rejected: 0, reason: "" };
  }
  const { rejectedSpans, errorMessage } = partial as Record<string, unknown>;
  // As text, since JSON has 64-bit integers so. An object may have no text or number, and would throw.
  const count = typeof rejectedSpans === "string" ? Number(rejectedSpans) : rejectedSpans;
  const rejected = Number.isSafeInteger(count) && (count as number) > 0 ? count as number : 0;
  const message = typeof errorMessage === "string" ? errorMessage.slice(0, 200) : "";
  const reason = message || `the collector rejected ${rejected} span${rejected === 1 ? "" : "s"}`;
  return { kind: "taken", rejected, reason };
}

async function readText(response: Response, signal: AbortSignal): Promise<string> {
  const { body } = response;
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  const reader = body.getReader();
  const abort = () => reader.cancel().catch(() => {});
  signal.addEventListener("abort", abort);
  try {
    while (text.length < MAX_RESPONSE) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    signal.throwIfAborted();
    return text;
  } finally {
    signal.removeEventListener("abort", abort);
    abort();
  }
}
