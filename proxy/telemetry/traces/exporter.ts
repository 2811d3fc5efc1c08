/**
 * Sends spans to their collector. In: batches of spans, in JSON. Out: requests of OTLP, one at a time, each
 * tried again for a while where that helps; and what became of each batch.
 *
 * What waits is bounded by whoever gives batches (`span_relay.ts`): each is settled once, and soon.
 */
import { VERSION } from "../../../shared/version.ts";
import { joined } from "../../../shared/bytes.ts";
import type { FromExporter, Settled, ToExporter } from "./messages.ts";
import type { TraceExport } from "./options.ts";
import { type ExportOutcome, exportTo } from "./otlp_client.ts";

export interface ExporterEvents {
  readonly settled: (settled: Settled) => void;
  /** Spans cannot be exported, for this reason; null: they can again. */
  readonly failing: (reason: string | null) => void;
}

/** All times in ms. */
export interface ExporterTimes {
  /** For one request and its response. */
  readonly request: number;
  /** Before the second try; twice as long before each further one. */
  readonly backoff: number;
  /** The longest that a collector may ask to wait. */
  readonly longest: number;
  /** How long spans wait to share a request, which costs 2 to 3 ms of CPU whatever its size. */
  readonly gather: number;
}

export const EXPORTER_TIMES: ExporterTimes = {
  ...{ request: 10_000, backoff: 1000, longest: 30_000 },
  // OpenTelemetry's batch processor waits for 5 s; workers have waited for one already.
  gather: 4000,
};

/** How often a request is sent. */
const TRIES = 5;
/** Of spans in one request, in bytes: collectors take 20 MiB and more, and a smaller one is lost as a whole. */
const MAX_BODY = 1024 * 1024;
/** Waiting spans that are sent at once, in bytes: an eighth of `MAX_QUEUE` in `span_relay.ts`. */
const FULL = 512 * 1024;

const encoder = new TextEncoder();
const FOOTER = encoder.encode("]}]}]}");

interface Batch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly spans: number;
}

export class Exporter {
  readonly #url: string;
  readonly #header: Uint8Array<ArrayBuffer>;
  readonly #events: ExporterEvents;
  readonly #times: ExporterTimes;
  #waiting: Batch[] = [];
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | null = null;
  #failing: string | null = null;
  /** When all must be over, monotonic; Infinity before the end. */
  #deadline = Infinity;
  /** Ends a wait between two tries. */
  #wake: () => void = () => {};

  constructor({ url, serviceName }: TraceExport, events: ExporterEvents, times: ExporterTimes) {
    this.#url = url;
    this.#events = events;
    this.#times = times;
    this.#header = encoder.encode(headerOf(serviceName));
  }

  /** Takes spans of JSON, a comma before each. */
  take(bytes: Uint8Array<ArrayBuffer>, spans: number): void {
    this.#waiting.push({ bytes, spans });
    if (this.#running !== null) return;
    const size = this.#waiting.reduce((sum, { bytes }) => sum + bytes.length, 0);
    if (size >= FULL || this.#deadline !== Infinity) this.#send();
    else this.#gathering ??= setTimeout(() => this.#send(), this.#times.gather);
  }

  /** Sends what waits, for at most `timeout` ms, and nothing again. */
  async close(timeout: number): Promise<void> {
    this.#deadline = performance.now() + timeout;
    this.#wake();
    this.#send();
    await this.#running;
  }

  #send(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    if (this.#waiting.length > 0) this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      const outcome = await this.#deliver(this.#bodyOf(batch.bytes));
      this.#report(outcome);
      this.#events.settled({ bytes: batch.bytes.length, ...resultOf(outcome, batch.spans) });
    }
    this.#running = null;
  }

  #takeBatch(): Batch {
    let count = 0;
    let size = 0;
    let spans = 0;
    for (const batch of this.#waiting) {
      if (count > 0 && size + batch.bytes.length > MAX_BODY) break;
      count++;
      size += batch.bytes.length;
      spans += batch.spans;
    }
    const taken = this.#waiting.splice(0, count);
    return { bytes: joined(taken.map(({ bytes }) => bytes), size), spans };
  }

  #bodyOf(spans: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    // Without the first comma.
    const rest = spans.subarray(1);
    const size = this.#header.length + rest.length + FOOTER.length;
    return joined([this.#header, rest, FOOTER], size);
  }

  async #deliver(body: Uint8Array<ArrayBuffer>): Promise<ExportOutcome> {
    const { request, backoff, longest } = this.#times;
    for (let tries = 1;; tries++) {
      const timeout = Math.min(request, Math.max(this.#deadline - performance.now(), 1));
      const outcome = await exportTo(this.#url, body, timeout);
      if (outcome.kind !== "retry" || tries === TRIES) return outcome;
      // Told before the wait, so that it does not take minutes to be seen.
      this.#report(outcome);
      const wait = outcome.after ?? backoff * 2 ** (tries - 1) * (0.5 + Math.random());
      if (this.#deadline !== Infinity) return outcome;
      await this.#pause(Math.min(wait, longest));
      if (this.#deadline <= performance.now()) return outcome;
    }
  }

  #pause(time: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, time);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Says when that changes. */
  #report(outcome: ExportOutcome): void {
    const reason = outcome.kind === "taken" && outcome.rejected === 0 ? null : outcome.reason;
    if ((reason === null) === (this.#failing === null)) return;
    this.#failing = reason;
    this.#events.failing(reason);
  }
}

/** Serves whoever is at the other end of a port, `SpanRelay`. */
export function exportFrom(
  port: MessagePort,
  target: TraceExport,
  times: ExporterTimes = EXPORTER_TIMES,
): void {
  const post = (message: FromExporter) => port.postMessage(message);
  const exporter = new Exporter(target, {
    settled: (settled) => post({ kind: "settled", ...settled }),
    failing: (reason) => post({ kind: "failing", reason }),
  }, times);
  port.onmessage = ({ data }: MessageEvent<ToExporter>) => {
    if (data.kind === "spans") exporter.take(data.bytes, data.spans);
    else exporter.close(data.timeout).then(() => post({ kind: "closed" }));
  };
}

function resultOf(outcome: ExportOutcome, spans: number): Omit<Settled, "bytes"> {
  switch (outcome.kind) {
    case "taken": {
      const rejected = Math.min(outcome.rejected, spans);
      return { exported: spans - rejected, dropped: rejected === 0 ? {} : { rejected } };
    }
    case "refused":
      return { exported: 0, dropped: { rejected: spans } };
    case "retry":
      return { exported: 0, dropped: { unavailable: spans } };
  }
}

/** What stands before the spans of a request. */
function headerOf(serviceName: string): string {
  const attributes = {
    "service.name": serviceName,
    "service.version": VERSION,
    "service.instance.id": crypto.randomUUID(),
  };
  const resource = {
    attributes: Object.entries(attributes).map(([key, stringValue]) => {
      return { key, value: { stringValue } };
    }),
  };
  const scope = { name: "pingress", version: VERSION };
  return `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${
    JSON.stringify(scope)
  },"spans":[`;
}
