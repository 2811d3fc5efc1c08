/**
 * Clients of HTTP/2 in the mixed load. In: a proxy, and when to pause and when to end. Out: how many
 * of each were served. One connection of each is used for a while, many requests at a time.
 */
import { DOWNLOAD_BYTES } from "../support/http2_backend.ts";
import { Http2Client } from "../support/http2_client.ts";
import type { ProxyProcess } from "../support/proxy_process.ts";
import { authority } from "../support/tls_proxy.ts";
import { RPC_PATH, SECURE_HOST } from "./mixed_targets.ts";

/** What the whole load decides. */
export interface Course {
  readonly over: boolean;
  readonly pause: (ms: number) => Promise<void>;
  readonly fail: (what: string, got: string) => void;
}

/** Requests at a time on one connection. */
const AT_A_TIME = 8;

/** Of a gRPC stream; longer than a frame. */
const MESSAGE = "m".repeat(20_000);

export class MixedHttp2Load {
  readonly served = { plain: 0, tls: 0, messages: 0, streams: 0, transfers: 0, cancelled: 0 };
  readonly #proxy: ProxyProcess;
  readonly #course: Course;

  constructor(proxy: ProxyProcess, course: Course) {
    this.#proxy = proxy;
    this.#course = course;
  }

  /** A thousand requests in plain text, some of them gRPC. */
  async requests(): Promise<void> {
    using client = await Http2Client.connect(this.#proxy.httpPort);
    await this.#share(client, 1_000, async (index) => {
      if (index % 4 === 0) await this.#call(client);
      else await this.#get(client);
      this.served.plain++;
    });
  }

  /** The same over TLS, with a handshake more often. */
  async secureRequests(): Promise<void> {
    const options = { ca: authority.certificate, host: SECURE_HOST };
    using client = await Http2Client.connect(this.#proxy.httpsPort, options);
    await this.#share(client, 200, async () => {
      await this.#get(client);
      this.served.tls++;
    });
  }

  /** gRPC streams beside each other, in both ways. */
  async streams(): Promise<void> {
    using client = await Http2Client.connect(this.#proxy.httpPort);
    await this.#share(client, 4, async () => {
      const call = client.call(`${RPC_PATH}/Chat`);
      for (let i = 0; i < 50 && !this.#course.over; i++) {
        const back = await call.echo(MESSAGE);
        if (back !== MESSAGE) this.#course.fail("gRPC stream", back);
        this.served.messages++;
        await this.#course.pause(20);
      }
      call.end();
      const { trailers } = await call.answer;
      if (trailers["grpc-status"] !== "0") {
        this.#course.fail("gRPC stream", JSON.stringify(trailers));
      }
      this.served.streams++;
    }, 4);
  }

  /** Uploads and downloads through the windows of one connection. */
  async transfers(): Promise<void> {
    using client = await Http2Client.connect(this.#proxy.httpPort);
    await this.#share(client, 20, async (index) => {
      if (index % 2 === 0) {
        const size = 1 + Math.floor(Math.random() * 200_000);
        const { body } = await client.ask({ path: "/upload", body: "x".repeat(size) });
        if (body !== String(size)) this.#course.fail("upload in HTTP/2", body);
      } else {
        const { body } = await client.ask({ path: "/download" });
        if (body.length !== DOWNLOAD_BYTES) this.#course.fail("download in HTTP/2", "a part");
      }
      this.served.transfers++;
      await this.#course.pause(100);
    }, 2);
  }

  /** Requests that the client takes back: before the answer, in it, and in the body. */
  async cancels(): Promise<void> {
    using client = await Http2Client.connect(this.#proxy.httpPort);
    for (let i = 0; i < 50 && !this.#course.over && !client.isLeaving; i++) {
      if (i % 3 === 0) {
        const call = client.call(`${RPC_PATH}/Chat`);
        await call.echo(MESSAGE);
        call.stream.close(CANCEL);
      } else if (i % 3 === 1) {
        client.open({ path: "/download" }).stream.close(CANCEL);
      } else {
        const call = client.open({ method: "POST", path: "/upload" });
        call.stream.write(MESSAGE);
        call.stream.close(CANCEL);
      }
      this.served.cancelled++;
      // A client that takes back more is told to calm down.
      await pause(100);
    }
  }

  async #get(client: Http2Client): Promise<void> {
    const { status, body } = await client.ask({ path: "/ok" });
    if (status !== 200 || body !== "ok") {
      this.#course.fail("request in HTTP/2", `${status} ${body}`);
    }
  }

  async #call(client: Http2Client): Promise<void> {
    const call = client.call(`${RPC_PATH}/Say`);
    call.end("hello");
    const { body, trailers } = await call.answer;
    if (body !== "hello" || trailers["grpc-status"] !== "0") {
      this.#course.fail("gRPC call", `${body} ${JSON.stringify(trailers)}`);
    }
  }

  /** Uses a connection so many times, several at a time, while it lasts. */
  async #share(
    client: Http2Client,
    times: number,
    use: (index: number) => Promise<void>,
    atATime = AT_A_TIME,
  ): Promise<void> {
    let next = 0;
    await Promise.all(Array.from({ length: atATime }, async () => {
      while (next < times && !this.#course.over && !client.isLeaving) {
        await use(next++);
        await this.#course.pause(20);
      }
    }));
  }
}

/** RFC 9113 §7. */
const CANCEL = 8;

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
