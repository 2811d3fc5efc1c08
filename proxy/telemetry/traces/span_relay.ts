/**
 * Spans on their way from the workers to the thread that exports them. In: batches of workers. Out: the same
 * by a port of messages, as long as not too many are on their way; and how many came to what end.
 *
 *     worker ──spans──▶ hub ─▶ SpanRelay ──port──▶ exporter's thread ──OTLP──▶ collector
 */
import type { Logger } from "../../../shared/log.ts";
import type { FromExporter, ToExporter } from "./messages.ts";
import type { SpanDropReason, TraceExport } from "./options.ts";
import type { SpanBatch } from "./tracer.ts";

/** What `/metrics` shows of it. */
export interface ScrapedSpans {
  readonly exported: number;
  readonly dropped: Readonly<Record<SpanDropReason, number>>;
}

/** Bytes that may be on their way to the collector, some five thousand spans; then they are dropped. */
const MAX_QUEUE = 4 * 1024 * 1024;

/** How much later than its time (ms) the exporter may say that it is closed. */
const CLOSE_GRACE = 500;

export class SpanRelay {
  readonly #port: MessagePort;
  readonly #target: Pick<TraceExport, "url">;
  readonly #log: Logger;
  readonly #dropped: Record<SpanDropReason, number> = {
    error_limit: 0,
    queue_full: 0,
    rejected: 0,
    unavailable: 0,
  };
  #exported = 0;
  #queued = 0;
  readonly #closed = Promise.withResolvers<void>();

  constructor(port: MessagePort, target: Pick<TraceExport, "url">, log: Logger) {
    this.#port = port;
    this.#target = target;
    this.#log = log;
    port.onmessage = ({ data }: MessageEvent<FromExporter>) => this.#receive(data);
  }

  /** Bytes on their way to the collector. */
  get queued(): number {
    return this.#queued;
  }

  get scraped(): ScrapedSpans {
    return { exported: this.#exported, dropped: this.#dropped };
  }

  /** Takes a batch of a worker; its bytes are no longer the caller's. */
  take({ bytes, spans, dropped }: SpanBatch): void {
    this.#count(dropped);
    if (spans === 0) return;
    if (this.#queued + bytes.length > MAX_QUEUE) {
      this.#dropped.queue_full += spans;
      return;
    }
    this.#queued += bytes.length;
    this.#post({ kind: "spans", bytes, spans }, [bytes.buffer]);
  }

  /** Settles when all has been sent that could be, or after `timeout` ms and a moment. */
  async close(timeout: number): Promise<void> {
    this.#post({ kind: "close", timeout });
    const late = setTimeout(() => this.#closed.resolve(), timeout + CLOSE_GRACE);
    await this.#closed.promise;
    clearTimeout(late);
    this.#port.close();
  }

  #receive(message: FromExporter): void {
    switch (message.kind) {
      case "settled":
        this.#queued -= message.bytes;
        this.#exported += message.exported;
        this.#count(message.dropped);
        break;
      case "failing":
        this.#report(message.reason);
        break;
      case "closed":
        this.#closed.resolve();
        break;
    }
  }

  #report(reason: string | null): void {
    const { url } = this.#target;
    if (reason === null) this.#log.info("Spans are exported again", { endpoint: url });
    else this.#log.warn("Spans cannot be exported", { endpoint: url, reason });
  }

  #count(dropped: Readonly<Partial<Record<SpanDropReason, number>>>): void {
    for (const [reason, spans] of Object.entries(dropped)) {
      this.#dropped[reason as SpanDropReason] += spans;
    }
  }

  #post(message: ToExporter, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer);
  }
}
