/**
 * What we have written on a connection of HTTP/2, held against RFC 9113 by someone who shares nothing
 * with the proxy's codec. In: all bytes that we wrote, and all that the peer did. Out: what of it
 * happened on which stream; or an exception that says which rule we broke.
 */
import { type Field, FLAG, FRAME, PREFACE, SETTING } from "../support/h2_frames.ts";
import { HeadDecoder } from "../support/h2_hpack.ts";
import { type RawFrame, splitFrames } from "./frame_list.ts";

/** What was written on one stream. */
export interface WrittenStream {
  readonly heads: (readonly Field[])[];
  bytes: number;
  ended: boolean;
  /** Its RST_STREAM's code, or null. */
  reset: number | null;
}

export interface Written {
  readonly streams: ReadonlyMap<number, WrittenStream>;
  /** Code of the last GOAWAY, and its debug text; null where there was none. */
  readonly goaway: { readonly code: number; readonly debug: string } | null;
  /** Sums of what the peer was granted by WINDOW_UPDATE, by stream, 0 for the connection. */
  readonly granted: ReadonlyMap<number, number>;
}

const MAX_FRAME = 16_384;
const DEFAULT_WINDOW = 65_535;

/** Flags that each type knows; what is not here is never ours to send. */
const FLAGS: ReadonlyMap<number, number> = new Map([
  [FRAME.DATA, FLAG.END_STREAM],
  [FRAME.HEADERS, FLAG.END_STREAM | FLAG.END_HEADERS],
  [FRAME.RST_STREAM, 0],
  [FRAME.SETTINGS, FLAG.ACK],
  [FRAME.PING, FLAG.ACK],
  [FRAME.GOAWAY, 0],
  [FRAME.WINDOW_UPDATE, 0],
  [FRAME.CONTINUATION, FLAG.END_HEADERS],
]);

const CONNECTION_SPECIFIC = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
];

/**
 * @param role whose bytes are checked.
 * @param ours and whether that is all of it: the peer may have gone in the middle of a frame.
 * @param content what all bodies are made of.
 */
export function checkWritten(
  role: "server" | "client",
  ours: { readonly written: Uint8Array; readonly isWhole: boolean },
  peers: Uint8Array,
  content: number,
): Written {
  return new Check(role, peers, content).run(ours.written, ours.isWhole);
}

class Check {
  readonly #role: "server" | "client";
  readonly #content: number;
  readonly #decoder = new HeadDecoder();
  readonly #streams = new Map<number, WrittenStream>();
  readonly #granted = new Map<number, number>();
  /** What the peer lets us send at most, whenever it says so; by stream, 0 for the connection. */
  readonly #credit: ReadonlyMap<number, number>;
  readonly #window: number;
  /** Streams that the peer has begun. */
  readonly #opened: ReadonlySet<number>;
  #goaway: { code: number; debug: string; last: number } | null = null;
  #head: { id: number; ends: boolean; parts: Uint8Array[] } | null = null;
  #lastId = -1;
  #sent = 0;

  constructor(role: "server" | "client", peers: Uint8Array, content: number) {
    this.#role = role;
    this.#content = content;
    const { frames } = splitFrames(peers);
    const credit = new Map<number, number>();
    const windows = [DEFAULT_WINDOW];
    for (const { type, flags, id, payload } of frames) {
      const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
      if (type === FRAME.WINDOW_UPDATE && payload.length === 4) {
        const stream = id & 0x7fffffff;
        credit.set(stream, (credit.get(stream) ?? 0) + (view.getUint32(0) & 0x7fffffff));
      } else if (type === FRAME.SETTINGS && flags === 0) {
        for (let at = 0; at + 6 <= payload.length; at += 6) {
          if (view.getUint16(at) === SETTING.INITIAL_WINDOW_SIZE) {
            windows.push(view.getUint32(at + 2));
          }
        }
      }
    }
    this.#credit = credit;
    this.#window = Math.max(...windows);
    const heads = frames.filter(({ type }) => type === FRAME.HEADERS);
    this.#opened = new Set(heads.map(({ id }) => id & 0x7fffffff));
  }

  run(ours: Uint8Array, isWhole: boolean): Written {
    const { preface, frames, rest } = splitFrames(ours);
    if (isWhole && rest.length > 0) throw new Error("ends within a frame");
    const expected = this.#role === "client" && ours.length >= PREFACE.length ? PREFACE.length : 0;
    if (preface.length !== expected) throw new Error("no preface, or one of a server");
    for (const [index, frame] of frames.entries()) {
      try {
        this.#frame(frame, index);
      } catch (error) {
        const { type, flags, id, length } = frame;
        const which = `frame ${index}, type ${type}, flags ${flags}, stream ${id}, ${length} bytes`;
        throw new Error(`${which}: ${error instanceof Error ? error.message : error}`);
      }
    }
    if (isWhole && this.#head !== null) throw new Error("a head without its end");
    const goaway = this.#goaway;
    return { streams: this.#streams, goaway, granted: this.#granted };
  }

  #frame(frame: RawFrame, index: number): void {
    const { type, flags, id, payload, length } = frame;
    const known = FLAGS.get(type);
    if (known === undefined) throw new Error("a type that we never send");
    if ((flags & ~known) !== 0) throw new Error("a flag that the type does not know");
    if (length > MAX_FRAME) throw new Error("larger than anyone has to take");
    if (id >= 2 ** 31) throw new Error("the reserved bit is set");
    if (index === 0 && (type !== FRAME.SETTINGS || flags !== 0)) {
      throw new Error("no SETTINGS first");
    }
    if (this.#goaway !== null && this.#goaway.code !== 0) throw new Error("behind the last GOAWAY");
    if (this.#head !== null && (type !== FRAME.CONTINUATION || id !== this.#head.id)) {
      throw new Error("within a head");
    }
    const isOfConnection = [FRAME.SETTINGS, FRAME.PING, FRAME.GOAWAY].some((one) => one === type);
    if (isOfConnection && id !== 0) throw new Error("on a stream");
    if (!isOfConnection && type !== FRAME.WINDOW_UPDATE && id === 0) {
      throw new Error("on no stream");
    }
    if (id !== 0) this.#checkId(type, id);
    const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
    switch (type) {
      case FRAME.DATA:
        return this.#data(frame);
      case FRAME.HEADERS:
        if (this.#stream(id).ended) throw new Error("behind END_STREAM");
        this.#head = { id, ends: (flags & FLAG.END_STREAM) !== 0, parts: [] };
        return this.#block(frame);
      case FRAME.CONTINUATION:
        if (this.#head === null) throw new Error("of no head");
        return this.#block(frame);
      case FRAME.RST_STREAM:
        if (length !== 4) throw new Error("of a wrong size");
        // Frames that come behind a reset may be answered by another (RFC 9113 §5.1).
        this.#stream(id, true).reset = view.getUint32(0);
        return;
      case FRAME.SETTINGS:
        if (length % 6 !== 0 || (flags !== 0 && length !== 0)) throw new Error("of a wrong size");
        return;
      case FRAME.PING:
        if (length !== 8) throw new Error("of a wrong size");
        return;
      case FRAME.GOAWAY:
        return this.#checkGoaway(view);
      case FRAME.WINDOW_UPDATE:
        if (length !== 4) throw new Error("of a wrong size");
        return this.#windowUpdate(id, view.getUint32(0));
    }
  }

  /** Server: only what the client began. Client: odd ids, ascending. */
  #checkId(type: number, id: number): void {
    if (this.#role === "server") {
      if (!this.#opened.has(id) && type !== FRAME.RST_STREAM) throw new Error("nobody began it");
      return;
    }
    if (id % 2 === 0) throw new Error("a server's id");
    if (this.#streams.has(id)) return;
    if (type !== FRAME.HEADERS) throw new Error("an idle stream");
    if (id <= this.#lastId) throw new Error("ids descend");
    this.#lastId = id;
  }

  #stream(id: number, isReset = false): WrittenStream {
    let stream = this.#streams.get(id);
    if (stream === undefined) {
      stream = { heads: [], bytes: 0, ended: false, reset: null };
      this.#streams.set(id, stream);
    }
    if (stream.reset !== null && !isReset) throw new Error("behind RST_STREAM");
    return stream;
  }

  #data({ id, flags, length, payload }: RawFrame): void {
    const stream = this.#stream(id);
    if (payload.some((byte) => byte !== this.#content)) throw new Error("rubbish in a body");
    if (stream.ended) throw new Error("behind END_STREAM");
    const final = stream.heads.at(-1);
    if (final === undefined || isInterim(final)) throw new Error("before a head");
    stream.bytes += length;
    this.#sent += length;
    const limit = this.#window + (this.#credit.get(id) ?? 0);
    if (stream.bytes > limit) throw new Error(`past the stream's window of ${limit}`);
    const all = DEFAULT_WINDOW + (this.#credit.get(0) ?? 0);
    if (this.#sent > all) throw new Error(`past the connection's window of ${all}`);
    if ((flags & FLAG.END_STREAM) !== 0) this.#end(stream);
  }

  #block({ id, flags, payload }: RawFrame): void {
    const head = this.#head!;
    head.parts.push(payload);
    if ((flags & FLAG.END_HEADERS) === 0) return;
    this.#head = null;
    const block = Uint8Array.from(head.parts.flatMap((part) => [...part]));
    const stream = this.#stream(id);
    const fields = this.#decoder.decode(block);
    const isTrailers = stream.heads.length > 0 && !isInterim(stream.heads.at(-1)!);
    checkFields(this.#role, fields, isTrailers);
    if (isTrailers && !head.ends) throw new Error("trailers without END_STREAM");
    if (isInterim(fields) && head.ends) throw new Error("an interim answer with END_STREAM");
    stream.heads.push(fields);
    if (head.ends) this.#end(stream);
  }

  #end(stream: WrittenStream): void {
    stream.ended = true;
    const final = stream.heads.find((head) => !isInterim(head))!;
    const status = valueOf(final, ":status");
    const length = valueOf(final, "content-length");
    if (length === undefined || status === "304" || Number(length) === stream.bytes) return;
    // An answer to HEAD says what GET would have got.
    if (this.#role === "server" && stream.bytes === 0) return;
    throw new Error(`${stream.bytes} bytes of ${length}`);
  }

  #checkGoaway(view: DataView): void {
    if (view.byteLength < 8) throw new Error("of a wrong size");
    const last = view.getUint32(0);
    if (this.#goaway !== null && last > this.#goaway.last) throw new Error("the last stream grows");
    let debug = "";
    for (let i = 8; i < view.byteLength; i++) debug += String.fromCharCode(view.getUint8(i));
    this.#goaway = { code: view.getUint32(4), debug, last };
  }

  #windowUpdate(id: number, increment: number): void {
    if (increment === 0 || increment >= 2 ** 31) throw new Error(`an increment of ${increment}`);
    if (id !== 0) this.#stream(id);
    this.#granted.set(id, (this.#granted.get(id) ?? 0) + increment);
  }
}

function valueOf(fields: readonly Field[], name: string): string | undefined {
  return fields.find((field) => field[0] === name)?.[1];
}

function isInterim(fields: readonly Field[]): boolean {
  return valueOf(fields, ":status")?.startsWith("1") ?? false;
}

/** RFC 9113 §8.2, §8.3. */
function checkFields(
  role: "server" | "client",
  fields: readonly Field[],
  isTrailers: boolean,
): void {
  const names = fields.map(([name]) => name);
  const pseudo = names.filter((name) => name.startsWith(":"));
  if (names.slice(pseudo.length).some((name) => name.startsWith(":"))) {
    throw new Error("a pseudo-field behind a field");
  }
  if (new Set(pseudo).size !== pseudo.length) throw new Error("a pseudo-field twice");
  const allowed = isTrailers
    ? []
    : role === "server"
    ? [":status"]
    : [":method", ":scheme", ":path", ":authority", ":protocol"];
  const wrong = pseudo.find((name) => !allowed.includes(name));
  if (wrong !== undefined) throw new Error(`${wrong} does not belong here`);
  if (!isTrailers && pseudo.length === 0) throw new Error("no pseudo-field");
  for (const [name, value] of fields) {
    if (!/^:?[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw new Error(`the name ${name}`);
    // deno-lint-ignore no-control-regex
    if (/[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$/.test(value)) throw new Error(`${name}: ${value}`);
    if (CONNECTION_SPECIFIC.includes(name)) throw new Error(`${name} crosses`);
    if (name === "te" && value !== "trailers") throw new Error(`te: ${value}`);
  }
}
