/**
 * A sample backend that speaks HTTP/2 in plain text. In: requests. Out: the answers of any sample
 * backend; to gRPC what `sample_rpc.ts` answers, and to every method that it does not know the
 * messages that came, one by one, as an echo.
 */
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { answer, nameFields, type SampleName } from "./answer.ts";
import { frameMessage, MessageReader, RPC_METHODS } from "./rpc.ts";

/** gRPC's code for what the server does not do. */
const UNIMPLEMENTED = "12";

export class Http2Sample {
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(name: SampleName) {
    this.#server = createServer();
    this.#server.on("session", (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      // Whoever breaks off his connection breaks off his own requests, and nothing else.
      session.on("error", () => {});
    });
    this.#server.on("stream", (stream: ServerHttp2Stream, fields: IncomingHttpHeaders) => {
      stream.on("error", () => {});
      if (String(fields["content-type"] ?? "").startsWith("application/grpc")) {
        call(stream, fields, name);
      } else {
        request(stream, fields, name).catch(() => stream.close());
      }
    });
  }

  /** The port; rejects with what listening fails with. */
  listen(hostname: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, hostname, () => {
        this.#server.off("error", reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Ends at once. */
  shutdown(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.destroy();
    return closed;
  }
}

/** A call of gRPC, whatever its method. */
function call(stream: ServerHttp2Stream, fields: IncomingHttpHeaders, name: SampleName): void {
  let status = "0";
  const encoding = fields["grpc-encoding"];
  const method = RPC_METHODS.get(String(fields[":path"]));
  stream.respond({
    ":status": 200,
    "content-type": fields["content-type"],
    // Messages come back as they came.
    ...(encoding === undefined || method !== undefined ? {} : { "grpc-encoding": encoding }),
    ...nameFields(name),
  }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
  if (method === undefined) {
    stream.pipe(stream);
    return;
  }
  const messages = new MessageReader();
  stream.on("data", (bytes: Uint8Array) => {
    for (const message of messages.read(bytes)) {
      if (message === null) status = UNIMPLEMENTED;
      else stream.write(frameMessage(method.answer(message)));
    }
  });
  stream.on("end", () => {
    if (status !== "0" || !method.goesOn) stream.end();
  });
}

/** Any other request: the answer of every sample backend. */
async function request(
  stream: ServerHttp2Stream,
  fields: IncomingHttpHeaders,
  name: SampleName,
): Promise<void> {
  const method = String(fields[":method"]);
  const headers = new Headers();
  for (const [field, value] of Object.entries(fields)) {
    if (!field.startsWith(":") && value !== undefined) headers.set(field, String(value));
  }
  headers.set("host", String(fields[":authority"] ?? ""));
  const hasBody = method !== "GET" && method !== "HEAD";
  const response = await answer(
    new Request(`http://sample${fields[":path"]}`, {
      method,
      headers,
      ...(hasBody ? { body: bodyOf(stream) } : {}),
    }),
    name,
  );
  stream.respond({ ":status": response.status, ...Object.fromEntries(response.headers) });
  if (method === "HEAD") await response.body?.cancel();
  else {
    for await (const part of response.body ?? []) {
      if (!stream.write(part)) await drained(stream);
      // Events have no end of their own.
      if (stream.closed) return;
    }
  }
  stream.end();
}

/** Resolves when the stream takes more, or takes nothing any more. */
function drained(stream: ServerHttp2Stream): Promise<void> {
  if (stream.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}

function bodyOf(stream: ServerHttp2Stream): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      stream.on("data", (part: Uint8Array) => {
        controller.enqueue(new Uint8Array(part));
        if ((controller.desiredSize ?? 0) <= 0) stream.pause();
      });
      stream.on("end", () => controller.close());
      stream.on("error", (error: Error) => controller.error(error));
    },
    pull() {
      stream.resume();
    },
  });
}
