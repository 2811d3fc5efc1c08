/**
 * WebSocket clients in a closed loop: each sends a message, waits for its echo, compares it, and
 * sends another. In: port, connections, seconds. Out: the line `open` when all are, then a line of
 * JSON, see `WebSocketReport`, while they still are; they end with standard input. It runs as a
 * process of its own, so that its CPU time is nobody else's.
 */
import { type Percentiles, percentilesOf } from "./percentiles.ts";
import { acceptOf, BINARY, encodeFrame, frameLength } from "./websocket_frame.ts";

export interface WebSocketReport extends Percentiles {
  readonly echoes: number;
  /** Clients that were refused, cut off, left without an answer, or got another message back. */
  readonly errors: number;
  /** In ms, as are the latencies. */
  readonly duration: number;
}

/** How long after the end an answer may still come, in ms. */
const PATIENCE = 5_000;

/** RFC 6455 §1.3 has this one; proxies look at its form only. */
const KEY = "dGhlIHNhbXBsZSBub25jZQ==";

const MESSAGE = 32;

class Client {
  readonly #connection: Deno.TcpConn;
  readonly #buffer = new Uint8Array(4096);
  /** In turns, so that an echo which comes twice or late is noticed. */
  readonly #sent: readonly Uint8Array[];
  readonly #expected: readonly Uint8Array[];

  private constructor(connection: Deno.TcpConn, index: number) {
    this.#connection = connection;
    const messages = [0, 1].map((turn) => {
      const message = new Uint8Array(MESSAGE).fill(turn);
      new DataView(message.buffer).setUint32(0, index);
      return message;
    });
    this.#sent = messages.map((message) => encodeFrame(BINARY, message, true));
    this.#expected = messages.map((message) => encodeFrame(BINARY, message, false));
  }

  /** Throws where the proxy does not switch protocols as it should. */
  static async open(port: number, index: number): Promise<Client> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connection.setNoDelay(true);
    const client = new Client(connection, index);
    await client.#write(
      new TextEncoder().encode(
        `GET /echo HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\n` +
          `Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`,
      ),
    );
    let head = "";
    while (!head.includes("\r\n\r\n")) {
      const count = await connection.read(client.#buffer);
      if (count === null) throw new Error("closed in the handshake");
      head += new TextDecoder().decode(client.#buffer.subarray(0, count));
    }
    const accept = /\r\nsec-websocket-accept: *([^\r ]+)/i.exec(head)?.[1];
    if (!head.startsWith("HTTP/1.1 101 ") || accept !== acceptOf(KEY)) {
      throw new Error(`no WebSocket: ${head.split("\r\n")[0]}`);
    }
    return client;
  }

  /** One message there and back; throws where something else comes back. */
  async echo(turn: number): Promise<void> {
    await this.#write(this.#sent[turn & 1]);
    let filled = 0;
    let length = 0;
    while (length === 0) {
      const count = await this.#connection.read(this.#buffer.subarray(filled));
      if (count === null) throw new Error("closed");
      filled += count;
      length = frameLength(this.#buffer, 0, filled);
    }
    const expected = this.#expected[turn & 1];
    if (filled !== expected.length || expected.some((byte, at) => byte !== this.#buffer[at])) {
      throw new Error("another message came back");
    }
  }

  close(): void {
    this.#connection.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let sent = 0; sent < bytes.length;) {
      sent += await this.#connection.write(bytes.subarray(sent));
    }
  }
}

const [port, connections, seconds] = Deno.args.map(Number);
let errors = 0;
const latencies: number[] = [];
const opened = await Promise.allSettled(
  Array.from({ length: connections }, (_, index) => Client.open(port, index)),
);
const clients = opened.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
errors += connections - clients.length;
console.log("open");
const begin = performance.now();
const end = begin + seconds * 1000;
const timer = setTimeout(
  () => clients.forEach((client) => client.close()),
  seconds * 1000 + PATIENCE,
);
await Promise.all(clients.map(async (client) => {
  try {
    for (let turn = 0, sent = performance.now(); sent < end; turn++) {
      await client.echo(turn);
      const now = performance.now();
      latencies.push(now - sent);
      sent = now;
    }
  } catch {
    errors++;
  }
}));
clearTimeout(timer);
const duration = performance.now() - begin;
const report: WebSocketReport = {
  echoes: latencies.length,
  errors,
  duration,
  ...percentilesOf(latencies),
};
console.log(JSON.stringify(report));
await Deno.stdin.read(new Uint8Array(1));
Deno.exit(0);
