/**
 * The answers of one connection from a client. In: heads and bodies, of a backend or our own. Out: the
 * bytes for this client, in order, whether the connection ends behind them, and what became of each.
 */
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import { type Fields, X_REQUEST_ID } from "../http/fields.ts";
import { Input } from "../io/input.ts";
import {
  type Body,
  type Client,
  type Duplex,
  type Exchange,
  type ExchangeRecord,
  type RequestHead,
  type ResponseHead,
  UNKNOWN_LENGTH,
} from "../http/message.ts";
import type { ServerConnectionContext } from "../http/downstream.ts";
import type { Transport } from "../io/transport.ts";
import { turnNow } from "../io/turn_clock.ts";
import type { Desk } from "./desk.ts";
import { sendResponse } from "./response_sender.ts";
import { interimBytes, responseFraming, switchingBytes } from "./response_writer.ts";

/** What answers an exchange, and tells of it; `ServerConnection` is the rest. */
export abstract class Answers implements Exchange {
  readonly client: Client;
  payload: Uint8Array | null = null;
  added: Fields | null = null;
  addedAuthority = "";
  addedMark = "";
  onAbort: ((error: ProxyError) => void) | null = null;
  responded = false;
  protected readonly transport: Transport;
  protected readonly context: ServerConnectionContext;
  protected readonly input: Input;
  /** What it works with; null while it rests. */
  protected desk: Desk | null = null;
  /** How many have begun. */
  protected requests = 0;
  /** The connection ends behind the answer under way, whose client has been told. */
  protected closeAfter = false;
  /** The next answer is to be the last. */
  protected retired = false;
  /** Why it has been ended; nothing more is sent. */
  protected failure: ProxyError | null = null;

  constructor(transport: Transport, client: Client, context: ServerConnectionContext) {
    const { buffers } = context;
    this.transport = transport;
    this.context = context;
    this.client = client;
    this.input = new Input(transport, buffers.head, buffers.idle);
  }

  abstract readonly isOver: boolean;

  /** Ends the connection for a reason; the exchange under way learns it. */
  protected abstract fail(error: ProxyError): void;

  /** From now on bytes pass both ways. */
  protected abstract tunnelBegins(): void;

  get request(): RequestHead {
    return this.desk!.request;
  }

  get record(): ExchangeRecord {
    return this.desk!.record;
  }

  get body(): Body {
    return this.desk!.body;
  }

  interim(head: ResponseHead): Promise<void> | void {
    // RFC 9110 §15.2: HTTP/1.0 knows no interim responses.
    if (this.request.version === 10 || this.responded) return;
    if (head.status === 100) this.desk!.body.continues();
    // Written down now: the head is the backend's connection's, which may end meanwhile.
    const bytes = interimBytes(head);
    return this.desk!.output.after(() => this.#write(bytes));
  }

  async upgrade(head: ResponseHead): Promise<Duplex> {
    this.responded = true;
    this.record.status = 101;
    this.closeAfter = true;
    await this.desk!.output.after(() => this.#write(switchingBytes(head, this.request.upgrade)));
    this.tunnelBegins();
    this.record.bytesIn += this.desk!.body.received;
    this.desk!.body.begin(UNKNOWN_LENGTH, true);
    return {
      body: this.desk!.body,
      write: this.#write,
      end: () => this.transport.closeWrite(),
      abort: (error) => this.fail(error),
    };
  }

  respond(head: ResponseHead, body: Body): Promise<void> | void {
    this.responded = true;
    if (this.failure !== null) return Promise.reject(this.failure);
    this.record.status = head.status;
    return this.desk!.output.after(() => this.#respond(head, body));
  }

  #respond(head: ResponseHead, body: Body): Promise<void> | void {
    const { request } = this;
    const { buffers, limits } = this.context;
    if (this.failure !== null) return Promise.reject(this.failure);
    const framing = responseFraming(request, head);
    // An answer to an unfinished upload ends the connection (RFC 9112 §9.3): its rest is unread.
    if (
      !this.desk!.connection.keepAlive || !this.desk!.body.done || framing === "close" ||
      head.closes || this.retired ||
      this.requests >= limits.requestsPerConnection || this.context.isDraining()
    ) this.closeAfter = true;
    const keepAlive = !this.closeAfter;
    let sending: Promise<void> | void;
    try {
      const response = { request, head, body, framing, keepAlive };
      sending = sendResponse(response, buffers.out, this.desk!.output, this.#write);
    } catch (error) {
      // What came along with the head is malformed: nothing has been sent, so another answer can be.
      this.responded = false;
      this.record.status = 0;
      throw error;
    }
    return sending?.catch((error) => {
      // Nothing partial passes for whole: the end that the framing promised never comes.
      this.fail(asProxyError(error, "internal"));
      throw error;
    });
  }

  #write = async (view: Uint8Array): Promise<void> => {
    if (this.failure !== null) throw this.failure;
    await this.desk!.output.write(view);
    if (this.input.ended) this.desk!.halfClosed.wrote(this.context.deadlines.now);
  };

  /** Tells what became of the exchange. */
  protected end(): void {
    const { record } = this;
    record.bodyCounts?.leave(this);
    record.duration = turnNow() - record.startedAt;
    record.bytesIn += this.desk!.body.received;
    record.bytesOut += this.desk!.output.sent;
    this.context.onExchangeEnd(this);
  }

  /** Tells of a request that never became an exchange. */
  protected refused(code: ErrorCode, { fields }: ResponseHead): void {
    this.record.error = code;
    this.record.requestId = fields.value(fields.find(X_REQUEST_ID));
    this.end();
  }
}
