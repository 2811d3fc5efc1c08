/**
 * One HTTP/2 connection to a backend, shared by many requests (RFC 9113). In: a transport. Out: a
 * stream for each request, as many at a time as both sides allow; and word of when it takes more, and
 * when no more.
 */
import type { Buffers } from "../io/buffer_pool.ts";
import { type Deadlined, type Deadlines, NO_DEADLINE } from "../io/deadlines.ts";
import { ProxyError } from "../errors.ts";
import type { Limits } from "../http/limits.ts";
import type { Transport } from "../io/transport.ts";
import { Bucket } from "./abuse.ts";
import { ClientStream, type ClientStreamOwner } from "./client_stream.ts";
import { Connection } from "./connection.ts";
import { errorName, NO_ERROR } from "./frame/error_codes.ts";
import { ENABLE_PUSH, MAX_31_BITS } from "./frame/frame.ts";
import type { HeadDecoder, Role } from "./role.ts";
import { Streams } from "./streams.ts";

export interface Http2ClientContext {
  readonly limits: Limits;
  readonly buffers: Buffers;
  readonly deadlines: Deadlines;
}

/** Past this id it takes no more streams, as ids end (RFC 9113 §5.1.1): those queued get theirs yet. */
const LAST_ID = 0x7fff0000;

/** A window for all streams that does not grow for so long, in ms, holds what the backend does not read. */
const SHUT_TIME = 1_000;

/**
 * Streams that we reset, as their clients have left, after which it takes no more; so many come back a second.
 * Servers end a connection for that, with all that is on it: Go's where 1,000 requests wait behind handlers that
 * run on, nghttp2's after 1,000 with 33 a second. Those under way may be reset yet.
 */
const MAX_RESETS = 500;
const RESETS_PER_SECOND = 33;

export class Http2ClientConnection implements Role<ClientStream>, ClientStreamOwner, Deadlined {
  deadlinePlace = -1;
  readonly core: Connection<ClientStream>;
  readonly isSecure: boolean;
  /** In ms, monotonic. */
  readonly openedAt: number;
  /** Settles with the backend's first SETTINGS; rejects with a ProxyError where they do not come. */
  readonly ready: Promise<void>;
  /** Called when there may be room, and when it takes no more streams for good. */
  onChange: (() => void) | null = null;
  /** Called when the backend does not want HTTP/2 after all; null where it knows nothing else. */
  onRefused: (() => void) | null = null;
  /** It has answered something: that it closes now may only mean that it was idle. */
  hasAnswered = false;
  readonly #context: Http2ClientContext;
  readonly #streams = new Streams<ClientStream>(false);
  readonly #ready: PromiseWithResolvers<void>;
  /** Requests that have a place here, with a stream or before it. */
  #uses = 0;
  #isUsed = false;
  /** For the next requests, as many as there were at a time: each has buffers of its own. */
  readonly #spare: ClientStream[] = [];
  #isLeaving = false;
  #takesHeads = true;
  /** The backend does not read some uploads, and these hold all of the window. */
  #isShut = false;
  /** Since when the window has not been open, nor grown, in ms; and all that it had grown by. */
  #shutSince: number;
  #granted = 0;
  readonly #resets: Bucket;
  #idleDeadline = NO_DEADLINE;

  /** @param isSecure over TLS. */
  constructor(transport: Transport, isSecure: boolean, context: Http2ClientContext) {
    const { limits, buffers, deadlines } = context;
    this.isSecure = isSecure;
    this.openedAt = this.#shutSince = deadlines.now;
    this.#context = context;
    this.#resets = new Bucket(MAX_RESETS, RESETS_PER_SECOND, deadlines.now);
    this.#ready = Promise.withResolvers();
    this.ready = this.#ready.promise;
    // It may end when nobody waits for it.
    this.ready.catch(() => {});
    this.core = new Connection(transport, this, this.#streams, {
      isServer: false,
      limits,
      buffers,
      deadlines,
      codes: {
        gone: "upstream_closed",
        malformed: "upstream_malformed",
        stalled: "upstream_timeout",
      },
      writeRate: 0, // A backend is slow for reasons of its own.
      streamWindow: limits.http2StreamWindow,
      // Streams whose clients are slow hold theirs: that must leave room for all others.
      connectionWindow: Math.min(
        limits.http2StreamWindow * limits.http2UpstreamStreams,
        MAX_31_BITS,
      ),
      headBytes: limits.responseHeadBytes,
      headFields: limits.responseFields,
      settings: [ENABLE_PUSH, 0],
    });
    deadlines.add(this);
    this.core.serve(null);
  }

  /** How many requests it takes at a time. */
  get limit(): number {
    return Math.min(this.#context.limits.http2UpstreamStreams, this.core.peer.maxStreams);
  }

  /** How many more it takes now. */
  get room(): number {
    return this.#isLeaving || this.#isShut ? 0 : Math.max(0, this.limit - this.#uses);
  }

  get isIdle(): boolean {
    return this.#uses === 0;
  }

  /** Requests that have a place may begin: the backend has not said that it takes no more. */
  get takesHeads(): boolean {
    return this.#takesHeads && !this.core.isOver;
  }

  /** It takes no more requests, ever. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** A place for one request; there is room. */
  open(): ClientStream {
    this.#uses++;
    this.#idleDeadline = NO_DEADLINE;
    const stream = this.#spare.pop() ?? new ClientStream(this);
    stream.take(this.hasAnswered ? "proven" : this.#isUsed ? "used" : "new");
    this.#isUsed = true;
    return stream;
  }

  /** Takes no more, and closes once those under way have ended. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.onChange?.();
    if (this.#uses === 0) this.core.end(null);
  }

  /** Closes at once; what is under way fails with `error`. */
  close(error: ProxyError): void {
    this.core.close(error);
  }

  check(now: number): void {
    this.core.check(now);
    this.#lookAtWindow(now);
    if (now >= this.#idleDeadline) this.leave();
  }

  /**
   * An upload that its backend does not read may hold all of what may be sent on all streams. Further requests
   * are given another connection, or uploads among them would wait as long as it does.
   */
  #lookAtWindow(now: number): void {
    const { available, granted } = this.core.window;
    if (available <= 0 && granted === this.#granted) {
      this.#isShut ||= now - this.#shutSince >= SHUT_TIME;
      return;
    }
    this.#granted = granted;
    this.#shutSince = now;
    if (!this.#isShut) return;
    this.#isShut = false;
    this.onChange?.();
  }

  // ── What streams call ───────────────────────────────────────────────────────────────────────

  /** Opens the stream with its head: it gets an id (RFC 9113 §5.1.1). */
  number(stream: ClientStream): void {
    const streams = this.#streams;
    stream.opened(streams.nextId);
    stream.sender.window.available = this.core.peer.initialWindow;
    streams.nextId += 2;
    streams.add(stream);
  }

  /** A request needs its place no more. */
  left(): void {
    this.#uses--;
    if (this.#uses === 0) {
      if (this.#isLeaving) return this.core.end(null);
      const { deadlines, limits } = this.#context;
      this.#idleDeadline = deadlines.in(limits.upstreamIdleTimeout);
    }
    if (this.#streams.nextId > LAST_ID) this.leave();
    else this.onChange?.();
  }

  /** We have reset the stream of a request. */
  wasReset(): void {
    if (!this.#resets.take(this.#context.deadlines.now, 1)) this.leave();
  }

  /** The backend wants to be asked by HTTP/1.1 (RFC 9113 §7). True where it can be. */
  refuse(): boolean {
    if (this.onRefused === null) return false;
    this.onRefused();
    this.leave();
    return true;
  }

  /** Nobody uses it any more: it may serve another request. */
  giveBack(stream: ClientStream): void {
    if (!this.#isLeaving) this.#spare.push(stream);
  }

  // ── What the connection calls ───────────────────────────────────────────────────────────────

  headers(_id: number, stream: ClientStream | null, isEnd: boolean, decoder: HeadDecoder): void {
    if (stream === null) {
      // Of a stream that is over: only the table wants it.
      const { limits } = this.#context;
      const { scratch } = decoder;
      scratch.begin(limits.responseHeadBytes, limits.responseFields, false);
      decoder.decode(scratch);
    } else stream.headReceived(isEnd, decoder);
  }

  dispatched(): boolean {
    return true;
  }

  settingsReceived(): void {
    this.#ready.resolve();
    if (this.#uses === 0 && this.#idleDeadline === NO_DEADLINE) {
      const { deadlines, limits } = this.#context;
      this.#idleDeadline = deadlines.in(limits.upstreamIdleTimeout);
    }
    this.onChange?.();
  }

  goawayReceived(_lastId: number, code: number): void {
    if (code !== NO_ERROR) {
      this.core.failure ??= new ProxyError(
        "upstream_closed",
        `ended the connection with ${errorName(code)}`,
      );
    }
    this.#takesHeads = false;
    this.leave();
  }

  endedFor(): void {}

  /** Every sweep looks at it: there are few. */
  heard(): void {}

  ended(error: ProxyError | null): void {
    this.#context.deadlines.delete(this);
    const failure = error ?? new ProxyError("upstream_closed", "closed the connection");
    this.#ready.reject(failure);
    this.#isLeaving = true;
    this.onChange?.();
  }
}
