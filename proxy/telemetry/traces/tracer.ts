/**
 * Traces of one worker. In: exchanges at their beginning, their attempts and their end. Out: a traceparent
 * for each attempt, and spans in batches of JSON (`span_line.ts`): of sampled requests, and of some of the
 * others that failed.
 *
 * A request that is not sampled costs 16 random bytes, and no object. Its trace id is the request's id
 * where both are ours, so that either finds the other.
 */
import { ERROR_KINDS, type ErrorCode } from "../../../shared/error_kinds.ts";
import {
  asciiBytes,
  DROPPED,
  fieldId,
  type Fields,
  latin1,
  TRACEPARENT,
  TRACESTATE,
  X_REQUEST_ID,
} from "../../http/fields.ts";
import { TRACEPARENT_INDEX } from "../../http/forwarded_fields.ts";
import { requestIdOf } from "../../http/forwarded_headers.ts";
import {
  type AttemptSpan,
  type Exchange,
  RequestTrace,
  type RouteTracing,
  SAMPLED,
  type Tracing,
  UNSAMPLED,
  UNTRACED,
} from "../../http/message.ts";
import { REQUEST_ID_LENGTH, writeRandomDigits } from "../../http/request_id.ts";
import { turnNow } from "../../io/turn_clock.ts";
import { LineBatch } from "../lines/line_batch.ts";
import { keepFields } from "../lines/kept_fields.ts";
import type { SpanDropReason, TraceOptions } from "./options.ts";
import { type EndedRequest, SpanLine } from "./span_line.ts";
import {
  FLAGS_AT,
  isSampled,
  isTraceparent,
  isTracestate,
  PARENT_ID_AT,
  PARENT_ID_LENGTH,
  TRACE_ID_AT,
  TRACE_ID_LENGTH,
  TRACEPARENT_LENGTH,
} from "../../http/trace_context.ts";

/** From a worker to the main thread. */
export interface SpanBatch {
  readonly kind: "spans";
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly spans: number;
  readonly dropped: Readonly<Partial<Record<SpanDropReason, number>>>;
}

/** A batch leaves at the latest after this, in ms. */
const FLUSH_INTERVAL = 1000;
/** Or when it has this many bytes. */
const BATCH_SIZE = 64 * 1024;
/**
 * Requests whose spans are written at once: where few requests are sampled, the code that writes spans is no longer
 * in the processor's caches when the next one ends.
 */
const WRITTEN_TOGETHER = 16;
/** Spans a second of failed requests that are not sampled: an outage must not flood whoever stores them. */
const ERROR_SPANS = 50;
/**
 * Digits of a trace id that decide whether it is sampled, the first 32 of the 56 random bits that
 * OpenTelemetry's consistent samplers compare: services with the same ratio choose the same traces.
 */
const RANDOM_AT = TRACE_ID_AT + 18;
const RANDOM_DIGITS = 8;

const DIGIT_ZERO = 0x30;
const DIGIT_ONE = 0x31;

export class Tracer {
  /** Dropped since the last batch. */
  #dropped: Partial<Record<SpanDropReason, number>> = {};
  readonly #batch: LineBatch;
  readonly #line: SpanLine;
  /** Of which no spans are written yet. */
  readonly #ended: EndedRequest[] = [];
  /** Traces whose random digits are these or greater are sampled; null: none. */
  readonly #threshold: Uint8Array | null;
  /** The second in which `#errorSpans` were written. */
  #second = NaN;
  #errorSpans = 0;

  /** @param post gets spans of JSON, a comma before each; `bytes` is no longer the tracer's. */
  constructor({ ratio, query }: TraceOptions, post: (batch: SpanBatch) => void) {
    this.#batch = new LineBatch({
      interval: FLUSH_INTERVAL,
      size: BATCH_SIZE,
      writeRest: () => this.#write(),
      send: (bytes, spans) => {
        const dropped = this.#dropped;
        this.#dropped = {};
        post({ kind: "spans", bytes, spans, dropped });
      },
    });
    this.#line = new SpanLine(this.#batch.out, query);
    this.#threshold = thresholdOf(ratio);
  }

  /** A request has been prepared: it gets its place in a trace. */
  begin(exchange: Exchange): void {
    this.#begin(exchange, exchange.client.trusted, "");
  }

  /** It has got a route that says something of traces; before filters and attempts. */
  routed(exchange: Exchange, { isTraced, name, trust }: RouteTracing): void {
    const { record, request: { fields }, added } = exchange;
    if (record.tracing === UNTRACED || added === null) return;
    restore(fields);
    record.trace = null;
    if (isTraced) return this.#begin(exchange, trust ?? exchange.client.trusted, name);
    record.tracing = UNTRACED;
    added.drop(TRACEPARENT_INDEX);
  }

  #begin(exchange: Exchange, trusts: boolean, name: string): void {
    const { record, request: { fields }, added } = exchange;
    if (added === null) return;
    // The request before may have had a route without traces.
    added.ids[TRACEPARENT_INDEX] = TRACEPARENT;
    const at = added.valueStart(TRACEPARENT_INDEX);
    // V8 inlines what every request runs: for most it is to be little.
    const hasContext = hasTraceContext(fields);
    const parent = hasContext ? takeParent(fields, trusts) : -1;
    if (parent === -1) this.#beginRoot(exchange, added, at);
    else beginChild(exchange, fields, parent, added.bytes, at);
    writeRandomDigits(added.bytes, at + PARENT_ID_AT, PARENT_ID_LENGTH);
    const state = hasContext ? takeState(fields, parent !== -1) : "";
    const isChosen = isSampled(added.bytes, at + FLAGS_AT);
    record.tracing = isChosen ? SAMPLED : UNSAMPLED;
    if (name !== "") traceOf(exchange).name = name;
    if (!isChosen) return;
    const trace = traceOf(exchange);
    trace.state = state;
    // Before its own attempts, others may learn of it: who authenticates the request.
    trace.spanId = spanIdIn(added);
    keepFields(exchange);
  }

  /** A new trace, whose id is that of the request unless somebody else has given that. */
  #beginRoot({ client, record }: Exchange, added: Fields, at: number): void {
    const { bytes } = added;
    const id = at + TRACE_ID_AT;
    if (client.trusted && record.hasPeersId) writeRandomDigits(bytes, id, TRACE_ID_LENGTH);
    else {
      const from = added.valueStart(added.find(X_REQUEST_ID));
      // `copyWithin` is a call into V8, which costs more than copying 32 bytes.
      for (let i = 0; i < REQUEST_ID_LENGTH; i++) bytes[id + i] = bytes[from + i];
    }
    setFlags(
      bytes,
      at,
      this.#threshold !== null && isAtLeast(bytes, at + RANDOM_AT, this.#threshold),
    );
  }

  /** An attempt begins: whoever gets the request is told of it. */
  attemptBegins({ record, added }: Exchange): void {
    if (record.tracing === UNTRACED || added === null) return;
    const at = traceparentIn(added);
    if (at !== -1) writeRandomDigits(added.bytes, at + PARENT_ID_AT, PARENT_ID_LENGTH);
  }

  /** An attempt for which `hasSpan` holds has ended. @param status of its final response; 0 for none. */
  attemptEnded(exchange: Exchange, status: number, error: ErrorCode | null): void {
    const { record, added } = exchange;
    if (record.tracing === UNTRACED || record.endpoint === null) return;
    const attempt: AttemptSpan = {
      id: added === null ? "" : spanIdIn(added),
      endpoint: record.endpoint,
      startedAt: record.triedAt,
      endedAt: turnNow(),
      status,
      error,
      resends: record.tries - 1,
    };
    traceOf(exchange).attempts.push(attempt);
  }

  /** A filter has replied in place of the backend. @param status 0 where the client had gone. */
  filterReplied(exchange: Exchange, filter: string, status: number): void {
    const { tracing } = exchange.record;
    if (tracing === SAMPLED || (tracing === UNSAMPLED && status >= 500)) {
      traceOf(exchange).filter = filter;
    }
  }

  /**
   * A request has ended; its trace id where it is sampled and has a span, else null.
   *
   * @param now in ms since the epoch.
   */
  exchangeEnded(exchange: Exchange, now: number): string | null {
    const { record, added } = exchange;
    if (record.tracing === UNTRACED || added === null) return null;
    const isChosen = record.tracing === SAMPLED;
    if (!isChosen && !hasFailed(exchange)) return null;
    const trace = traceOf(exchange);
    const spans = 1 + trace.attempts.length;
    if (!isChosen && !this.#takeErrorSpans(spans)) return this.#drop(spans, "error_limit");
    if (this.#batch.isFull) return this.#drop(spans, "queue_full");
    trace.spanId ||= newSpanId();
    const traceId = traceIdIn(added);
    this.#ended.push(endedRequest(exchange, trace, traceId, now));
    if (this.#ended.length >= WRITTEN_TOGETHER) this.#write();
    this.#batch.added(spans);
    return isChosen ? traceId : null;
  }

  #write(): void {
    // Taken first: a mistake in one must not come back with each of the next.
    for (const request of this.#ended.splice(0)) this.#line.request(request);
  }

  /** Hands over what there is. */
  flush(): void {
    this.#batch.flush();
  }

  /** So many bytes have been taken. */
  taken(bytes: number): void {
    this.#batch.taken(bytes);
  }

  #drop(spans: number, reason: SpanDropReason): null {
    this.#dropped[reason] = (this.#dropped[reason] ?? 0) + spans;
    // A message that has no span says so, too.
    this.#batch.added(0);
    return null;
  }

  #takeErrorSpans(spans: number): boolean {
    const second = Math.floor(turnNow() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#errorSpans = 0;
    }
    if (this.#errorSpans + spans > ERROR_SPANS) return false;
    this.#errorSpans += spans;
    return true;
  }
}

/**
 * Whether a request, or one of its attempts, may have a span: where it is not sampled, only if it has failed.
 *
 * @param status of its response; 0 for none.
 */
export function hasSpan(tracing: Tracing, status: number, error: ErrorCode | null): boolean {
  return tracing === SAMPLED || error !== null || status >= 500;
}

/** With a server's error, be it that of a gRPC call, whose status is 200. */
function hasFailed({ record: { status, error } }: Exchange): boolean {
  return status >= 500 || (error !== null && ERROR_KINDS[error].status >= 500);
}

function traceOf({ record }: Exchange): RequestTrace {
  return record.trace ??= new RequestTrace();
}

function endedRequest(
  exchange: Exchange,
  trace: RequestTrace,
  traceId: string,
  now: number,
): EndedRequest {
  const { record, request, client } = exchange;
  const isRewritten = record.requestedPath !== null;
  return {
    trace,
    traceId,
    isSampled: record.tracing === SAMPLED,
    endedAt: now,
    endedTurn: turnNow(),
    duration: record.duration,
    method: record.method,
    path: record.requestedPath ?? request.path,
    query: isRewritten ? record.requestedQuery : request.query,
    sentPath: request.path,
    sentQuery: request.query,
    host: request.host,
    authority: request.authority,
    isSecure: client.secure,
    clientAddress: record.clientAddress,
    peerAddress: client.address,
    peerPort: client.port,
    version: record.version,
    userAgent: record.userAgent ?? "",
    requestId: requestIdOf(exchange),
    route: record.route ?? "",
    upstream: record.upstream,
    status: record.status,
    error: record.error,
  };
}

/**
 * The least of the random digits that are sampled; null where none are.
 *
 * @param ratio of the traces that are sampled, 0 to 1.
 */
function thresholdOf(ratio: number): Uint8Array | null {
  const least = Math.ceil((1 - ratio) * 16 ** RANDOM_DIGITS);
  if (least >= 16 ** RANDOM_DIGITS) return null;
  return asciiBytes(least.toString(16).padStart(RANDOM_DIGITS, "0"));
}

/** Whether the digits at `at` are as great as `least`: as bytes they have the order of their values. */
function isAtLeast(bytes: Uint8Array, at: number, least: Uint8Array): boolean {
  for (let i = 0; i < least.length; i++) {
    const difference = bytes[at + i] - least[i];
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function hasTraceContext({ ids, count }: Fields): boolean {
  for (let i = 0; i < count; i++) {
    if (ids[i] === TRACEPARENT || ids[i] === TRACESTATE) return true;
  }
  return false;
}

/** The index of the traceparent to be the child of, which ends here; -1 where there is none. */
function takeParent(fields: Fields, trusts: boolean): number {
  const index = fields.find(TRACEPARENT);
  if (index === -1) return -1;
  fields.drop(index);
  let isOnly = true;
  for (let i = fields.find(TRACEPARENT); i !== -1; i = fields.find(TRACEPARENT, i + 1)) {
    fields.drop(i);
    isOnly = false;
  }
  if (!trusts || !isOnly) return -1;
  const isGood = isTraceparent(fields.bytes, fields.valueStart(index), fields.valueEnd(index));
  return isGood ? index : -1;
}

/** The tracestate that goes on with a parent; "" where none does, and then it ends here. */
function takeState(fields: Fields, hasParent: boolean): string {
  const first = fields.find(TRACESTATE);
  if (first === -1) return "";
  let state = fields.value(first);
  for (let i = fields.find(TRACESTATE, first + 1); i !== -1; i = fields.find(TRACESTATE, i + 1)) {
    state += `,${fields.value(i)}`;
  }
  if (hasParent && isTracestate(state)) return state;
  for (let i = first; i !== -1; i = fields.find(TRACESTATE, i + 1)) fields.drop(i);
  return "";
}

/** Undoes what `takeParent` and `takeState` have done. */
function restore(fields: Fields): void {
  for (let i = fields.find(DROPPED); i !== -1; i = fields.find(DROPPED, i + 1)) {
    const id = fieldId(fields.bytes, fields.nameStart(i), fields.nameEnd(i));
    if (id === TRACEPARENT || id === TRACESTATE) fields.ids[i] = id;
  }
}

/** Of the same trace as its parent, and sampled as that is. */
function beginChild(
  exchange: Exchange,
  fields: Fields,
  parent: number,
  bytes: Uint8Array,
  at: number,
): void {
  const from = fields.bytes;
  const start = fields.valueStart(parent);
  for (let i = TRACE_ID_AT; i < TRACE_ID_AT + TRACE_ID_LENGTH; i++) bytes[at + i] = from[start + i];
  setFlags(bytes, at, isSampled(from, start + FLAGS_AT));
  const parentAt = start + PARENT_ID_AT;
  traceOf(exchange).parentId = latin1(from, parentAt, parentAt + PARENT_ID_LENGTH);
}

function setFlags(bytes: Uint8Array, at: number, sampled: boolean): void {
  bytes[at + FLAGS_AT] = DIGIT_ZERO;
  bytes[at + FLAGS_AT + 1] = sampled ? DIGIT_ONE : DIGIT_ZERO;
}

/** Where our traceparent stands; -1 where filters have removed or replaced it. */
function traceparentIn(added: Fields): number {
  const index = added.find(TRACEPARENT);
  if (index === -1) return -1;
  const start = added.valueStart(index);
  return added.valueEnd(index) - start === TRACEPARENT_LENGTH ? start : -1;
}

function spanIdIn(added: Fields): string {
  const at = traceparentIn(added);
  if (at === -1) return newSpanId();
  return latin1(added.bytes, at + PARENT_ID_AT, at + PARENT_ID_AT + PARENT_ID_LENGTH);
}

/** @param added of the exchange as its connection has it. */
function traceIdIn(added: Fields): string {
  const at = added.valueStart(TRACEPARENT_INDEX) + TRACE_ID_AT;
  return latin1(added.bytes, at, at + TRACE_ID_LENGTH);
}

const id = new Uint8Array(PARENT_ID_LENGTH);

function newSpanId(): string {
  writeRandomDigits(id, 0, PARENT_ID_LENGTH);
  return latin1(id, 0, PARENT_ID_LENGTH);
}
