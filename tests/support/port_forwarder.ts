/**
 * Forwards ports as kubelets do. In: a certificate. Out: an HTTPS server that leads WebSockets with the protocol
 * v4.channel.k8s.io to ports of 127.0.0.1.
 *
 * https://github.com/kubernetes/kubelet has it in pkg/cri/streaming/portforward/websocket.go.
 */
import { Buffer } from "node:buffer";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import { type RawData, type WebSocket, WebSocketServer } from "ws";

const PROTOCOL = "v4.channel.k8s.io";
const DATA = 0;
const ERROR = 1;

export interface PortForwarderOptions {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  /** Of the query, the parameter with the port. */
  readonly parameter: "port" | "ports";
}

export class PortForwarder {
  /** Path and port of each request. */
  readonly forwarded: string[] = [];
  readonly #server: https.Server;
  readonly #sockets = new Set<net.Socket>();

  private constructor(server: https.Server, parameter: string) {
    this.#server = server;
    server.on("connection", (socket: net.Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    const sockets = new WebSocketServer({
      server,
      handleProtocols: (protocols: Set<string>) => protocols.has(PROTOCOL) ? PROTOCOL : false,
    });
    sockets.on("connection", (socket, request) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "https://kubelet");
      const port = Number(searchParams.get(parameter));
      this.forwarded.push(`${pathname} ${port}`);
      forward(socket, port);
    });
  }

  static async start({ cert, key, parameter }: PortForwarderOptions): Promise<PortForwarder> {
    const server = https.createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new PortForwarder(server, parameter);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function forward(socket: WebSocket, port: number): void {
  for (const channel of [DATA, ERROR]) socket.send(Buffer.of(channel, port & 0xff, port >> 8));
  const connection = net.connect(port, "127.0.0.1");
  connection.on("error", (error) => {
    socket.send(Buffer.concat([Buffer.of(ERROR), Buffer.from(error.message)]));
    socket.close();
  });
  connection.on("data", (data: Buffer) => socket.send(Buffer.concat([Buffer.of(DATA), data])));
  connection.on("close", () => socket.close());
  socket.on("message", (data: RawData) => {
    const message = data as Buffer;
    if (message[0] === DATA) connection.write(message.subarray(1));
  });
  socket.on("close", () => connection.destroy());
}
