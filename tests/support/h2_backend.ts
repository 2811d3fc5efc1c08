/**
 * A backend of HTTP/2 that does what it should, by Node's implementation: none of ours. In: what it
 * answers, how it is reached. Out: a port on loopback, and what it has been asked.
 *
 *     await using backend = await H2Server.start((stream, head) => {
 *       stream.respond({ ":status": 200 });
 *       stream.end("hello");
 *     });
 */
import http2 from "node:http2";
import net from "node:net";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";

/** What it is asked by: pseudo-fields and fields, names in lower case. */
export type H2Head = http2.IncomingHttpHeaders;

export type H2Answer = (
  stream: http2.ServerHttp2Stream,
  head: H2Head,
  backend: H2Server,
) => void | Promise<void>;

export interface H2ServerOptions {
  /** Over TLS, with this; plain text without. */
  readonly certificate?: ServerCertificate;
  /** Over TLS it speaks HTTP/1.1 too, where that is chosen. */
  readonly allowHTTP1?: boolean;
  readonly settings?: http2.Settings;
  /** Where one was before. */
  readonly port?: number;
}

export class H2Server {
  /** Connections so far. */
  connections = 0;
  /** Heads of the requests so far, in their order. */
  readonly heads: H2Head[] = [];
  readonly open = new Set<http2.ServerHttp2Session>();
  readonly #server: http2.Http2Server | http2.Http2SecureServer;
  readonly #sockets = new Set<net.Socket>();

  private constructor(answer: H2Answer, options: H2ServerOptions) {
    const { certificate, allowHTTP1 = false, settings = {} } = options;
    this.#server = certificate === undefined
      ? http2.createServer({ settings })
      : http2.createSecureServer({
        cert: certificate.chain,
        key: certificate.key.reveal(),
        allowHTTP1,
        settings,
      });
    this.#server.on("connection", (socket: net.Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("session", (session: http2.ServerHttp2Session) => {
      this.open.add(session);
      session.on("close", () => this.open.delete(session));
      // Whoever breaks off its connection breaks off its own requests, and nothing else.
      session.on("error", () => {});
    });
    this.#server.on("sessionError", () => {});
    this.#server.on("stream", (stream: http2.ServerHttp2Stream, head: H2Head) => {
      this.heads.push(head);
      stream.on("error", () => {});
      Promise.resolve(answer(stream, head, this)).catch(() => stream.close());
    });
    if (allowHTTP1) {
      // Node calls this for requests of both versions; streams have been answered above.
      this.#server.on("request", (request, response) => {
        if (request.httpVersionMajor === 1) response.end(`http/${request.httpVersion}`);
      });
    }
  }

  static async start(answer: H2Answer, options: H2ServerOptions = {}): Promise<H2Server> {
    const backend = new H2Server(answer, options);
    await new Promise<void>((resolve, reject) => {
      backend.#server.once("error", reject);
      backend.#server.listen(options.port ?? 0, "127.0.0.1", resolve);
    });
    return backend;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.open) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** Answers 200 with this, to any request. */
export function answerText(text: string): H2Answer {
  return (stream) => {
    stream.respond({ ":status": 200, "content-type": "text/plain" });
    stream.end(text);
  };
}

/** Answers with the request's body as it comes, and with its trailers. */
export const echo: H2Answer = (stream, head) => {
  let trailers: http2.IncomingHttpHeaders = {};
  stream.on("trailers", (fields) => trailers = fields);
  stream.respond(
    { ":status": 200, "content-type": head["content-type"] ?? "text/plain" },
    { waitForTrailers: true },
  );
  stream.on("wantTrailers", () => stream.sendTrailers(plain(trailers)));
  stream.pipe(stream);
};

/** Without what is no field. */
function plain(fields: http2.IncomingHttpHeaders): http2.OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => typeof name === "string"));
}
