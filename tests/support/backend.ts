/**
 * Backends and clients that do as a test tells them, step by step, on real sockets. In: a function
 * that plays one connection. Out: what came over it, how it ended, and how many connections there
 * were.
 *
 *     await using backend = new Backend(async (peer) => {
 *       await peer.request();
 *       await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
 *     });
 *
 * Text is latin1: one character a byte.
 */
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { bytesOf, textOf } from "./latin1.ts";
import { PlayedBackend } from "./played_backend.ts";
import { freePort } from "./ports.ts";
import { type MessageKind, MessageReader, type WireMessage } from "./wire_message.ts";

/** How the other side has ended its half: `closes` is FIN, `resets` is RST. */
export type Ending = "" | "closes" | "resets";

/** What has not happened after this, in ms, will not happen: on a busy machine ten seconds are few. */
const PATIENCE = 30_000;

/** One end of a connection. */
export class Peer {
  readonly reader: MessageReader;
  ending: Ending = "";
  /** Bytes that have come. */
  received = 0;
  readonly #connection: Deno.TcpConn;
  readonly #buffer = new Uint8Array(64 * 1024);
  #closed = false;

  constructor(connection: Deno.TcpConn) {
    connection.setNoDelay(true);
    this.#connection = connection;
    this.reader = new MessageReader(() => this.#readText());
  }

  static async connect(port: number): Promise<Peer> {
    return new Peer(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  get localPort(): number {
    return (this.#connection.localAddr as Deno.NetAddr).port;
  }

  /** Sends all of it. False when the other side takes no more. */
  async send(data: string | Uint8Array): Promise<boolean> {
    let view: Uint8Array = typeof data === "string" ? bytesOf(data) : data;
    try {
      while (view.length > 0) view = view.subarray(await this.#connection.write(view));
      return true;
    } catch {
      return false;
    }
  }

  /** The next request's head and body, or null when the other side has ended before it. */
  request(): Promise<WireMessage | null> {
    return this.reader.message("request");
  }

  /** Sends `text` and reads the final answer to it; interim ones are skipped. */
  async ask(text: string, kind: MessageKind = "response"): Promise<WireMessage> {
    await this.send(text);
    return await this.answer(kind);
  }

  /**
   * The next final answer; its head is "" when the connection ended instead, which this end brings
   * about itself when nothing whole comes for too long.
   */
  async answer(kind: MessageKind = "response"): Promise<WireMessage> {
    const watchdog = setTimeout(() => this.close(), PATIENCE);
    try {
      for (;;) {
        const message = await this.reader.message(kind);
        if (message === null) return NOTHING;
        if (!/^HTTP\/1\.1 1\d\d /.test(message.head)) return message;
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  /** The next bytes, null at the end. Not beside the reader. */
  async read(): Promise<Uint8Array | null> {
    try {
      const count = await this.#connection.read(this.#buffer);
      if (count !== null) {
        this.received += count;
        return this.#buffer.subarray(0, count);
      }
      this.ending ||= "closes";
    } catch {
      this.ending ||= "resets";
    }
    return null;
  }

  /** Reads and forgets until the other side ends; how it did. */
  async ended(): Promise<Ending> {
    while (await this.read() !== null);
    return this.ending;
  }

  /** Sends FIN and can read on. */
  async finish(): Promise<void> {
    await this.#connection.closeWrite().catch(() => {});
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #readText(): Promise<string | null> {
    const view = await this.read();
    if (view === null) return null;
    return textOf(view);
  }
}

const NOTHING: WireMessage = {
  head: "",
  framing: "none",
  body: "",
  trailers: "",
  complete: false,
  fault: "",
};

/** The status of an answer; 0 where none came. */
export function statusOf(answer: Pick<WireMessage, "head">): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer.head)?.[1] ?? 0);
}

/** A whole answer with this body. */
export function reply(body: string, more = ""): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;
}

/** Plays one connection, the `index`th (from 0); it is closed when this settles. */
export type Play = (peer: Peer, index: number) => Promise<void>;

/** Answers every request with "ok", until the other side ends. */
export async function playOk(peer: Peer): Promise<void> {
  while (await peer.request() !== null) await peer.send(reply("ok"));
}

/** A backend on a port of its own. */
export class Backend extends PlayedBackend<Peer> {
  constructor(play: Play = playOk, hostname = "127.0.0.1", port = 0) {
    super(Deno.listen({ hostname, port }), (connection) => new Peer(connection), play);
  }
}

/** A backend that replies to each request, and adds its head to `received` before. */
export function recordingBackend(received: string[]): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      received.push(asked.head);
      await peer.send(reply("ok"));
    }
  });
}

/**
 * A backend that answers each connection's first bytes with `says`, and then resets it: a Deno
 * socket closes with FIN, whatever is unread.
 */
export class ResettingBackend {
  /** The next connection is reset once this is set. */
  reset = false;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(says: string): Promise<ResettingBackend> {
    const server = createServer();
    const backend = new ResettingBackend(server);
    server.on("connection", (socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        socket.write(says);
        until("the test asks for a reset", () => backend.reset).then(() =>
          socket.resetAndDestroy()
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return backend;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A client that sends `text` and, once `when` settles, resets its connection. */
export async function sendAndReset(port: number, text: string, when: Promise<unknown>) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  await when;
  await new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
    socket.resetAndDestroy();
  });
}

/** A port on which nothing listens. */
export const refusingPort: () => number = freePort;

/** Waits until `condition` holds; fails with `what` when it does not within `patience` (ms). */
export async function until(
  what: string,
  condition: () => boolean,
  patience = PATIENCE,
): Promise<void> {
  const end = performance.now() + patience;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`Waited in vain: ${what}`);
    await new Promise((resume) => setTimeout(resume, 5));
  }
}

/** A promise with its handles, for "it has happened" between a script and its test. */
export function signal<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>();
}
