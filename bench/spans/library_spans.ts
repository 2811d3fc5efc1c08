/**
 * The same spans by OpenTelemetry's own packages, at their best: attributes of recorded spans only, given
 * all at once, times that need no clock, and neither timers nor promises. In: a number of requests. Out: the
 * spans, in batches of OTLP.
 */
import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import {
  ParentBasedSampler,
  type ReadableSpan,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Exchange } from "../../proxy/http/message.ts";
import { requestIdOf } from "../../proxy/http/forwarded_headers.ts";
import { keepFields } from "../../proxy/telemetry/lines/kept_fields.ts";
import { begin, newExchange, NOW, respond } from "./request.ts";

const SERIALIZERS = { json: JsonTraceSerializer, protobuf: ProtobufTraceSerializer } as const;

export type Encoding = keyof typeof SERIALIZERS;

/** What a `BatchSpanProcessor` exports at once unless it is told otherwise. */
const BATCH_SPANS = 512;

/** As `BatchSpanProcessor`, without its timer. */
class Batches implements SpanProcessor {
  #spans: ReadableSpan[] = [];
  readonly #encoding: Encoding;
  readonly #take: (bytes: Uint8Array) => void;

  constructor(encoding: Encoding, take: (bytes: Uint8Array) => void) {
    this.#encoding = encoding;
    this.#take = take;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    this.#spans.push(span);
    if (this.#spans.length >= BATCH_SPANS) this.flush();
  }

  flush(): void {
    if (this.#spans.length === 0) return;
    const bytes = SERIALIZERS[this.#encoding].serializeRequest(this.#spans);
    if (bytes === undefined) throw new Error("The library serialized no spans");
    this.#spans = [];
    this.#take(bytes);
  }

  forceFlush(): Promise<void> {
    return Promise.resolve();
  }

  shutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** Serves so many requests. @param ratio of sampled ones. */
export function serveWithLibrary(
  requests: number,
  ratio: number,
  encoding: Encoding,
  take: (bytes: Uint8Array) => void,
): void {
  const batches = new Batches(encoding, take);
  const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  const tracer = new TracerProvider({ sampler, spanProcessors: [batches] }).getTracer("pingress");
  const exchange = newExchange();
  for (let i = 0; i < requests; i++) {
    // Room for a traceparent, into which the library's ids are not even written.
    begin(exchange, i, true);
    const server = startOfRequest(tracer, NOW + i);
    respond(exchange, i);
    const client = startOfAttempt(tracer, server, NOW + i);
    if (client.isRecording()) client.setAttributes(ofAttempt(exchange));
    client.end(NOW + i);
    if (server.isRecording()) {
      keepFields(exchange);
      server.setAttributes(ofRequest(exchange));
    }
    server.end(NOW + i);
  }
  batches.flush();
}

/** @param now in ms since the epoch. */
function startOfRequest(tracer: Tracer, now: number): Span {
  return tracer.startSpan(
    "GET /api",
    { kind: SpanKind.SERVER, startTime: now - 1.5 },
    ROOT_CONTEXT,
  );
}

function startOfAttempt(tracer: Tracer, server: Span, now: number): Span {
  const context = trace.setSpan(ROOT_CONTEXT, server);
  return tracer.startSpan("GET", { kind: SpanKind.CLIENT, startTime: now }, context);
}

function ofRequest(exchange: Exchange): Attributes {
  const { record, request, client } = exchange;
  return {
    "http.request.method": record.method,
    "http.response.status_code": record.status,
    "http.route": "/api",
    "url.scheme": "http",
    "url.path": request.path,
    "server.address": request.host,
    "server.port": 80,
    "client.address": record.clientAddress,
    "network.peer.address": client.address,
    "network.peer.port": client.port,
    "network.protocol.version": "1.1",
    "user_agent.original": record.userAgent ?? "",
    "pingress.request_id": requestIdOf(exchange),
    "pingress.route": record.route ?? "",
    "k8s.namespace.name": "default",
    "k8s.service.name": "web",
  };
}

function ofAttempt({ record, request }: Exchange): Attributes {
  const { address, port } = record.endpoint!;
  return {
    "http.request.method": record.method,
    "http.response.status_code": record.status,
    "url.full": `http://${address}:${port}${request.path}`,
    "server.address": address,
    "server.port": port,
    "k8s.namespace.name": "default",
    "k8s.service.name": "web",
  };
}
