/**
 * The access log: a line for each exchange. In: exchanges that have ended. Out: lines in batches, so that
 * thousands of requests cost one write. `json_line.ts` and `nginx_line.ts` say how a line is written.
 */
import { X_REQUEST_ID } from "../../http/fields.ts";
import type { Exchange } from "../../http/message.ts";
import type { AccessLogOptions } from "./options.ts";
import { JsonLine } from "./json_line.ts";
import { LineBatch } from "../lines/line_batch.ts";
import { NginxLine } from "./nginx_line.ts";

/** Where batches go. */
export interface AccessLogSink {
  /** Takes whole lines with their newlines; `bytes` is no longer the caller's. */
  readonly write: (bytes: Uint8Array<ArrayBuffer>, lines: number) => void;
  readonly dropped: (lines: number) => void;
}

/** A batch leaves at the latest after this, in ms. */
const FLUSH_INTERVAL = 100;
/** Or when it has this many bytes. */
const BATCH_SIZE = 64 * 1024;
/** One more than the largest value of `hashOf`. */
const HASHES = 2 ** 32;

export class AccessLog {
  readonly #sink: AccessLogSink;
  readonly #batch: LineBatch;
  readonly #line: JsonLine | NginxLine;
  /** Requests whose id has a smaller hash have a line. */
  readonly #threshold: number;

  constructor({ format, fields, query, ratio }: AccessLogOptions, sink: AccessLogSink) {
    this.#sink = sink;
    this.#batch = new LineBatch({
      interval: FLUSH_INTERVAL,
      size: BATCH_SIZE,
      send: sink.write,
    });
    const { out } = this.#batch;
    this.#line = format === "json" ? new JsonLine(out, fields, query) : new NginxLine(out, query);
    this.#threshold = ratio * HASHES;
  }

  /** Adds an exchange's line, if it has one. `now` in ms since the epoch. */
  add(exchange: Exchange, now: number): void {
    if (this.#threshold < HASHES && !this.#isChosen(exchange)) return;
    if (this.#batch.isFull) return this.#sink.dropped(1);
    this.#line.write(exchange, now);
    this.#batch.added();
  }

  /** Hands over what there is. */
  flush(): void {
    this.#batch.flush();
  }

  /** The writer has taken this many bytes. */
  taken(bytes: number): void {
    this.#batch.taken(bytes);
  }

  /** By its id alone: proxies that pass an id on choose the same requests, whoever comes first. */
  #isChosen({ record, added }: Exchange): boolean {
    if (record.error !== null || record.status >= 500) return true;
    const idAt = added?.find(X_REQUEST_ID) ?? -1;
    if (idAt === -1) return true;
    return hashOf(added!.bytes, added!.valueStart(idAt), added!.valueEnd(idAt)) < this.#threshold;
  }
}

/** 32 bits that are spread evenly also over ids that differ in little (FNV-1a, then murmur3's fmix32). */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
