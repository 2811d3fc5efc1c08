/**
 * A client of HTTP/2 without a socket. In: frames to send, and whether it takes what is written to
 * it. Out: the frames that a `Http2ServerConnection` has written, and in which writes.
 */
import { createBuffers } from "../../proxy/io/buffer_pool.ts";
import { Deadlines } from "../../proxy/io/deadlines.ts";
import { fieldsOf } from "../../proxy/http/fields.ts";
import { Http2ServerConnection } from "../../proxy/http2/server_connection.ts";
import { DEFAULT_LIMITS, type Limits } from "../../proxy/http/limits.ts";
import type { Body } from "../../proxy/http/body.ts";
import { type Exchange, type ExchangeHandler, ResponseHead } from "../../proxy/http/message.ts";
import { localReply } from "../../proxy/forward/local_reply.ts";
import { join, PREFACE, settings } from "./h2_frames.ts";
import { MemoryTransport } from "./memory_transport.ts";

export interface WrittenFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Uint8Array;
}

export class MemoryClient implements Disposable {
  readonly connection: Http2ServerConnection;
  /** Why connections have ended for what this one did. */
  readonly ends: string[] = [];
  readonly ended: Exchange["record"][] = [];
  readonly buffers = createBuffers();
  readonly #transport = new MemoryTransport();
  #parsed = 0;

  constructor(
    handler: ExchangeHandler,
    limits: Partial<Limits> = {},
    deadlines = new Deadlines(),
  ) {
    const client = {
      address: "192.0.2.1",
      port: 1,
      secure: false,
      certificate: null,
      localPort: 80,
      listener: "http",
      trusted: false,
      isExempt: false,
    };
    this.connection = new Http2ServerConnection(this.#transport, client, {
      limits: { ...DEFAULT_LIMITS, ...limits },
      buffers: this.buffers,
      deadlines,
      h2c: true,
      handler,
      localReply,
      isDraining: () => false,
      onExchangeEnd: ({ record }) => this.ended.push(structuredClone(record)),
      onError: () => {},
      onEnd: (reason) => this.ends.push(reason),
    }, null);
    this.connection.serve();
  }

  /** The preface and SETTINGS, with these values. */
  async greet(values: readonly (readonly [number, number])[] = []): Promise<void> {
    await this.send(PREFACE, settings(values));
    this.frames();
  }

  /** All of it arrives at once; settles when nothing is left to do about it. */
  async send(...parts: Uint8Array[]): Promise<void> {
    this.#transport.arrive(join(...parts));
    await this.idle();
  }

  /** Takes nothing from now on. */
  hold(): void {
    this.#transport.held ??= Promise.withResolvers();
  }

  /** Takes all again. */
  async release(): Promise<void> {
    this.#transport.held?.resolve();
    this.#transport.held = null;
    await this.idle();
  }

  /** Nothing here waits for a socket or a clock: a few turns of the event loop do it all. */
  async idle(): Promise<void> {
    for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setTimeout(resolve, 0));
  }

  /** How many writes there have been. */
  get writes(): number {
    return this.#transport.writes.length;
  }

  /** The frames that were written since it was asked last. */
  frames(): WrittenFrame[] {
    const bytes = join(...this.#transport.writes);
    const frames: WrittenFrame[] = [];
    while (bytes.length - this.#parsed >= 9) {
      const at = this.#parsed;
      const length = bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2];
      frames.push({
        type: bytes[at + 3],
        flags: bytes[at + 4],
        stream: new DataView(bytes.buffer, bytes.byteOffset).getUint32(at + 5),
        payload: bytes.slice(at + 9, at + 9 + length),
      });
      this.#parsed += 9 + length;
    }
    return frames;
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }
}

/** A handler that answers 200 with what `body` gives for a path. */
export function answers(body: (path: string) => Body, length = -1): ExchangeHandler {
  return (exchange) => {
    const head = new ResponseHead();
    head.status = 200;
    head.fields = fieldsOf([["content-type", "text/plain"]]);
    head.bodyLength = head.contentLength = length;
    return exchange.respond(head, body(exchange.request.path))?.catch(() => {});
  };
}
