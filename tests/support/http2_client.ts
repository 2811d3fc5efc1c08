/**
 * A client of Node's own HTTP/2, for tests of what a well-behaved one meets with. In: a port. Out:
 * calls on one connection, and how that ended.
 */
import { Buffer } from "node:buffer";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from "node:http2";

/** For how long nothing may come or go on a stream that is under way, in ms. */
const PATIENCE = 20_000;

export interface Http2ClientOptions {
  /** Default: 127.0.0.1. */
  readonly address?: string;
  /** PEM of what signs the proxy's certificate; TLS where it is there. */
  readonly ca?: string;
  /** Of each request, and of the certificate; default `a.test`. */
  readonly host?: string;
  /** For how long a stream may be silent before it fails, in ms; default 20 s. */
  readonly patience?: number;
}

export interface Http2Answer {
  readonly status: number;
  readonly fields: IncomingHttpHeaders;
  readonly body: string;
  readonly trailers: IncomingHttpHeaders;
}

export interface Http2Request {
  /** Default: GET, or POST with a body. */
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/** A GOAWAY that came. */
export interface GoAway {
  readonly code: number;
  readonly lastStream: number;
}

export class Http2Client {
  readonly session: ClientHttp2Session;
  readonly goAways: GoAway[] = [];
  closed = false;
  readonly #host: string;
  readonly #patience: number;
  readonly #ended = Promise.withResolvers<void>();

  private constructor(session: ClientHttp2Session, host: string, patience: number) {
    this.session = session;
    this.#host = host;
    this.#patience = patience;
    session.on("goaway", (code: number, lastStream: number) => {
      this.goAways.push({ code, lastStream });
    });
    session.on("close", () => {
      this.closed = true;
      this.#ended.resolve();
    });
    // Its streams fail by it.
    session.on("error", () => {});
  }

  /** Resolves with the connection's first SETTINGS from the other end. */
  static connect(port: number, options: Http2ClientOptions = {}): Promise<Http2Client> {
    const { address = "127.0.0.1", ca, host = "a.test", patience = PATIENCE } = options;
    const url = `${ca === undefined ? "http" : "https"}://${address}:${port}`;
    return new Promise((resolve, reject) => {
      const session = connect(url, ca === undefined ? {} : { ca, servername: host });
      const client = new Http2Client(session, host, patience);
      session.once("remoteSettings", () => resolve(client));
      session.once("error", reject);
      session.once("close", () => reject(new Error("closed before SETTINGS")));
    });
  }

  /** Settles once the connection is closed. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The other end has said that it takes no more. */
  get isLeaving(): boolean {
    return this.closed || this.session.closed || this.goAways.length > 0;
  }

  ask(request: Http2Request = {}): Promise<Http2Answer> {
    const call = this.open(request);
    call.end(request.body);
    return call.answer;
  }

  /** Begins a request whose body is sent later. */
  open({ method, path = "/", body, fields = {} }: Http2Request = {}): Http2Call {
    const stream = this.session.request({
      ":method": method ?? (body === undefined ? "GET" : "POST"),
      ":path": path,
      ":authority": this.#host,
      ...fields,
    });
    return new Http2Call(stream, this.#patience);
  }

  /** Begins a call of gRPC. */
  call(path = "/test.Echo/Chat", fields: Readonly<Record<string, string>> = {}): Http2Call {
    const grpc = { "content-type": "application/grpc", te: "trailers" };
    return this.open({ method: "POST", path, fields: { ...grpc, ...fields } });
  }

  close(): void {
    this.session.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A request under way. */
export class Http2Call {
  readonly stream: ClientHttp2Stream;
  /** All of it; rejects where the stream does not come to its end. */
  readonly answer: Promise<Http2Answer>;
  received = "";
  #more = Promise.withResolvers<void>();
  #over = false;
  /** Why it has failed, where it is this end that knows. */
  #failure: Error | null = null;

  /** @param patience that it has with silence, in ms. */
  constructor(stream: ClientHttp2Stream, patience: number) {
    this.stream = stream;
    const { promise, resolve, reject } = Promise.withResolvers<Http2Answer>();
    this.answer = promise;
    // Whoever does not ask for it has no interest in its failing.
    promise.catch(() => {});
    let fields: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    // What comes and goes renews it: a stream may last for as long as it likes.
    stream.setTimeout(patience, () => {
      stream.destroy(new Error(`the stream was silent for ${patience} ms`));
    });
    stream.on("response", (head) => {
      fields = head;
      this.#wake();
    });
    stream.on("trailers", (fields) => trailers = fields);
    stream.on("data", (part: Buffer) => {
      this.received += part.toString("latin1");
      this.#wake();
    });
    let ended = false;
    stream.on("end", () => ended = true);
    stream.on("error", (error) => {
      this.#failure = error;
      reject(error);
    });
    stream.on("close", () => {
      this.#over = true;
      this.#wake();
      const { rstCode } = stream;
      if (!ended || rstCode !== 0) reject(new Error(`reset by code ${rstCode}`));
      // The connection has ended, be it by this end: that is no answer.
      else if (fields[":status"] === undefined) reject(new Error("over without an answer"));
      else resolve({ status: Number(fields[":status"]), fields, body: this.received, trailers });
    });
  }

  /** Sends a part of the body, and waits until as much more has come back: an echo. */
  async echo(text: string): Promise<string> {
    const from = this.received.length;
    this.stream.write(text);
    await this.until(() => this.received.length >= from + text.length);
    return this.received.slice(from);
  }

  end(body?: string): void {
    this.stream.end(body);
  }

  /** Until that holds; rejects once the stream is over. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.#over) {
        throw this.#failure ?? new Error(`over with code ${this.stream.rstCode}`);
      }
      await this.#more.promise;
    }
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}
