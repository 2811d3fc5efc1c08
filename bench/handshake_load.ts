/**
 * Clients in a closed loop that come anew each time: each connects, shakes hands, gets one answer of 6
 * bytes, sees the connection end, and connects again. In: URL, the certificate's authority (a file),
 * connections at a time, seconds, and `full` or `resumed`. Out: the line `open` when each has done so
 * once, then a line of JSON, see `HandshakeReport`. It ends with standard input. It runs as a process
 * of its own, so that its CPU time is nobody else's.
 *
 * With `resumed` a client offers the last ticket that it got, by TLS 1.3 with a key exchange besides
 * (psk_dhe_ke, all that OpenSSL offers). That the server took it is what OpenSSL says.
 */
import { answerOf, DONE } from "./http_answer.ts";
import { closeSocket, connectTo, micros, Poll, unblock } from "./libc.ts";
import {
  endTls,
  freeSession,
  freeTicket,
  isResumed,
  proceed,
  receiveTls,
  type Session,
  type Ticket,
  ticketOf,
  TlsClient,
  transmitTls,
} from "./libssl.ts";
import { type Percentiles, percentilesOf } from "./percentiles.ts";

/** Latencies are those from connecting until the end of the connection, in ms. */
export interface HandshakeReport extends Percentiles {
  /** Those whose client was answered. */
  readonly handshakes: number;
  /** How many of them resumed a session. */
  readonly resumed: number;
  /** What failed, was refused, or did not come. */
  readonly errors: number;
  /** In ms. */
  readonly duration: number;
}

/** How long after the end an answer may still come, in µs. */
const PATIENCE = 30e6;

const [url, authority, ...rest] = Deno.args;
const [connections, seconds] = rest.map(Number);
const resumes = rest[2] === "resumed";
const { host, hostname, port, pathname } = new URL(url);
const tls = new TlsClient(authority, hostname);
const request = new TextEncoder().encode(
  `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
);
const poll = new Poll();
const latencies: number[] = [];
let resumed = 0;
let errors = 0;
let counting = false;
let coming = 0;

class Client {
  readonly #key: number;
  readonly #buffer = new Uint8Array(4096);
  #filled = 0;
  #begin = 0;
  #fd = -1;
  #session: Session | null = null;
  #isOpen = false;
  #ticket: Ticket | null = null;
  /** Whether it has been answered once. */
  isKnown = false;

  constructor(key: number) {
    this.#key = key;
  }

  start(): void {
    coming++;
    this.#begin = micros();
    this.#filled = 0;
    this.#isOpen = false;
    this.#fd = connectTo(Number(port));
    unblock(this.#fd);
    poll.add(this.#fd, this.#key);
    this.#session = tls.begin(this.#fd, this.#ticket);
    proceed(this.#session);
  }

  /** Something has come. Whether the connection is at its end. */
  advance(): boolean {
    const session = this.#session!;
    try {
      if (!this.#isOpen) {
        if (!proceed(session)) return false;
        this.#isOpen = true;
        if (transmitTls(session, request) !== request.length) throw new Error("not sent");
      }
      while (true) {
        const count = receiveTls(session, this.#buffer.subarray(this.#filled));
        if (count < 0) return false;
        if (count === 0) break;
        this.#filled += count;
      }
      if (answerOf(this.#buffer, this.#filled) !== DONE) throw new Error("not answered");
      this.#succeed(session);
    } catch {
      errors++;
    }
    endTls(session);
    freeSession(session);
    closeSocket(this.#fd);
    coming--;
    return true;
  }

  #succeed(session: Session): void {
    this.isKnown = true;
    if (counting) {
      latencies.push((micros() - this.#begin) / 1000);
      if (isResumed(session)) resumed++;
    }
    if (!resumes) return;
    if (this.#ticket !== null) freeTicket(this.#ticket);
    this.#ticket = ticketOf(session);
  }
}

const clients = Array.from({ length: connections }, (_, key) => new Client(key));

/** Lets clients come again and again until something holds; without a pause, unless they all fail. */
function run(until: () => boolean, deadline: number): void {
  for (const client of clients) client.start();
  while (coming > 0 && micros() < deadline) {
    const ready = poll.wait(deadline - micros());
    const ended: Client[] = [];
    for (let at = 0; at < ready; at++) {
      const client = clients[poll.keyAt(at)];
      if (client.advance()) ended.push(client);
    }
    if (!until()) { for (const client of ended) client.start(); }
  }
  // Those that are still coming are left without an answer.
  errors += coming;
}

run(() => clients.every(({ isKnown }) => isKnown) || errors > 0, micros() + PATIENCE);
console.log("open");
counting = true;
const begin = micros();
const end = begin + seconds * 1e6;
if (errors === 0) run(() => micros() >= end, end + PATIENCE);
const report: HandshakeReport = {
  handshakes: latencies.length,
  resumed,
  errors,
  duration: (micros() - begin) / 1000,
  ...percentilesOf(latencies),
};
console.log(JSON.stringify(report));
await Deno.stdin.read(new Uint8Array(1));
Deno.exit(0);
