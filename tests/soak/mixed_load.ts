/**
 * Clients of every kind at once. In: a proxy. Out: how many of each were served, and what failed.
 * Each pauses between two requests: what counts is the time that it goes on, not the rate. While
 * `pressing`, pauses are short, so that the proxy's heaps come to their size soon.
 */
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { DOWNLOAD_BYTES } from "../support/http2_backend.ts";
import type { ProxyProcess } from "../support/proxy_process.ts";
import { TlsClient } from "../support/tls_proxy.ts";
import { abort, answerAborted } from "./abort.ts";
import { MixedHttp2Load } from "./mixed_http2_load.ts";
import { SECURE_HOST } from "./mixed_targets.ts";

const HOST = "Host: a.test\r\n";
const DOWNLOAD = new Uint8Array(DOWNLOAD_BYTES).fill(0x64);
const UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
/** Goes through a tunnel and comes back as it is. */
const MESSAGE = "m".repeat(2_000);

async function play(peer: Peer): Promise<void> {
  for (;;) {
    const request = await peer.reader.head("request");
    if (request === null) return;
    const path = request.head.split(" ")[1];
    if (path === "/upload") {
      await peer.reader.body(request);
      await peer.send(reply(`${request.body.length}`));
    } else if (path === "/download") {
      await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${DOWNLOAD.length}\r\n\r\n`);
      await peer.send(DOWNLOAD);
    } else if (path === "/socket") {
      await peer.send(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      );
      for (let view = await peer.read(); view !== null; view = await peer.read()) {
        await peer.send(view);
      }
      return;
    } else if (!await answerAborted(peer, path)) {
      return;
    }
  }
}

/** For all of the clients. */
export function mixedBackend(): Backend {
  return new Backend(play);
}

export class MixedLoad {
  over = false;
  pressing = false;
  readonly served = { plain: 0, tls: 0, handshakes: 0, messages: 0, uploads: 0, downloads: 0 };
  aborted = 0;
  readonly failures: string[] = [];
  /** Clients of HTTP/2, with counts of their own. */
  readonly http2: MixedHttp2Load;
  readonly #proxy: ProxyProcess;

  constructor(proxy: ProxyProcess) {
    this.#proxy = proxy;
    this.http2 = new MixedHttp2Load(proxy, this);
  }

  /** Until `over`; never rejects. */
  async run(): Promise<void> {
    const many = (count: number, client: () => Promise<void>) =>
      Array.from({ length: count }, () => this.#repeat(client));
    await Promise.all([
      ...many(16, () => this.#keepAlive()),
      ...many(4, () => this.#secure(1_000)),
      ...many(1, () => this.#secure(1)),
      ...many(3, () => this.#webSocket()),
      ...many(2, () => this.#secureWebSocket()),
      ...many(2, () => this.#upload()),
      ...many(2, () => this.#download()),
      ...many(2, () => this.#abort()),
      ...many(2, () => this.http2.requests()),
      ...many(1, () => this.http2.secureRequests()),
      ...many(2, () => this.http2.streams()),
      ...many(1, () => this.http2.transfers()),
      ...many(1, () => this.http2.cancels()),
    ]);
  }

  async #repeat(client: () => Promise<void>): Promise<void> {
    while (!this.over) {
      try {
        await client();
      } catch (error) {
        this.failures.push(`connection: ${error}`);
        await this.pause(50);
      }
    }
  }

  readonly pause = (ms: number): Promise<void> =>
    new Promise((resume) => setTimeout(resume, this.pressing ? ms / 10 : ms));

  readonly fail = (what: string, got: string): void => {
    this.failures.push(`${what}: ${JSON.stringify(got.slice(0, 200))}`);
  };

  async #keepAlive(): Promise<void> {
    using client = await Peer.connect(this.#proxy.httpPort);
    while (!this.over) {
      const answer = await client.ask(`GET /ok HTTP/1.1\r\n${HOST}\r\n`);
      if (answer.body !== "ok") return this.fail("request", answer.head + answer.body);
      this.served.plain++;
      if (/^connection: close\r$/im.test(answer.head)) return;
      await this.pause(20);
    }
  }

  async #secure(requests: number): Promise<void> {
    using client = await TlsClient.connect(this.#proxy.httpsPort, { name: SECURE_HOST });
    this.served.handshakes++;
    for (let i = 0; i < requests && !this.over; i++) {
      const answer = await client.ask(`GET /ok HTTP/1.1\r\nHost: ${SECURE_HOST}`);
      if (!answer.endsWith("\r\n\r\nok")) return this.fail("request over TLS", answer);
      this.served.tls++;
      await this.pause(20);
    }
  }

  async #webSocket(): Promise<void> {
    using client = await Peer.connect(this.#proxy.httpPort);
    await client.send(`GET /socket HTTP/1.1\r\n${HOST}${UPGRADE}\r\n`);
    const answer = await client.reader.head("response");
    if (!answer?.head.startsWith("HTTP/1.1 101 ")) {
      return this.fail("upgrade", answer?.head ?? "");
    }
    for (let i = 0; i < 200 && !this.over; i++) {
      await client.send(MESSAGE);
      for (let due = MESSAGE.length; due > 0;) {
        const view = await client.read();
        if (view === null) return this.fail("WebSocket", "cut");
        due -= view.length;
      }
      this.served.messages++;
      await this.pause(20);
    }
  }

  async #secureWebSocket(): Promise<void> {
    using client = await TlsClient.connect(this.#proxy.httpsPort, { name: SECURE_HOST });
    this.served.handshakes++;
    const answer = await client.ask(
      `GET /socket HTTP/1.1\r\nHost: ${SECURE_HOST}\r\n${UPGRADE.trimEnd()}`,
    );
    if (!answer.startsWith("HTTP/1.1 101 ")) return this.fail("upgrade over TLS", answer);
    for (let i = 0; i < 200 && !this.over; i++) {
      client.received = "";
      client.socket.write(MESSAGE);
      await client.until(() => client.received.length >= MESSAGE.length);
      if (client.received !== MESSAGE) return this.fail("WebSocket over TLS", client.received);
      this.served.messages++;
      await this.pause(20);
    }
  }

  /** Ten uploads of up to 200 kB on a connection, every other one in chunks. */
  async #upload(): Promise<void> {
    using client = await Peer.connect(this.#proxy.httpPort);
    for (let i = 0; i < 10 && !this.over; i++) {
      const size = 1 + Math.floor(Math.random() * 20_000);
      const part = "x".repeat(size);
      const isChunked = i % 2 === 1;
      const framing = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${10 * size}`;
      await client.send(`POST /upload HTTP/1.1\r\n${HOST}${framing}\r\n\r\n`);
      for (let sent = 0; sent < 10; sent++) {
        await client.send(isChunked ? `${size.toString(16)}\r\n${part}\r\n` : part);
        await this.pause(10);
      }
      if (isChunked) await client.send("0\r\n\r\n");
      const answer = await client.answer();
      if (answer.body !== String(10 * size)) return this.fail("upload", answer.head + answer.body);
      this.served.uploads++;
    }
  }

  async #download(): Promise<void> {
    using client = await Peer.connect(this.#proxy.httpPort);
    for (let i = 0; i < 10 && !this.over; i++) {
      const answer = await client.ask(`GET /download HTTP/1.1\r\n${HOST}\r\n`);
      if (statusOf(answer) !== 200 || answer.body.length !== DOWNLOAD.length) {
        return this.fail("download", answer.head);
      }
      this.served.downloads++;
      await this.pause(100);
    }
  }

  async #abort(): Promise<void> {
    await abort(this.#proxy.httpPort, this.aborted++);
    await this.pause(20);
  }
}
