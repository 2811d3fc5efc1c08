/**
 * A backend of Node's own HTTP/2, in plain text. In: requests. Out: `ok` to GET, the body's length
 * to `/upload`, a large body to `/download`, and what came, as it comes, to anything else; to gRPC
 * with `grpc-status` as its trailer.
 */
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { snapshotOf } from "./test_proxy.ts";

/** `/` of any host to one upstream of HTTP/2 in plain text, with endpoints on 127.0.0.1. */
export function http2SnapshotOf(ports: readonly number[]): Snapshot {
  const snapshot = snapshotOf(ports);
  return {
    ...snapshot,
    upstreams: snapshot.upstreams.map((upstream) => ({ ...upstream, protocol: "h2c" as const })),
  };
}

/** RFC 9113 §6.8: what a GOAWAY says that takes none away. */
const NO_ERROR = 0;
const LAST_OF_ALL = 2 ** 31 - 1;

/** What `/download` gives. */
export const DOWNLOAD_BYTES = 256 * 1024;

const DOWNLOAD = new Uint8Array(DOWNLOAD_BYTES).fill(0x64);

export class Http2Backend {
  readonly sessions = new Set<ServerHttp2Session>();
  /** Connections so far. */
  accepted = 0;
  /** Requests so far. */
  requests = 0;
  /** Under way. */
  open = 0;
  readonly #server: Http2Server;

  private constructor(server: Http2Server) {
    this.#server = server;
    server.on("session", (session: ServerHttp2Session) => {
      this.accepted++;
      this.sessions.add(session);
      session.on("close", () => this.sessions.delete(session));
      session.on("error", () => {});
    });
    server.on("stream", (stream: ServerHttp2Stream, fields: IncomingHttpHeaders) => {
      this.requests++;
      this.open++;
      stream.on("close", () => this.open--);
      stream.on("error", () => {});
      const path = fields[":path"];
      const isGrpc = String(fields["content-type"] ?? "").startsWith("application/grpc");
      if (isGrpc) {
        stream.respond(
          { ":status": 200, "content-type": fields["content-type"] },
          { waitForTrailers: true },
        );
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.pipe(stream);
      } else if (path === "/upload") {
        let bytes = 0;
        stream.on("data", (part: Uint8Array) => bytes += part.length);
        stream.on("end", () => {
          // It ends as well where its connection does.
          if (stream.destroyed) return;
          stream.respond({ ":status": 200 });
          stream.end(String(bytes));
        });
      } else if (path === "/download") {
        stream.respond({ ":status": 200, "content-length": DOWNLOAD_BYTES });
        stream.end(DOWNLOAD);
      } else if (fields[":method"] === "GET") {
        stream.respond({ ":status": 200, "content-length": 2 });
        stream.end("ok");
      } else {
        stream.respond({ ":status": 200 });
        stream.pipe(stream);
      }
    });
  }

  static start(): Promise<Http2Backend> {
    const server = createServer();
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", () => {
        server.off("error", reject);
        resolve(new Http2Backend(server));
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no more, as a pod does that ends: GOAWAY in two steps, and what is under way finishes. */
  async leave(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.sendAway();
    await closed;
  }

  /** Tells every connection to go, in two steps; new ones are taken. */
  sendAway(): void {
    for (const session of this.sessions) {
      if (session.destroyed) continue;
      // By the acknowledgement the other end has heard, and sends no more.
      session.ping(() => {
        if (!session.destroyed) session.close();
      });
      session.goaway(NO_ERROR, LAST_OF_ALL);
    }
  }

  /** Ends all connections at once, and takes no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.sessions) session.destroy();
    await closed;
  }
}
