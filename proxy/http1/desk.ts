/**
 * What a connection from a client works with while it has something to do: a head that is read, a
 * body, a record, what writes. In: a connection that a byte has come on. Out: these things. A
 * connection at rest has none, so that ten thousand of them need little.
 *
 * None is ever used for another connection: what still holds a part of it, for whatever reason, can
 * see nothing of another client's.
 */
import type { ProxyError } from "../errors.ts";
import type { Input } from "../io/input.ts";
import { ExchangeRecord, RequestHead } from "../http/message.ts";
import { Output } from "../io/output.ts";
import type { ServerConnectionContext } from "../http/downstream.ts";
import type { Transport } from "../io/transport.ts";
import { HalfClosedClient } from "./half_closed.ts";
import { ReadAhead } from "./read_ahead.ts";
import { RequestBody } from "./request_body.ts";
import type { RequestConnection } from "./request_head.ts";
import { RequestReader } from "./request_reader.ts";

export class Desk {
  readonly request = new RequestHead();
  readonly record = new ExchangeRecord();
  readonly connection: RequestConnection = { keepAlive: false };
  readonly halfClosed = new HalfClosedClient();
  readonly output: Output;
  readonly reader: RequestReader;
  readonly body: RequestBody;
  readonly readAhead: ReadAhead;

  /** @param broke ends the connection when a write fails, as `Output` has it. */
  constructor(
    { limits, buffers, deadlines }: ServerConnectionContext,
    input: Input,
    transport: Transport,
    broke: (cause: unknown) => ProxyError,
  ) {
    this.output = new Output(transport, deadlines, limits.writeTimeout, limits.writeRate, broke);
    this.reader = new RequestReader(input, this.request, this.connection, limits);
    this.body = new RequestBody(input, buffers.bulk, limits, deadlines);
    this.readAhead = new ReadAhead(input, buffers.head, limits.requestHeadBytes);
  }

  /** Nothing is under way on it, and it remembers nothing of its client that counts. */
  get isFree(): boolean {
    return this.output.isFree && !this.body.isBorrowing;
  }
}
