/**
 * Every version on either side: what a client gets, and what a backend is asked, is the same whichever
 * versions of HTTP they speak.
 */
import assert from "node:assert/strict";
import http from "node:http";
import http2 from "node:http2";
import type net from "node:net";
import { until } from "../support/backend.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";
import { authority, certificateFor } from "../support/tls_proxy.ts";

const WEB = await certificateFor("web", { names: ["web.default.svc"] });
const TLS = {
  serverName: "web.default.svc",
  ca: { kind: "pem", pem: authority.certificate },
} as const;

type Fields = Record<string, string>;

/** What a backend was asked, without what each version says in its own way. */
interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  readonly fields: Fields;
  body: string;
}

interface Answered {
  readonly status: number;
  readonly fields: Fields;
  readonly body: string;
  readonly trailers: Fields;
}

/** Fields that differ from request to request, or belong to a version. */
const OWN =
  /^(:|host$|connection$|keep-alive$|transfer-encoding$|content-length$|te$|date$)|^x-(request|forwarded|real)/;

function plain(fields: http.IncomingHttpHeaders | http2.IncomingHttpHeaders): Fields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name, value]) => !OWN.test(name) && value !== undefined)
      .map(([name, value]) => [name, String(value)])
      .sort(),
  );
}

/** Answers by path, in any version: `/echo` the body with trailers, `/empty` nothing, `/big` much. */
class AnyBackend {
  readonly asked: Asked[] = [];
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();

  private constructor(server: net.Server) {
    this.#server = server;
    server.on("connection", (socket: net.Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
    });
  }

  static async start(protocol: "http" | "https" | "h2c" | "h2"): Promise<AnyBackend> {
    const pair = { cert: WEB.chain, key: WEB.key.reveal() };
    const server = protocol === "http"
      ? http.createServer()
      : protocol === "h2c"
      ? http2.createServer()
      : http2.createSecureServer({ ...pair, allowHTTP1: protocol === "https" });
    const backend = new AnyBackend(server as net.Server);
    server.on("request", (request: http.IncomingMessage, response: http.ServerResponse) => {
      backend.#answer(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    return backend;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { headers, method = "", url = "" } = request;
    const asked: Asked = {
      method,
      path: url,
      authority: String(headers[":authority"] ?? headers.host),
      fields: plain(headers),
      body: "",
    };
    this.asked.push(asked);
    for await (const part of request) asked.body += part;
    response.setHeader("x-answer", ["one", "two"]);
    response.setHeader("set-cookie", ["a=b; Path=/", "c=d"]);
    if (url.startsWith("/empty")) {
      response.statusCode = 204;
      response.end();
    } else if (url.startsWith("/big")) {
      response.end("0123456789".repeat(50_000));
    } else if (url.startsWith("/length")) {
      response.setHeader("content-length", 5);
      response.end(method === "HEAD" ? "" : "hello");
    } else {
      response.statusCode = 201;
      response.setHeader("trailer", "x-sum");
      response.write(asked.body);
      response.addTrailers({ "x-sum": String(asked.body.length) });
      response.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly fields: Record<string, string>;
  readonly body?: string;
}

type Ask = (port: number, request: Request) => Promise<Answered>;

const askHttp1: Ask = (port, { method, path, fields, body }) =>
  new Promise((resolve, reject) => {
    const request = http.request({
      host: "127.0.0.1",
      port,
      method,
      path,
      headers: { host: "a.test", te: "trailers", connection: "te", ...fields },
      agent: false,
    }, (response) => {
      let text = "";
      response.on("data", (part) => text += part);
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          fields: plain(response.headers),
          body: text,
          trailers: plain(response.trailers as http.IncomingHttpHeaders),
        }));
    });
    request.on("error", reject);
    request.end(body);
  });

const askHttp2: Ask = (port, { method, path, fields, body }) =>
  new Promise((resolve, reject) => {
    const session = http2.connect(`http://127.0.0.1:${port}`);
    session.on("error", reject);
    const stream = session.request({
      ":method": method,
      ":path": path,
      ":authority": "a.test",
      te: "trailers",
      ...fields,
    }, { endStream: body === undefined });
    let head: http2.IncomingHttpHeaders = {};
    let trailers: http2.IncomingHttpHeaders = {};
    let text = "";
    stream.on("response", (headers) => head = headers);
    stream.on("trailers", (headers) => trailers = headers);
    stream.on("data", (part) => text += part);
    stream.on("error", reject);
    stream.on("end", () => {
      session.close();
      resolve({
        status: Number(head[":status"]),
        fields: plain(head),
        body: text,
        trailers: plain(trailers),
      });
    });
    if (body !== undefined) stream.end(body);
  });

const REQUESTS: readonly Request[] = [
  { method: "GET", path: "/length?a=%20b", fields: { "x-one": "1", cookie: "a=b; c=d" } },
  { method: "HEAD", path: "/length", fields: {} },
  { method: "GET", path: "/empty", fields: {} },
  { method: "GET", path: "/big", fields: { accept: "text/plain" } },
  { method: "POST", path: "/echo", fields: { "content-type": "text/plain" }, body: "hello" },
  {
    method: "PUT",
    path: "/echo/much",
    fields: { "content-length": "300000" },
    body: "abcdefghij".repeat(30_000),
  },
  { method: "DELETE", path: "/echo", fields: { "x-empty": "" } },
];

const CLIENTS: readonly [string, Ask][] = [["HTTP/1.1", askHttp1], ["HTTP/2", askHttp2]];
const BACKENDS = ["http", "https", "h2c", "h2"] as const;

Deno.test("each client gets the same from each backend, and each backend gets the same requests", async (t) => {
  let first: { answers: Answered[]; asked: Asked[] } | null = null;
  for (const protocol of BACKENDS) {
    for (const [name, ask] of CLIENTS) {
      await t.step(`${name} to ${protocol}`, async () => {
        await using backend = await AnyBackend.start(protocol);
        using proxy = new H2UpstreamProxy([backend.port], {
          protocol,
          tls: TLS,
          server: { loopMark: "pingress-test" },
        });
        const answers: Answered[] = [];
        for (const request of REQUESTS) answers.push(await ask(proxy.port, request));
        assert.equal(backend.asked.length, REQUESTS.length);
        await until("no request is under way", () => proxy.server.upstreamRequestCount === 0);
        assert.deepEqual(proxy.failures, []);
        if (first === null) {
          first = { answers, asked: backend.asked };
          assert.deepEqual(answers.map(({ status }) => status), [
            200,
            200,
            204,
            200,
            201,
            201,
            201,
          ]);
          assert.deepEqual(answers[4].trailers, { "x-sum": "5" });
          assert.equal(answers[3].body.length, 500_000);
          return;
        }
        for (const [i, request] of REQUESTS.entries()) {
          const what = `${request.method} ${request.path}`;
          assert.deepEqual(answers[i], first.answers[i], what);
          assert.deepEqual(backend.asked[i], first.asked[i], what);
        }
      });
    }
  }
});
