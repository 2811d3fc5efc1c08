/**
 * A gRPC client on a connection of HTTP/2, without a schema. In: a port, methods and messages. Out:
 * what became of each call, as it stood in frames.
 */
import { data, type Field, headers } from "./h2_frames.ts";
import { H2Peer, type H2PeerOptions } from "./h2_peer.ts";
import { framesOf, messagesOf } from "./grpc_messages.ts";

/** What became of a call. */
export interface Outcome {
  /** Of HTTP; 0 where no head came. */
  readonly status: number;
  readonly head: Readonly<Record<string, string>>;
  /** Those that have come whole. */
  readonly messages: readonly string[];
  readonly trailers: Readonly<Record<string, string>>;
  /** Of trailers, or of a head without a body; null where there was none. */
  readonly grpcStatus: number | null;
  readonly grpcMessage: string;
  /** One head, and nothing else, with END_STREAM. */
  readonly isTrailersOnly: boolean;
  /** The code of RST_STREAM; null where none came. */
  readonly reset: number | null;
}

export class GrpcClient {
  readonly peer: H2Peer;

  private constructor(peer: H2Peer) {
    this.peer = peer;
  }

  static async connect(port: number, options: H2PeerOptions = {}): Promise<GrpcClient> {
    return new GrpcClient(await H2Peer.connect(port, options));
  }

  /** A call under way, whose messages are still to be sent. */
  async open(method: string, fields: readonly Field[] = []): Promise<GrpcCall> {
    const stream = this.peer.nextStream();
    const path = method.startsWith("/") ? method : `/test.Service/${method}`;
    await this.peer.send(headers(stream, [
      [":method", "POST"],
      [":scheme", "http"],
      [":path", path],
      [":authority", "rpc.test"],
      ["content-type", "application/grpc+proto"],
      ["te", "trailers"],
      ...fields,
    ]));
    return new GrpcCall(this.peer, stream);
  }

  /** A call with all of its messages. */
  async call(
    method: string,
    messages: readonly string[] = ["hello"],
    fields: readonly Field[] = [],
  ): Promise<Outcome> {
    const call = await this.open(method, fields);
    await call.end(messages);
    return await call.outcome();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer[Symbol.asyncDispose]();
  }
}

export class GrpcCall {
  readonly #peer: H2Peer;
  readonly #stream: number;

  constructor(peer: H2Peer, stream: number) {
    this.#peer = peer;
    this.#stream = stream;
  }

  async send(message: string): Promise<void> {
    await this.#peer.send(data(this.#stream, framesOf([message])));
  }

  /** Sends these, and that there are no more. */
  async end(messages: readonly string[] = []): Promise<void> {
    await this.#peer.send(data(this.#stream, framesOf(messages), { end: true }));
  }

  /** Waits until so many messages have come whole, or the call is over. */
  async received(count: number): Promise<readonly string[]> {
    const message = this.#peer.stream(this.#stream);
    const wholes = () => wholeMessages(message.body);
    await this.#peer.until(`${count} messages`, () => message.over || wholes().length >= count);
    return wholes();
  }

  /** What became of it, once it is over. */
  async outcome(): Promise<Outcome> {
    const answer = await this.#peer.answer(this.#stream);
    const head = Object.fromEntries(answer.heads[0] ?? []);
    const trailers = Object.fromEntries(answer.trailers ?? []);
    const isTrailersOnly = answer.heads.length === 1 && answer.ended && answer.dataFrames === 0;
    const from = isTrailersOnly ? head : trailers;
    return {
      status: answer.status,
      head,
      messages: wholeMessages(answer.body),
      trailers,
      grpcStatus: "grpc-status" in from ? Number(from["grpc-status"]) : null,
      grpcMessage: decodeURIComponent(from["grpc-message"] ?? ""),
      isTrailersOnly,
      reset: answer.reset,
    };
  }
}

/** The messages in a body, one character a byte, without one that has only begun. */
function wholeMessages(text: string): string[] {
  const body = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const view = new DataView(body.buffer);
  let end = 0;
  while (end + 5 <= body.length) {
    const next = end + 5 + view.getUint32(end + 1);
    if (next > body.length) break;
    end = next;
  }
  return messagesOf(body.subarray(0, end)).messages;
}
