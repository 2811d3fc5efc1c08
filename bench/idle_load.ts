/**
 * Clients that rest: each connects, gets an answer of 6 bytes, and stays. In: URL, the certificate's
 * authority (a file, empty without TLS), how many connections, how many requests on each, and the version
 * of HTTP: 2 comes without TLS. Out: the line `open` when those that stay have nothing to ask any more;
 * once a byte comes by standard input, a line of JSON, see `IdleReport`, while all are still open. They
 * end with standard input. It runs as a process of its own, so that its CPU time is nobody else's.
 *
 * They come one after the other, by calls of the kernel that wait: ten thousand that come at once
 * would show how a proxy queues, and not what a connection costs.
 */
import { answerOf, DONE, PARTIAL } from "./http_answer.ts";
import { Http2Client } from "./http2_client.ts";
import { connectTo, limitReads, micros, receive, transmit, unblock } from "./libc.ts";
import type { Session } from "./libssl.ts";
import { type Percentiles, percentilesOf } from "./percentiles.ts";

/** Latencies are those from connecting until the answer has come, in ms. */
export interface IdleReport extends Percentiles {
  readonly opened: number;
  /** Until all were open, in ms. */
  readonly duration: number;
  /** Connections that were closed, or on which something came, while they rested. */
  readonly errors: number;
}

/** For a read, in s. */
const PATIENCE = 10;

const [url, authority, ...numbers] = Deno.args;
const [count, requests, version] = numbers.map(Number);
const { host, hostname, port, pathname } = new URL(url);
const secure = authority === "" ? null : await import("./libssl.ts").then((ssl) => ({
  ...ssl,
  client: new ssl.TlsClient(authority, hostname),
}));
const request = new TextEncoder().encode(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
const buffer = new Uint8Array(16 * 1024);

interface Resting {
  /** One request; throws where its answer is no success, or does not come. */
  ask(): void;
  rest(): void;
  /** Whether it is open, and nothing has come since its answer that says otherwise. */
  isAtRest(): boolean;
}

class Http1Connection implements Resting {
  readonly #fd = connectTo(Number(port));
  readonly #session: Session | null;

  constructor() {
    limitReads(this.#fd, PATIENCE);
    this.#session = secure?.client.handshake(this.#fd) ?? null;
  }

  ask(): void {
    const sent = this.#session === null
      ? transmit(this.#fd, request)
      : secure!.transmitTls(this.#session, request);
    if (sent !== request.length) throw new Error("a request could not be sent");
    let answer = PARTIAL;
    for (let filled = 0; answer === PARTIAL;) {
      const received = this.#receive(buffer.subarray(filled));
      if (received === 0) throw new Error("a connection was closed without an answer");
      if (received < 0) throw new Error("a request was not answered");
      filled += received;
      answer = answerOf(buffer, filled);
    }
    if (answer !== DONE) throw new Error("a request was refused");
  }

  rest(): void {
    unblock(this.#fd);
  }

  /** Tickets of TLS are nothing. */
  isAtRest(): boolean {
    return this.#receive(buffer) < 0;
  }

  #receive(into: Uint8Array<ArrayBuffer>): number {
    return this.#session === null
      ? receive(this.#fd, into)
      : secure!.receiveTls(this.#session, into);
  }
}

/** HTTP/2, of which the proxy may have more to say after an answer: an acknowledgement of settings. */
class Http2Connection implements Resting {
  readonly #fd = connectTo(Number(port));
  readonly #client = new Http2Client(host, pathname);

  constructor() {
    limitReads(this.#fd, PATIENCE);
    this.#send(this.#client.opening);
  }

  ask(): void {
    this.#send(this.#client.request());
    while (!this.#client.isAnswered) {
      const received = receive(this.#fd, buffer);
      if (received === 0) throw new Error("a connection was closed without an answer");
      if (received < 0) throw new Error("a request was not answered");
      this.#client.receive(buffer.subarray(0, received));
    }
    if (!this.#client.isSuccess) throw new Error("a request was refused");
  }

  rest(): void {
    unblock(this.#fd);
  }

  isAtRest(): boolean {
    for (;;) {
      const received = receive(this.#fd, buffer);
      if (received < 0) return !this.#client.isLeaving;
      if (received === 0) return false;
      this.#client.receive(buffer.subarray(0, received));
    }
  }

  #send(bytes: Uint8Array<ArrayBuffer>): void {
    if (transmit(this.#fd, bytes) !== bytes.length) throw new Error("a request could not be sent");
  }
}

const open: Resting[] = [];
const latencies: number[] = [];
const begin = micros();
for (let one = 0; one < count; one++) {
  const start = micros();
  const connection = version === 2 ? new Http2Connection() : new Http1Connection();
  connection.ask();
  latencies.push((micros() - start) / 1000);
  for (let more = 1; more < requests; more++) connection.ask();
  connection.rest();
  open.push(connection);
}
const duration = (micros() - begin) / 1000;
console.log("open");
await Deno.stdin.read(new Uint8Array(1));
const report: IdleReport = {
  opened: count,
  duration,
  errors: open.filter((connection) => !connection.isAtRest()).length,
  ...percentilesOf(latencies),
};
console.log(JSON.stringify(report));
await Deno.stdin.read(new Uint8Array(1));
Deno.exit(0);
