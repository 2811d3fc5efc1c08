/**
 * One end of an HTTP/2 connection on a real socket, client or server, for tests. In: any bytes, in
 * any order. Out: every frame that the other end has sent, and what came on each stream.
 *
 *     await using peer = await H2Peer.connect(proxy.port);
 *     await peer.send(headers(1, get("/"), { end: true }));
 *     assert.equal((await peer.answer(1)).status, 200);
 *
 * It acknowledges SETTINGS and PING and opens windows again, unless told to be `rude`.
 */
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { HeadDecoder } from "./h2_hpack.ts";
import {
  CODE,
  data,
  type Field,
  FLAG,
  FRAME,
  get,
  headers,
  join,
  ping,
  PREFACE,
  settings,
  SETTINGS_ACK,
  windowUpdate,
} from "./h2_frames.ts";
import { textOf } from "./latin1.ts";
import type { Ending } from "./backend.ts";
import { PlayedBackend } from "./played_backend.ts";

/** A frame that has come. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Uint8Array;
}

/** What has come on one stream so far. */
export class H2Message {
  /** Heads in their order: interim ones, the final one, trailers. */
  readonly heads: (readonly Field[])[] = [];
  /** All of DATA, latin1; no more than the first MiB of it. */
  body = "";
  bytes = 0;
  dataFrames = 0;
  /** END_STREAM has come. */
  ended = false;
  /** The code of RST_STREAM; null while none has come. */
  reset: number | null = null;

  /** Of the last head that has one; 0 while none has come. */
  get status(): number {
    return Number(this.#final.find(([name]) => name === ":status")?.[1] ?? 0);
  }

  /** A field's value in the final head of an answer, or in a request's head; "" where absent. */
  field(name: string): string {
    return this.#final.find((field) => field[0] === name)?.[1] ?? "";
  }

  get trailers(): readonly Field[] | null {
    const last = this.heads.at(-1);
    return this.heads.length > 1 && last !== this.#final ? last! : null;
  }

  /** Nothing more comes. */
  get over(): boolean {
    return this.ended || this.reset !== null;
  }

  get #final(): readonly Field[] {
    return this.heads.findLast((head) => head.some(([name]) => name.startsWith(":"))) ?? [];
  }
}

export interface H2PeerOptions {
  /** Of a server; default: 127.0.0.1. */
  readonly address?: string;
  /** Of our SETTINGS. */
  readonly settings?: readonly (readonly [id: number, value: number])[];
  /** Sends nothing of itself: no preface, no SETTINGS, no acknowledgement, no window. */
  readonly rude?: boolean;
  /** Sends preface, SETTINGS and acknowledgements, but opens no window again. */
  readonly keepsWindows?: boolean;
  /** Does not read before `read` is called. */
  readonly deaf?: boolean;
  /** Over TLS, by this name. */
  readonly tls?: { readonly name: string; readonly ca: string };
}

/** What has not come after this, in ms, will not come. */
const PATIENCE = 30_000;

/** The frames kept of a connection: more are counted only. */
const MAX_FRAMES = 20_000;
const MAX_BODY = 1 << 20;

export class H2Peer {
  /** The first that have come. */
  readonly frames: Frame[] = [];
  /** How many of each type. */
  readonly counts = new Map<number, number>();
  readonly streams = new Map<number, H2Message>();
  /** The last GOAWAY. */
  goAway: { readonly last: number; readonly code: number; readonly debug: string } | null = null;
  /** How many GOAWAY there were. */
  goAways = 0;
  /** How the other end has ended its half. */
  ending: Ending = "";
  /** Bytes that have come. */
  received = 0;
  readonly #connection: Deno.Conn;
  readonly #options: H2PeerOptions;
  readonly #decoder = new HeadDecoder();
  #head: { readonly stream: number; readonly end: boolean; block: Uint8Array } | null = null;
  #pending: Uint8Array = new Uint8Array(0);
  #skipped: number;
  #nextStream = 1;
  #reading: Promise<void> | null = null;
  #sending: Promise<unknown> = Promise.resolve();
  #closed = false;
  #more = Promise.withResolvers<void>();

  /** @param skips bytes before the first frame: a client's preface. */
  private constructor(connection: Deno.Conn, options: H2PeerOptions, skips: number) {
    this.#connection = connection;
    this.#options = options;
    this.#skipped = skips;
    if (!options.deaf) this.read();
  }

  /** A client's end. */
  static async connect(port: number, options: H2PeerOptions = {}): Promise<H2Peer> {
    const peer = new H2Peer(await dial(port, options), options, 0);
    if (!options.rude) await peer.send(PREFACE, settings(options.settings));
    return peer;
  }

  /** A server's end of an accepted connection. */
  static async accept(connection: Deno.Conn, options: H2PeerOptions = {}): Promise<H2Peer> {
    const peer = new H2Peer(connection, options, PREFACE.length);
    if (!options.rude) await peer.send(settings(options.settings));
    return peer;
  }

  /** Sends all of it. False when the other end takes no more. */
  send(...parts: readonly Uint8Array[]): Promise<boolean> {
    const bytes = join(...parts);
    this.#noteStreams(bytes);
    const sending = this.#sending.then(async () => {
      try {
        for (let at = 0; at < bytes.length;) {
          at += await this.#connection.write(bytes.subarray(at));
        }
        return true;
      } catch {
        return false;
      }
    });
    this.#sending = sending;
    return sending;
  }

  /** Sends a request without a body on the next stream and waits for its answer. */
  async ask(path = "/", more: readonly Field[] = [], host = "a.test"): Promise<H2Message> {
    const stream = this.nextStream();
    await this.send(headers(stream, get(path, more, host), { end: true }));
    return await this.answer(stream);
  }

  /** The next id of a client's stream. */
  nextStream(): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    return stream;
  }

  /** The next id is above all that a test has chosen itself. */
  #noteStreams(bytes: Uint8Array): void {
    for (let at = 0; at + 9 <= bytes.length;) {
      const stream = u32At(bytes, at + 5) & 0x7fffffff;
      if (bytes[at + 3] === FRAME.HEADERS && stream >= this.#nextStream && stream % 2 === 1) {
        this.#nextStream = stream + 2;
      }
      at += 9 + (bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2]);
    }
  }

  /** What has come on a stream, which may be nothing yet. */
  stream(id: number): H2Message {
    let message = this.streams.get(id);
    if (message === undefined) this.streams.set(id, message = new H2Message());
    return message;
  }

  /** What came on a stream, once it is over there or the connection is. */
  async answer(id: number): Promise<H2Message> {
    await this.until(`an answer on stream ${id}`, () => this.stream(id).over);
    return this.stream(id);
  }

  /** Waits until something has come of which this holds, or the other end has ended. */
  async until(what: string, condition: () => boolean): Promise<void> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#wake();
    }, PATIENCE);
    try {
      while (!condition() && this.ending === "") {
        if (isLate) throw new Error(`Waited in vain: ${what}`);
        await this.#more.promise;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits until the other end has ended. */
  async ended(): Promise<Ending> {
    await this.until("the connection's end", () => false);
    return this.ending;
  }

  /** True when the other end still answers PING. */
  async isAlive(): Promise<boolean> {
    const before = this.count(FRAME.PING);
    await this.send(ping(0xabcdef));
    await this.until("an answer to PING", () => this.count(FRAME.PING) > before);
    return this.ending === "" && this.goAway === null;
  }

  /** How many frames of a type have come. */
  count(type: number): number {
    return this.counts.get(type) ?? 0;
  }

  /** The value of a setting that the other end has sent last; undefined where it has not. */
  setting(id: number): number | undefined {
    let value: number | undefined;
    for (const { type, flags, payload } of this.frames) {
      if (type !== FRAME.SETTINGS || (flags & FLAG.ACK) !== 0) continue;
      for (let at = 0; at < payload.length; at += 6) {
        if ((payload[at] << 8 | payload[at + 1]) === id) value = u32At(payload, at + 2);
      }
    }
    return value;
  }

  /** Starts to read, where it was deaf. */
  read(): void {
    this.#reading ??= this.#readAll();
  }

  /** Sends FIN and reads on. */
  async finish(): Promise<void> {
    await this.#sending;
    if ("closeWrite" in this.#connection) await this.#connection.closeWrite().catch(() => {});
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.#sending;
    await this.#reading;
  }

  // ── Reading ─────────────────────────────────────────────────────────────────────────────────

  async #readAll(): Promise<void> {
    const buffer = new Uint8Array(256 * 1024);
    try {
      for (;;) {
        const count = await this.#connection.read(buffer);
        if (count === null) break;
        this.received += count;
        this.#take(buffer.subarray(0, count));
      }
      this.ending ||= "closes";
    } catch {
      this.ending ||= "resets";
    }
    this.#wake();
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  #take(bytes: Uint8Array): void {
    let all = this.#pending.length === 0 ? bytes : join(this.#pending, bytes);
    if (this.#skipped > 0) {
      const skipped = Math.min(this.#skipped, all.length);
      this.#skipped -= skipped;
      all = all.subarray(skipped);
    }
    const replies: Uint8Array[] = [];
    let at = 0;
    while (all.length - at >= 9) {
      const length = all[at] << 16 | all[at + 1] << 8 | all[at + 2];
      if (all.length - at < 9 + length) break;
      const frame: Frame = {
        type: all[at + 3],
        flags: all[at + 4],
        stream: u32At(all, at + 5) & 0x7fffffff,
        payload: all.slice(at + 9, at + 9 + length),
      };
      at += 9 + length;
      this.#takeFrame(frame, replies);
    }
    this.#pending = all.slice(at);
    if (replies.length > 0 && !this.#options.rude) this.send(...replies);
    this.#wake();
  }

  #takeFrame(frame: Frame, replies: Uint8Array[]): void {
    const { type, flags, stream, payload } = frame;
    this.counts.set(type, this.count(type) + 1);
    if (this.frames.length < MAX_FRAMES) this.frames.push(frame);
    switch (type) {
      case FRAME.DATA:
        return this.#takeData(frame, replies);
      case FRAME.HEADERS: {
        const block = payload.subarray(
          (flags & FLAG.PADDED ? 1 : 0) + (flags & FLAG.PRIORITY ? 5 : 0),
          payload.length - (flags & FLAG.PADDED ? payload[0] : 0),
        );
        this.#head = { stream, end: (flags & FLAG.END_STREAM) !== 0, block };
        if (flags & FLAG.END_HEADERS) this.#takeHead();
        return;
      }
      case FRAME.CONTINUATION:
        if (this.#head !== null) this.#head.block = join(this.#head.block, payload);
        if (flags & FLAG.END_HEADERS) this.#takeHead();
        return;
      case FRAME.RST_STREAM:
        this.stream(stream).reset = u32At(payload, 0);
        return;
      case FRAME.SETTINGS:
        if (!(flags & FLAG.ACK)) replies.push(SETTINGS_ACK);
        return;
      case FRAME.PING:
        if (!(flags & FLAG.ACK)) replies.push(join(ping(0, true).subarray(0, 9), payload));
        return;
      case FRAME.GOAWAY:
        this.goAways++;
        this.goAway = {
          last: u32At(payload, 0) & 0x7fffffff,
          code: u32At(payload, 4),
          debug: textOf(payload.subarray(8)),
        };
    }
  }

  #takeData({ flags, stream, payload }: Frame, replies: Uint8Array[]): void {
    const content = flags & FLAG.PADDED
      ? payload.subarray(1, payload.length - payload[0])
      : payload;
    const message = this.stream(stream);
    message.dataFrames++;
    message.bytes += content.length;
    if (message.body.length < MAX_BODY) message.body += textOf(content);
    if (flags & FLAG.END_STREAM) message.ended = true;
    if (payload.length === 0 || this.#options.keepsWindows) return;
    replies.push(windowUpdate(0, payload.length));
    if (!message.ended) replies.push(windowUpdate(stream, payload.length));
  }

  #takeHead(): void {
    const { stream, end, block } = this.#head!;
    this.#head = null;
    const message = this.stream(stream);
    message.heads.push(this.#decoder.decode(block));
    if (end) message.ended = true;
  }
}

function u32At(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]) >>> 0;
}

async function dial(port: number, options: H2PeerOptions): Promise<Deno.Conn> {
  const { address = "127.0.0.1", tls } = options;
  const connection = await Deno.connect({ hostname: address, port });
  connection.setNoDelay(true);
  if (tls === undefined) return connection;
  return await Deno.startTls(connection, {
    hostname: tls.name,
    caCerts: [tls.ca],
    alpnProtocols: ["h2"],
  });
}

/** The text of an error code, for messages of tests. */
export function codeName(code: number | null | undefined): string {
  return Object.entries(CODE).find(([, value]) => value === code)?.[0] ?? String(code);
}

/** Plays one connection of a backend, the `index`th (from 0); it is closed when this settles. */
export type H2Play = (peer: H2Peer, index: number) => Promise<void>;

/** A backend of HTTP/2 on a port of its own, that does as it is told. */
export class H2Backend extends PlayedBackend<H2Peer> {
  /** @param certificate for TLS; without it, it speaks h2c. */
  constructor(play: H2Play, options: H2PeerOptions = {}, certificate?: ServerCertificate) {
    super(listenerWith(certificate), (connection) => {
      // Those of TLS have no such switch.
      if (certificate === undefined) connection.setNoDelay(true);
      return H2Peer.accept(connection, options);
    }, play);
  }
}

/** Its connections are as those of TCP, as far as a peer uses them. */
function listenerWith(certificate?: ServerCertificate): Deno.TcpListener {
  const where = { hostname: "127.0.0.1", port: 0 };
  if (certificate === undefined) return Deno.listen(where);
  const { chain: cert, key } = certificate;
  const listener = Deno.listenTls({ ...where, cert, key: key.reveal(), alpnProtocols: ["h2"] });
  return listener as unknown as Deno.TcpListener;
}

/** Answers every request with "ok", as soon as its head has come. */
export async function answerOk(peer: H2Peer): Promise<void> {
  const answered = new Set<number>();
  while (peer.ending === "") {
    for (const [id, { heads, reset }] of peer.streams) {
      if (heads.length === 0 || reset !== null || answered.has(id)) continue;
      answered.add(id);
      await peer.send(
        headers(id, [[":status", "200"], ["content-length", "2"]]),
        data(id, "ok", { end: true }),
      );
    }
    const count = peer.frames.length;
    await peer.until("a frame", () => peer.frames.length !== count).catch(() => {});
  }
}
