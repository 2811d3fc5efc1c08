/**
 * Clients that must not notice a reload. In: a proxy. Out: what they got: answers, frames,
 * handshakes, and everything that went wrong. Most hold on to one connection for the whole run.
 */
import { Peer } from "../support/backend.ts";
import { Http2Client } from "../support/http2_client.ts";
import { authority, TlsClient } from "../support/tls_proxy.ts";
import { HOST, HOST_WITH_FILES, RPC_PATH } from "./reload_plan.ts";

/** Where a proxy listens on 127.0.0.1. */
interface Ports {
  readonly httpPort: number;
  readonly httpsPort: number;
}

/** A connection, whatever it runs over. */
interface Channel {
  /** Sends a request's head, and gives the whole answer; "" or a part where it ended. */
  ask(head: string): Promise<string>;
  /** Likewise for the head of an answer to an upgrade. */
  upgrade(head: string): Promise<string>;
  /** Sends this, and waits until as many bytes have come; false where it ended. */
  echo(data: Uint8Array): Promise<boolean>;
  close(): void;
}

const UPGRADE = `GET /socket HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\n` +
  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/** A masked binary frame with 20 bytes. */
const FRAME = new Uint8Array([0x82, 0x80 | 20, 1, 2, 3, 4, ...new Uint8Array(20).fill(7)]);

/** What any of the configurations in turn may give. */
const ANSWER = /^HTTP\/1\.1 200 [^]*\r\n\r\n(?:blue|green|red)$/;

/** Between two looks at the clock, in ms. */
const PAUSE = 2;

export class ReloadLoad {
  over = false;
  requests = 0;
  handshakes = 0;
  frames = 0;
  /** Connections that ended before the load did. */
  closed = 0;
  /** From a request to its answer, at the longest, in ms. */
  longestStall = 0;
  /** For which this process itself has stood still, at the longest, in ms. */
  longestPause = 0;
  readonly failures: string[] = [];
  readonly #proxy: Ports;
  readonly #names: readonly string[];
  readonly #calls: boolean;

  /**
   * @param names of certificates that may be shown.
   * @param calls gRPC too, where the proxy's backends speak it.
   */
  constructor(proxy: Ports, names: readonly string[], calls = true) {
    this.#proxy = proxy;
    this.#names = names;
    this.#calls = calls;
  }

  /** Until `over`; never rejects. */
  async run(): Promise<void> {
    const many = (count: number, client: (index: number) => Promise<void>) =>
      Array.from({ length: count }, (_, index) => this.#play(() => client(index)));
    const plain = () => this.#plain();
    await Promise.all([
      ...many(8, (index) => this.#keepAlive(plain, HOST, index % 2 === 0 ? "/" : "/turn")),
      ...many(2, () => this.#keepAlive(plain, HOST, "/slow")),
      ...many(2, () => this.#keepAlive(() => this.#secure(HOST), HOST, "/")),
      ...many(2, () => this.#keepAlive(() => this.#secure(HOST_WITH_FILES), HOST_WITH_FILES, "/")),
      ...many(2, () => this.#upload()),
      ...many(4, () => this.#http2(this.#proxy.httpPort)),
      ...many(2, () => this.#http2(this.#proxy.httpsPort, authority.certificate)),
      ...many(3, () => this.#webSocket(plain)),
      ...many(2, () => this.#webSocket(() => this.#secure(HOST))),
      this.#watchPauses(),
      ...many(1, () => this.#anew(plain, HOST)),
      ...many(1, () => this.#anew(() => this.#secure(HOST), HOST)),
      ...many(1, () => this.#anew(() => this.#secure(HOST_WITH_FILES), HOST_WITH_FILES)),
    ]);
  }

  async #play(client: () => Promise<void>): Promise<void> {
    while (!this.over) {
      try {
        await client();
      } catch (error) {
        this.failures.push(`connection: ${error}`);
        await pause(50);
      }
    }
  }

  async #plain(): Promise<Channel> {
    const peer = await Peer.connect(this.#proxy.httpPort);
    return {
      ask: async (head) => {
        const answer = await peer.ask(head);
        return answer.complete ? `${answer.head.trimEnd()}\r\n\r\n${answer.body}` : answer.head;
      },
      upgrade: async (head) => {
        await peer.send(head);
        return (await peer.reader.head("response"))?.head ?? "";
      },
      echo: async (data) => {
        if (!await peer.send(data)) return false;
        for (let due = data.length; due > 0;) {
          const view = await peer.read();
          if (view === null) return false;
          due -= view.length;
        }
        return true;
      },
      close: () => peer.close(),
    };
  }

  async #secure(name: string): Promise<Channel> {
    const client = await TlsClient.connect(this.#proxy.httpsPort, { name });
    this.handshakes++;
    if (!this.#names.includes(client.names)) {
      this.failures.push(`certificate of ${name}: ${client.names}`);
    }
    return {
      ask: (head) => client.ask(head.slice(0, -4)),
      upgrade: (head) => client.ask(head.slice(0, -4)),
      echo: async (data) => {
        client.received = "";
        client.socket.write(data);
        await client.until(() => client.received.length >= data.length);
        return !client.ended;
      },
      close: () => client.close(),
    };
  }

  /** One connection, and a request every few ms on it. */
  async #keepAlive(connect: () => Promise<Channel>, host: string, path: string): Promise<void> {
    await this.#use(connect, async (channel) => {
      while (!this.over) {
        const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
        if (!await this.#ask(channel, head, path !== "/slow")) return;
        await pause(15);
      }
    });
  }

  /** A connection for each request. */
  async #anew(connect: () => Promise<Channel>, host: string): Promise<void> {
    await this.#use(connect, async (channel) => {
      await this.#ask(channel, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
    await pause(50);
  }

  /** Bodies that take as long as several reloads. */
  async #upload(): Promise<void> {
    using client = await Peer.connect(this.#proxy.httpPort);
    while (!this.over) {
      await client.send(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 20000\r\n\r\n`);
      for (let i = 0; i < 20; i++) {
        if (!await client.send("x".repeat(1000))) break;
        await pause(20);
      }
      const answer = await client.answer();
      if (!this.#judge(answer.complete ? `${answer.head.trimEnd()}\r\n\r\n${answer.body}` : "")) {
        return;
      }
    }
  }

  /** One connection of HTTP/2: requests, beside a gRPC stream that lasts for the whole run. */
  async #http2(port: number, ca?: string): Promise<void> {
    using client = await Http2Client.connect(port, { host: HOST, ...(ca ? { ca } : {}) });
    const asking = async (path: string) => {
      while (!this.over) {
        const start = performance.now();
        const { status, body } = await client.ask({ path });
        if (path !== "/slow") {
          this.longestStall = Math.max(this.longestStall, performance.now() - start);
        }
        if (!this.#judge(`HTTP/1.1 ${status} \r\n\r\n${body}`)) return;
        await pause(15);
      }
    };
    const streaming = async () => {
      const call = client.call(`${RPC_PATH}/Chat`);
      while (!this.over) {
        if (await call.echo("a message") !== "a message") this.failures.push("a gRPC stream");
        this.frames++;
        await pause(20);
      }
      call.end();
      const { trailers } = await call.answer;
      if (trailers["grpc-status"] !== "0") this.failures.push(`gRPC: ${JSON.stringify(trailers)}`);
    };
    const all = [asking("/"), asking("/turn"), asking("/slow")];
    await Promise.all(this.#calls ? [...all, streaming()] : all);
    if (client.isLeaving) {
      this.closed++;
      this.failures.push("a connection of HTTP/2 was told to end");
    }
  }

  async #webSocket(connect: () => Promise<Channel>): Promise<void> {
    await this.#use(connect, async (channel) => {
      const answer = await channel.upgrade(UPGRADE);
      if (!answer.startsWith("HTTP/1.1 101 ")) {
        return void this.failures.push(`upgrade: ${JSON.stringify(answer)}`);
      }
      while (!this.over) {
        if (!await channel.echo(FRAME)) {
          this.closed++;
          return void this.failures.push("a WebSocket was cut");
        }
        this.frames++;
        await pause(20);
      }
    });
  }

  async #watchPauses(): Promise<void> {
    while (!this.over) {
      const start = performance.now();
      await pause(PAUSE);
      this.longestPause = Math.max(this.longestPause, performance.now() - start - PAUSE);
    }
  }

  async #use(
    connect: () => Promise<Channel>,
    client: (channel: Channel) => Promise<void>,
  ): Promise<void> {
    const channel = await connect();
    try {
      await client(channel);
    } finally {
      channel.close();
    }
  }

  /** Whether the connection can go on. */
  async #ask(channel: Channel, head: string, isQuick = true): Promise<boolean> {
    const start = performance.now();
    const answer = await channel.ask(head);
    if (isQuick) this.longestStall = Math.max(this.longestStall, performance.now() - start);
    return this.#judge(answer);
  }

  #judge(answer: string): boolean {
    if (ANSWER.test(answer)) {
      this.requests++;
      return true;
    }
    this.failures.push(`request: ${JSON.stringify(answer)}`);
    if (answer === "") this.closed++;
    return false;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
