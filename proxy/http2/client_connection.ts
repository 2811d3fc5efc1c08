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

/** After this time (ms) without a WINDOW_UPDATE, an exhausted connection window counts as blocked. */
const BLOCKED_TIME = 1_000;

/**
 * After so many streams that we have reset, mostly as their clients have left, the connection takes no more
 * requests; RESETS_PER_SECOND are forgiven. Servers end a connection with all of its streams for that: Go's once
 * 1,000 requests wait behind handlers that still run, nghttp2's after 1,000, of which 33 a second are forgiven.
 * The limit is lower, as the streams in progress may be reset too.
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
  /** Uploads that the backend does not read hold all of the connection's send window. */
  #isBlocked = false;
  /** Since when the send window has been exhausted without growing, in ms; and all that it had grown by. */
  #blockedSince: number;
  #granted = 0;
  readonly #resets: Bucket;
  #idleDeadline = NO_DEADLINE;

  /** @param isSecure over TLS. */
  constructor(transport: Transport, isSecure: boolean, context: Http2ClientContext) {
    const { limits, buffers, deadlines } = context;
    this.isSecure = isSecure;
    this.openedAt = this.#blockedSince = deadlines.now;
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
    return this.#isLeaving || this.#isBlocked ? 0 : Math.max(0, this.limit - this.#uses);
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
    this.#checkWindow(now);
    if (now >= this.#idleDeadline) this.leave();
  }

  /**
   * An upload that its backend does not read may hold all of the connection's send window. Then further requests
   * get another connection: uploads among them would wait for as long as that one.
   */
  #checkWindow(now: number): void {
    const { available, granted } = this.core.window;
    if (available <= 0 && granted === this.#granted) {
      this.#isBlocked ||= now - this.#blockedSince >= BLOCKED_TIME;
      return;
    }
    this.#granted = granted;
    this.#blockedSince = now;
    if (!this.#isBlocked) return;
    this.#isBlocked = false;
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
