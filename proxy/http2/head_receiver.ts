/**
 * Heads as they come (RFC 9113 §4.3, §6.2, §6.10). In: HEADERS and CONTINUATION frames. Out: whole
 * heads for the role, each decoded once and in its turn, whatever becomes of it: so both sides'
 * tables stay alike.
 */
import type { ConnectionCore, ConnectionParts } from "./connection_core.ts";
import {
  COMPRESSION_ERROR,
  FRAME_SIZE_ERROR,
  PROTOCOL_ERROR,
  STREAM_CLOSED,
} from "./frame/error_codes.ts";
import {
  END_HEADERS,
  END_STREAM,
  FRAME_SIZE,
  HAS_PRIORITY,
  PADDED,
  PRIORITY_SIZE,
  readUint31,
} from "./frame/frame.ts";
import type { FrameRules } from "./frame_rules.ts";
import { HeadAssembly } from "./frame/head_assembly.ts";
import { DEFAULT_TABLE_SIZE, HpackDecoder } from "./hpack/decoder.ts";
import { HeadBlock } from "./hpack/head_block.ts";
import type { HeadDecoder } from "./role.ts";
import type { Stream } from "./stream.ts";

const NOTHING = new Uint8Array(0);

/** Decoded heads that end a turn, in bytes as RFC 9113 §10.5.1 counts: a client pays a byte for 4 KiB. */
const TURN_BYTES = 1024 * 1024;

/** One for all connections. */
const SCRATCH = new HeadBlock();

export class HeadReceiver<S extends Stream> implements HeadDecoder {
  /** Heads of nobody, and trailers: what it holds must be used at once. */
  readonly scratch = SCRATCH;
  /** Bytes of the block that was decoded last. */
  blockSize = 0;
  /** Bytes of heads that have been decoded since `beginTurn`. */
  #decoded = 0;
  readonly #connection: ConnectionCore;
  readonly #parts: ConnectionParts<S>;
  readonly #rules: FrameRules;
  readonly #decoder = new HpackDecoder(DEFAULT_TABLE_SIZE);
  readonly #assembly: HeadAssembly;
  // The block that is being handled.
  #block: Uint8Array = NOTHING;
  #blockStart = 0;
  #blockEnd = 0;
  #isDecoded = true;

  constructor(connection: ConnectionCore, parts: ConnectionParts<S>, rules: FrameRules) {
    this.#connection = connection;
    this.#parts = parts;
    this.#rules = rules;
    // Its coding may make a head longer, if never by so much.
    this.#assembly = new HeadAssembly(2 * parts.options.headBytes + FRAME_SIZE);
  }

  /** So much has been decoded that others must have their turn. */
  get isTurnOver(): boolean {
    return this.#decoded >= TURN_BYTES;
  }

  beginTurn(): void {
    this.#decoded = 0;
  }

  /** The stream whose CONTINUATION must come next; 0 for none. */
  get awaits(): number {
    return this.#assembly.isOpen ? this.#assembly.id : 0;
  }

  /** HEADERS has come. */
  headers(flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    if (id === 0) return connection.fail(PROTOCOL_ERROR, "HEADERS on stream 0");
    const blockEnd = this.#rules.unpadded(flags, bytes, start, end);
    if (blockEnd === -1) return;
    if ((flags & PADDED) !== 0) start++;
    let dependsOn = 0;
    if ((flags & HAS_PRIORITY) !== 0) {
      if (blockEnd - start < PRIORITY_SIZE) {
        return connection.fail(FRAME_SIZE_ERROR, "HEADERS too short for its priority");
      }
      dependsOn = readUint31(bytes, start);
      start += PRIORITY_SIZE;
    }
    this.#parts.budget.headBegun();
    const endStream = (flags & END_STREAM) !== 0;
    const isWrong = dependsOn === id;
    if ((flags & END_HEADERS) === 0) {
      return this.#assembly.begin(id, endStream, isWrong, bytes, start, blockEnd);
    }
    this.#head(id, endStream, isWrong, bytes, start, blockEnd);
  }

  /** CONTINUATION has come. */
  continuation(flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    const assembly = this.#assembly;
    if (!assembly.isOpen) {
      return connection.fail(PROTOCOL_ERROR, "CONTINUATION without HEADERS");
    }
    connection.tally(this.#parts.budget.continuation());
    if (connection.isOver) return;
    if (!assembly.add(bytes, start, end)) return connection.tally("large_heads");
    if ((flags & END_HEADERS) === 0) return;
    const block = assembly.close();
    this.#head(id, assembly.endStream, assembly.isWrong, block, 0, assembly.length);
  }

  /** A whole block has come. Whatever becomes of it, it is decoded: both sides' tables stay alike. */
  #head(
    id: number,
    endStream: boolean,
    isWrong: boolean,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    const connection = this.#connection;
    const { streams, options: { isServer }, role } = this.#parts;
    this.#block = bytes;
    this.#blockStart = start;
    this.#blockEnd = end;
    this.blockSize = end - start;
    this.#isDecoded = false;
    const stream = streams.get(id);
    if (stream === null) {
      const isNew = streams.isPeers(id) && id > streams.lastPeerId;
      if (isServer && !streams.isPeers(id)) {
        return connection.fail(PROTOCOL_ERROR, "HEADERS on a stream of an even number");
      }
      if (!isNew || !isServer) {
        if (this.#rules.isBearable(id, "HEADERS")) this.#discard();
        return;
      }
      streams.openedByPeer(id);
      if (isWrong) {
        if (this.#discard()) connection.refuse(id, PROTOCOL_ERROR);
        return;
      }
    } else if (stream.remoteEnded || isWrong) {
      if (!this.#discard()) return;
      return stream.remoteEnded
        ? this.#rules.streamError(stream, STREAM_CLOSED, "HEADERS behind END_STREAM")
        : this.#rules.streamError(stream, PROTOCOL_ERROR, "a stream that depends on itself");
    }
    role.headers(id, stream, endStream, this);
    if (!this.#isDecoded && !connection.isOver) throw new Error("a head was not decoded");
  }

  /** Decodes the block under way into `head`, which has begun; false where that ends it all. */
  decode(head: HeadBlock): boolean {
    this.#isDecoded = true;
    const error = this.#decoder.decode(this.#block, this.#blockStart, this.#blockEnd, head);
    this.#decoded += head.size;
    if (error === null) return true;
    this.#connection.fail(COMPRESSION_ERROR, error);
    return false;
  }

  /** For the table's sake alone. */
  #discard(): boolean {
    this.scratch.begin(0, 0, false);
    return this.decode(this.scratch);
  }
}
