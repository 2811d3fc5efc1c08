/**
 * The two ends of a WebSocket that Autobahn's cases want, by `ws`, which passes them without a proxy
 * and compresses; Deno's own fails 7.3.6 and does not. In: ports. Out: what comes is sent back.
 */
import { createServer, type Server } from "node:http";
import net from "node:net";
import tls from "node:tls";
import { WebSocket, WebSocketServer } from "ws";

/** Cases 9.* send up to 16 MiB, and 4 MiB in frames of 64 bytes. */
const OPTIONS = { perMessageDeflate: true, maxPayload: 32 * 1024 * 1024, maxFragments: 0 };

/** A server that sends every message back. */
export class EchoServer {
  readonly #http: Server;
  readonly #sockets: WebSocketServer;

  private constructor(http: Server, sockets: WebSocketServer) {
    this.#http = http;
    this.#sockets = sockets;
  }

  static async start(): Promise<EchoServer> {
    const http = createServer();
    const sockets = new WebSocketServer({ server: http, ...OPTIONS });
    sockets.on("connection", echo);
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    return new EchoServer(http, sockets);
  }

  get port(): number {
    return portOf(this.#http);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#sockets.close();
    await new Promise<void>((resolve) => this.#http.close(() => resolve()));
  }
}

/** Runs every case that the fuzzing server behind `port` has, and asks for its report. */
export async function runCases(port: number): Promise<void> {
  const base = `ws://127.0.0.1:${port}`;
  const [count] = await converse(`${base}/getCaseCount`);
  for (let index = 1; index <= Number(count); index++) {
    await converse(`${base}/runCase?case=${index}&agent=pingress`);
  }
  await converse(`${base}/updateReports?agent=pingress`);
}

/** Sends back what comes until the connection ends; settles with the messages. */
function converse(url: string): Promise<string[]> {
  return new Promise((resolve) => {
    const messages: string[] = [];
    const socket = new WebSocket(url, OPTIONS);
    if (url.includes("/runCase")) echo(socket);
    else socket.on("message", (data) => messages.push(String(data)));
    // What the server did wrong on purpose; the verdict is its.
    socket.on("error", () => {});
    socket.on("close", () => resolve(messages));
  });
}

function echo(socket: WebSocket): void {
  socket.on("error", () => {});
  socket.on("message", (data, binary) => socket.send(data, { binary }));
}

/** Takes plain connections and carries each over TLS, for a client that knows no TLS. */
export class TlsBridge {
  readonly #server: net.Server;

  private constructor(server: net.Server) {
    this.#server = server;
  }

  /** `ca` in PEM, `name` in the server's certificate. */
  static async start(port: number, name: string, ca: string): Promise<TlsBridge> {
    const server = net.createServer({ allowHalfOpen: true }, (plain) => {
      const secure = tls.connect({ host: "127.0.0.1", port, servername: name, ca });
      plain.pipe(secure).pipe(plain);
      plain.on("error", () => secure.destroy());
      secure.on("error", () => plain.destroy());
      secure.on("close", () => plain.destroySoon());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new TlsBridge(server);
  }

  get port(): number {
    return portOf(this.#server);
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function portOf(server: net.Server | Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
