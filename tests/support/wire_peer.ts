/**
 * Scripted peers on real sockets: a client that sends just the bytes it is told to, and a backend
 * that records to the byte what it receives and answers with just the bytes it is told to.
 *
 *     const client = await WireClient.connect(port);
 *     await client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
 *     const answer = await client.answers.message("response");
 */
import { bytesOf, textOf } from "./latin1.ts";
import { TakenBytes } from "./taken_bytes.ts";
import { MessageReader, type WireMessage } from "./wire_message.ts";

/** Bytes and line ends of one side of a connection. Text is latin1: one character a byte. */
class WireConnection {
  readonly reader: MessageReader;
  /** How the other side ended, once it has. */
  ending: "" | "closes" | "resets" = "";
  readonly #connection: Deno.TcpConn;
  readonly #taken: TakenBytes;
  readonly #buffer = new Uint8Array(16 * 1024);
  #sent = 0;
  #closed = false;

  constructor(connection: Deno.TcpConn) {
    connection.setNoDelay(true);
    this.#connection = connection;
    this.#taken = new TakenBytes(connection);
    this.reader = new MessageReader(() => this.#read());
  }

  /** Sends all of it. False when the other side takes no more. */
  async send(text: string): Promise<boolean> {
    let view: Uint8Array = bytesOf(text);
    try {
      while (view.length > 0) view = view.subarray(await this.#connection.write(view));
      this.#sent += text.length;
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Sends `text` in two writes, cut at `at`; the second leaves once the other side has read the
   * first. False when it takes no more.
   */
  async sendSplit(text: string, at: number): Promise<boolean> {
    if (at <= 0 || at >= text.length) return await this.send(text);
    if (!await this.send(text.slice(0, at))) return false;
    await this.#taken.reached(this.#sent);
    return await this.send(text.slice(at));
  }

  /** Sends FIN and reads on. */
  async finish(): Promise<void> {
    await this.#connection.closeWrite().catch(() => {});
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#taken.close();
    this.#connection.close();
  }

  async #read(): Promise<string | null> {
    try {
      const count = await this.#connection.read(this.#buffer);
      if (count !== null) return textOf(this.#buffer.subarray(0, count));
      this.ending ||= "closes";
    } catch {
      this.ending ||= "resets";
    }
    return null;
  }
}

/** A client on one connection. */
export class WireClient {
  readonly #connection: WireConnection;

  private constructor(connection: WireConnection) {
    this.#connection = connection;
  }

  static async connect(port: number): Promise<WireClient> {
    return new WireClient(
      new WireConnection(await Deno.connect({ hostname: "127.0.0.1", port })),
    );
  }

  /** What the proxy sends. */
  get answers(): MessageReader {
    return this.#connection.reader;
  }

  /** How the proxy ended the connection, once that has been read. */
  get ending(): "" | "closes" | "resets" {
    return this.#connection.ending;
  }

  send(text: string): Promise<boolean> {
    return this.#connection.send(text);
  }

  sendSplit(text: string, at: number): Promise<boolean> {
    return this.#connection.sendSplit(text, at);
  }

  finish(): Promise<void> {
    return this.#connection.finish();
  }

  close(): void {
    this.#connection.close();
  }
}

/**
 * One step of a backend's reply: bytes to send, `body` (take the request's body first), `FIN` (send
 * no more), `close`, or `forever` (say nothing more).
 */
export type ReplyStep = { readonly bytes: string } | "body" | "FIN" | "close" | "forever";

/** What a backend without a script says to each request. */
export const PLAIN_REPLY: readonly ReplyStep[] = [
  "body",
  { bytes: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" },
];

/** What a backend is to do during one conversation. */
export interface BackendScript {
  /** The reply to each request, in the order of their heads; null for PLAIN_REPLY to each. */
  readonly replies: readonly (readonly ReplyStep[])[] | null;
  /** Where the first reply's bytes are cut into two writes; 0 for nowhere. */
  readonly splitAt: number;
  /** Requests that begin with this text get PLAIN_REPLY and are not recorded. */
  readonly unrecorded?: string;
}

/** A backend on a port of its own. */
export class WireBackend {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections = new Set<WireConnection>();
  readonly #serving: Promise<void>;
  #script: BackendScript = { replies: null, splitAt: 0 };
  /** In the order of their heads, over all connections. */
  #requests: WireMessage[] = [];
  #replied = 0;

  constructor() {
    this.#serving = this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  /** Connections that neither side has closed. */
  get openCount(): number {
    return this.#connections.size;
  }

  /** What has been received since `begin`. */
  get requests(): readonly WireMessage[] {
    return this.#requests;
  }

  /** How many replies have been sent to their end since `begin`. */
  get replied(): number {
    return this.#replied;
  }

  /** Starts a conversation. */
  begin(script: BackendScript): void {
    this.#script = script;
    this.#requests = [];
    this.#replied = 0;
  }

  /** Closes every connection; the port stays. */
  hangUp(): void {
    for (const connection of this.#connections) connection.close();
    this.#connections.clear();
  }

  async close(): Promise<void> {
    this.#listener.close();
    this.hangUp();
    await this.#serving;
  }

  async #accept(): Promise<void> {
    const serving: Promise<void>[] = [];
    try {
      for (;;) serving.push(this.#serve(new WireConnection(await this.#listener.accept())));
    } catch {
      // Closed.
    }
    await Promise.all(serving);
  }

  async #serve(connection: WireConnection): Promise<void> {
    this.#connections.add(connection);
    try {
      for (;;) {
        const request = await connection.reader.head("request");
        if (request === null || !await this.#answer(connection, request)) break;
      }
    } finally {
      connection.close();
      this.#connections.delete(connection);
    }
  }

  /** True when the connection may carry another request. */
  async #answer(connection: WireConnection, request: WireMessage): Promise<boolean> {
    const { replies, splitAt, unrecorded } = this.#script;
    const isRecorded = unrecorded === undefined || !request.head.startsWith(unrecorded);
    const index = this.#requests.length;
    if (isRecorded) this.#requests.push(request);
    // A head that was cut off has no reply.
    if (!request.head.endsWith("\r\n\r\n")) return false;
    const steps = (isRecorded ? replies?.[index] : undefined) ?? PLAIN_REPLY;
    let position = isRecorded && index === 0 && splitAt > 0 ? splitAt : Infinity;
    for (const step of steps) {
      if (step === "body") {
        await connection.reader.body(request);
        if (!request.complete) return false;
      } else if (step === "FIN") {
        await connection.finish();
        this.#replied++;
        while (await connection.reader.message("request") !== null);
        return false;
      } else if (step === "close") {
        this.#replied++;
        return false;
      } else if (step === "forever") {
        this.#replied++;
        while (await connection.reader.message("request") !== null);
        return false;
      } else {
        await connection.sendSplit(step.bytes, position);
        position = position > step.bytes.length ? position - step.bytes.length : Infinity;
      }
    }
    this.#replied++;
    await connection.reader.body(request);
    return request.complete;
  }
}
