/**
 * One line per event. In: a level, a constant message and fields. Out: a line of JSON or text in
 * which no value can start a new line, colour a terminal or show a secret (secrets redact
 * themselves through `toJSON`).
 *
 * Logging never throws and never waits: what the output does not take is dropped and counted.
 */
import { joined } from "./bytes.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = typeof LOG_LEVELS[number];

/** `auto`: text at a terminal, else JSON. */
export const LOG_FORMATS = ["auto", "json", "text"] as const;
export type LogFormat = typeof LOG_FORMATS[number];

export type LogFields = Record<string, unknown>;

/** The message is constant, so that it can be searched for; what varies goes into the fields. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface LoggerOptions {
  /** Events below it are not written. */
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Takes one line with its newline. Default: standard output, see `standardOutput`. */
  readonly write?: (line: string) => void;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** A logger whose methods never throw, whatever fields hold and whatever `write` does. */
export function createLogger(options: LoggerOptions): Logger {
  const write = options.write ?? ((line: string) => standardOutput().write(line));
  const now = options.now ?? Date.now;
  const format = isJson(options.format) ? formatJson : formatText;
  const lowest = LOG_LEVELS.indexOf(options.level);
  const logAt = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return () => {};
    return (message: string, fields?: LogFields) => {
      try {
        write(format(new Date(now()).toISOString(), level, message, fields));
      } catch {
        // An output that throws has lost the line already; the request being logged goes on.
      }
    };
  };
  return {
    debug: logAt("debug"),
    info: logAt("info"),
    warn: logAt("warn"),
    error: logAt("error"),
  };
}

function isJson(format: LogFormat): boolean {
  return format === "json" || (format === "auto" && !Deno.stdout.isTerminal());
}

/** A logger that writes nothing, for tests and for callers that were given none. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};

/** Longer strings are cut: one request with a target of 32 KiB must not fill a disk. */
const MAX_STRING = 4096;

const OWN_FIELDS = new Set(["time", "level", "message"]);

function formatJson(time: string, level: LogLevel, message: string, fields?: LogFields): string {
  let line = `{"time":"${time}","level":"${level}","message":${encode(message)}`;
  for (const [name, value] of Object.entries(fields ?? {})) {
    const text = encode(value);
    if (text === undefined) continue;
    line += `,${encode(OWN_FIELDS.has(name) ? `${name}_` : name)}:${text}`;
  }
  return `${line}}\n`;
}

function formatText(time: string, level: LogLevel, message: string, fields?: LogFields): string {
  const shown = encode(message)!.slice(1, -1).replaceAll('\\"', '"');
  let line = `${time} ${level.toUpperCase().padEnd(5)} ${shown}`;
  for (const [name, value] of Object.entries(fields ?? {})) {
    const text = encode(value);
    if (text === undefined) continue;
    line += ` ${bare(encode(name)!)}=${bare(text)}`;
  }
  return `${line}\n`;
}

/** A JSON string without its quotes where no reader could take it for something else. */
function bare(json: string): string {
  return /^"[\w.:/@+*%-]+"$/.test(json) ? json.slice(1, -1) : json;
}

/** Characters that JSON leaves as they are and a terminal or a log viewer acts on: DEL, C1, line and direction controls. */
const UNSAFE = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

function encode(value: unknown): string | undefined {
  let json: string | undefined;
  try {
    json = JSON.stringify(value, printable);
  } catch {
    json = '"[cannot be shown]"';
  }
  return json === undefined ? undefined : escapeUnsafe(json);
}

/** JSON text that shows as it is written: what a terminal would act on leaves as escapes. */
export function escapeUnsafe(json: string): string {
  return json.replace(
    UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function printable(_key: string, value: unknown): unknown {
  if (typeof value === "string" && value.length > MAX_STRING) {
    // Half of a surrogate pair would be no Unicode text, which strict readers of JSON refuse.
    return `${value.slice(0, MAX_STRING).toWellFormed()}… (${value.length} characters)`;
  }
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Error) return describeError(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}

/** `ConnectionRefused: … (because …)`: the chain of causes without stacks. */
function describeError(error: Error): string {
  let text = `${error.name}: ${error.message}`;
  let cause = error.cause;
  for (let depth = 0; depth < 4 && cause instanceof Error; depth++, cause = cause.cause) {
    text += ` (because ${cause.name}: ${cause.message})`;
  }
  return text;
}

/** The part of `Deno.stdout` that is used here. */
export interface ByteWriter {
  write(bytes: Uint8Array): Promise<number>;
}

/** Bytes that may wait for a slow reader of the log before lines are dropped. */
const MAX_WAITING = 1024 * 1024;

/** The share of it that batches leave to events: a flood of requests must not hide what went wrong. */
const EVENT_SHARE = 1 / 8;

/**
 * Writes lines in order to a stream that may be slow, full or closed, holding at most 1 MiB.
 * What does not fit is dropped; the next line that fits is preceded by one that says how many. Lines
 * come back when a full disk has room again; after a reader has gone there is nobody to come back to.
 */
export class LineOutput {
  #target: ByteWriter;
  #maxWaiting: number;
  #encoder = new TextEncoder();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | null = null;
  #closed = false;
  readonly #gone = Promise.withResolvers<void>();
  #torn = false;
  #dropped = 0;
  #unreported = 0;

  constructor(target: ByteWriter, maxWaiting = MAX_WAITING) {
    this.#target = target;
    this.#maxWaiting = maxWaiting;
  }

  /** Settles once the reader has gone: nothing is written from then on. */
  get closed(): Promise<void> {
    return this.#gone.promise;
  }

  /** Lines lost since the start, because the reader was too slow or gone. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    this.#take(this.#encoder.encode(line), 1, this.#maxWaiting);
  }

  /** Takes whole lines with their newlines at once. `bytes` is no longer the caller's. */
  writeBatch(bytes: Uint8Array, lines: number): void {
    this.#take(bytes, lines, this.#maxWaiting * (1 - EVENT_SHARE));
  }

  /** Waits until all that was taken is written, or until the stream is gone, or for `timeout` ms. */
  async flush(timeout = 1000): Promise<void> {
    if (this.#writing === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, timeout));
    await Promise.race([this.#writing, late]);
    clearTimeout(timer);
  }

  #take(bytes: Uint8Array, lines: number, maxWaiting: number): void {
    if (this.#closed || this.#waitingBytes + bytes.length > maxWaiting) {
      this.#drop(lines);
      return;
    }
    if (this.#unreported > 0) {
      const time = new Date().toISOString();
      const reported = this.#unreported;
      const report = `{"time":"${time}","level":"warn","message":"log lines dropped",` +
        `"count":${reported}}\n`;
      this.#unreported = 0;
      this.#push({ bytes: this.#encoder.encode(report), lines: 0, reported });
    }
    this.#push({ bytes, lines, reported: 0 });
    this.#writing ??= this.#drain();
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#unreported += lines;
  }

  #push(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#waitingBytes += waiting.bytes.length;
  }

  /** One write for all that waits: a burst of events costs a few system calls, not one each. */
  async #drain(): Promise<void> {
    // Starts after the current task, so that events of one turn share a write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      const batch = joined(waiting.map(({ bytes }) => bytes), this.#waitingBytes);
      this.#waiting = [];
      await this.#send(batch, waiting);
      this.#waitingBytes -= batch.length;
    }
    this.#writing = null;
  }

  async #send(batch: Uint8Array, waiting: readonly Waiting[]): Promise<void> {
    let sent = 0;
    try {
      if (this.#torn) {
        await this.#target.write(NEWLINE);
        this.#torn = false;
      }
      while (sent < batch.length) sent += await this.#target.write(batch.subarray(sent));
    } catch (error) {
      if (sent > 0) this.#torn = batch[sent - 1] !== NEWLINE[0];
      for (const { bytes, lines, reported } of waiting) {
        sent -= bytes.length;
        if (sent >= 0) continue;
        this.#drop(lines);
        this.#unreported += reported;
      }
      // The reader is gone (EPIPE): there is nobody left to tell. A disk that is full may empty.
      if (error instanceof Deno.errors.BrokenPipe) this.#close();
    }
  }

  #close(): void {
    this.#closed = true;
    for (const { bytes, lines } of this.#waiting) {
      this.#waitingBytes -= bytes.length;
      this.#drop(lines);
    }
    this.#waiting = [];
    this.#gone.resolve();
  }
}

/** Lines that wait together. */
interface Waiting {
  readonly bytes: Uint8Array;
  readonly lines: number;
  /** Lines whose loss it tells of. */
  readonly reported: number;
}

const NEWLINE = Uint8Array.of(0x0a);

let standard: LineOutput | null = null;

/** The one output of this process; `await standardOutput().flush()` before `Deno.exit`. */
export function standardOutput(): LineOutput {
  return standard ??= new LineOutput(Deno.stdout);
}
