/**
 * A gRPC server of Node's HTTP/2, in plain text, without a schema. In: calls. Out: what the method's
 * name says:
 *
 *     Echo      each message as it comes; `grpc-status: 0` in trailers
 *     Count     as many messages as the first one says, then trailers
 *     Fields    the request's fields as JSON
 *     Missing   `grpc-status: 5` and a message, without a body
 *     Silent    nothing
 *     Gateway   502 and a page, as from a proxy of its own that knows no gRPC
 *     Stalled   a head, one message and a half, and nothing more
 *     Broken    the same, and RST_STREAM when the request has ended
 *
 * A request that is no gRPC gets `plain`, with its path.
 */
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { Buffer } from "node:buffer";
import type { AddressInfo } from "node:net";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { frameOf, messagesOf } from "./grpc_messages.ts";
import { http2SnapshotOf } from "./http2_backend.ts";

/** `/` of any host to gRPC backends on 127.0.0.1, for which gRPC-Web is translated or not. */
export function grpcSnapshotOf(ports: readonly number[], grpcWeb?: boolean): Snapshot {
  const snapshot = http2SnapshotOf(ports);
  return {
    ...snapshot,
    upstreams: snapshot.upstreams.map((upstream) => ({
      ...upstream,
      ...(grpcWeb === undefined ? {} : { grpcWeb }),
    })),
  };
}

export class GrpcBackend {
  /** The fields of each call, as they came. */
  readonly calls: IncomingHttpHeaders[] = [];
  /** Under way: neither answered whole nor reset. */
  open = 0;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #server: Http2Server;

  private constructor(server: Http2Server) {
    this.#server = server;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => {});
    });
    server.on("stream", (stream: ServerHttp2Stream, fields: IncomingHttpHeaders) => {
      this.open++;
      stream.on("error", () => {});
      stream.on("close", () => this.open--);
      this.#serve(stream, fields);
    });
  }

  static start(): Promise<GrpcBackend> {
    const server = createServer();
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", () => resolve(new GrpcBackend(server)));
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #serve(stream: ServerHttp2Stream, fields: IncomingHttpHeaders): void {
    const type = String(fields["content-type"] ?? "");
    const path = String(fields[":path"]);
    if (!/^application\/grpc($|[+;])/.test(type)) {
      stream.respond({ ":status": 200, "content-type": "text/plain" });
      stream.end(`plain ${path}`);
      return;
    }
    this.calls.push(fields);
    const method = path.slice(path.lastIndexOf("/") + 1);
    if (method === "Missing") {
      stream.respond({
        ":status": 200,
        "content-type": type,
        "grpc-status": "5",
        "grpc-message": "no%20such thing",
      }, { endStream: true });
      return;
    }
    if (method === "Silent") return;
    if (method === "Gateway") {
      stream.respond({ ":status": 502, "content-type": "text/html" });
      stream.end("<h1>Bad Gateway</h1>");
      return;
    }
    if (method === "Stalled" || method === "Broken") {
      stream.respond({ ":status": 200, "content-type": type });
      stream.write(Buffer.concat([frameOf("one"), frameOf("two").subarray(0, 6)]));
      if (method === "Broken") {
        stream.resume();
        stream.on("end", () => stream.destroy(new Error("broken")));
      }
      return;
    }
    stream.respond({ ":status": 200, "content-type": type, "x-first": "head" }, {
      waitForTrailers: true,
    });
    stream.on("wantTrailers", () => {
      stream.sendTrailers({ "grpc-status": "0", "grpc-message": "", "x-last-bin": "AAE=" });
    });
    if (method === "Echo") stream.pipe(stream);
    else {answerWhole(stream, (body) =>
        method === "Count" ? countTo(body) : [JSON.stringify(fields)]);}
  }
}

/** Answers when the whole request has come. */
function answerWhole(
  stream: ServerHttp2Stream,
  answer: (body: Uint8Array) => readonly string[],
): void {
  const parts: Buffer[] = [];
  stream.on("data", (part: Buffer) => parts.push(part));
  stream.on("end", () => {
    for (const text of answer(new Uint8Array(Buffer.concat(parts)))) stream.write(frameOf(text));
    stream.end();
  });
}

function countTo(body: Uint8Array): string[] {
  const count = Number(messagesOf(body).messages[0]);
  return Array.from({ length: count }, (_, i) => `message ${i + 1}`);
}
