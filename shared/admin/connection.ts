/**
 * One connection to the admin port: one request, one answer, the end. In: an accepted connection
 * and who answers. Out: nothing but that; however little the peer sends or takes, it ends in time.
 *
 * Not kept alive: probes and scrapes come seconds apart, and what does not stay needs no deadline
 * for staying.
 */
import { Buffer } from "node:buffer";
import { type AdminRequest, parseAdminRequest } from "./request.ts";
import { BrokenPageError, sendResponse, textResponse } from "./response.ts";
import { type Logger } from "../log.ts";

/** Each in ms. */
export interface AdminDeadlines {
  /** From accept to the end of the request's head. */
  readonly head: number;
  /** From there until the peer has taken the whole answer. */
  readonly answer: number;
}

/** Who asks. */
export interface AdminPeer {
  /** An IP address. */
  readonly address: string;
  /** Ends its connection at once; what is being sent is cut. */
  readonly close: () => void;
}

export interface AdminConnectionOptions {
  /** Never rejects. */
  readonly answer: (request: AdminRequest, peer: AdminPeer) => Promise<Response>;
  readonly deadlines: AdminDeadlines;
  readonly logger: Logger;
}

/** Of a request's head, in bytes. */
const MAX_HEAD = 16_384;

/** How long the peer has for closing after the answer, in ms; see `#linger`. */
const LINGER = 1000;

export class AdminConnection {
  /** From the end of the request's head until the answer is written. */
  answering = false;
  readonly #ended = Promise.withResolvers<void>();
  readonly #stopped = new AbortController();
  readonly #connection: Deno.TcpConn;
  readonly #options: AdminConnectionOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(connection: Deno.TcpConn, options: AdminConnectionOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#serve();
  }

  /** Settles when the connection is closed; never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Ends it at once; what is being sent is cut. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#connection.close();
    this.#stopped.abort();
    this.#ended.resolve();
  }

  async #serve(): Promise<void> {
    try {
      this.#limit(this.#options.deadlines.head);
      const head = await this.#readHead();
      if (head === null) return;
      this.#limit(this.#options.deadlines.answer);
      this.answering = true;
      await this.#answer(head);
      this.answering = false;
      this.#limit(LINGER);
      await this.#linger();
    } catch (error) {
      // Anything else is the peer's going or our closing, at any of the steps.
      if (error instanceof BrokenPageError) {
        this.#options.logger.error("Admin response aborted", { error: error.cause });
      }
    } finally {
      this.answering = false;
      this.close();
    }
  }

  /** The head's text; `too long`; null where the peer ends before. */
  async #readHead(): Promise<{ text: string } | "too long" | null> {
    const buffer = Buffer.alloc(MAX_HEAD);
    for (let filled = 0; filled < MAX_HEAD;) {
      const count = await this.#connection.read(buffer.subarray(filled));
      if (count === null) return null;
      const searched = Math.max(0, filled - 3);
      filled += count;
      const end = buffer.subarray(0, filled).indexOf("\r\n\r\n", searched, "latin1");
      if (end !== -1) return { text: buffer.toString("latin1", 0, end) };
    }
    return "too long";
  }

  async #answer(head: { text: string } | "too long"): Promise<void> {
    if (head === "too long") {
      const response = textResponse(431, `The head is longer than ${MAX_HEAD} bytes`);
      return await this.#send(null, response);
    }
    const parsed = parseAdminRequest(head.text);
    if (!parsed.ok) {
      return await this.#send(null, textResponse(400, parsed.reason));
    }
    const { request } = parsed;
    const peer = {
      address: this.#connection.remoteAddr.hostname,
      close: () => this.close(),
    };
    const response = await this.#options.answer(request, peer);
    await this.#send(request, response);
  }

  #send(request: AdminRequest | null, response: Response): Promise<void> {
    return sendResponse(this.#connection, request, response, this.#stopped.signal);
  }

  /** Bytes that were not read, as a body, would make the system reset the answer away. */
  async #linger(): Promise<void> {
    await this.#connection.closeWrite();
    const rest = new Uint8Array(MAX_HEAD);
    while (await this.#connection.read(rest) !== null);
  }

  #limit(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#closed) this.#timer = setTimeout(() => this.close(), ms);
  }
}
