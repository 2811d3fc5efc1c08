/**
 * Requests at a constant rate. In: a file with an `OpenLoopPlan`. Out: the line `open` when what
 * counts begins, then a line of JSON, see `OpenLoopReport`, while all connections are still open; it
 * ends with standard input. It runs as a process of its own, so that its CPU time is nobody else's.
 *
 * The n-th request's time comes n intervals after the start, whatever the answers do: a client in
 * the world does not wait because another one's answer is late. It is sent on the connection that
 * has been free for longest, or on a new one each; while none is free, it waits in line. Its latency
 * counts from its time, not from when it was sent (else the slow moments of a proxy hold back the very
 * requests that would have seen them: "coordinated omission", which wrk, ab and h2load have).
 *
 * Why it is our own: wrk and ab have no rate; h2load, fortio and autocannon have one, but count from
 * when a request was sent, or estimate what they left out; vegeta and oha would have to be built with
 * Go or Rust, and share the two cores of a small machine with a runtime and its garbage or timers of
 * a millisecond; wrk2, which is the model, is in no distribution. This one needs Deno alone. It calls
 * the kernel by FFI, without an event loop, and with next to nothing allocated for a request: 15,000
 * a second take it about half of a CPU.
 *
 * Between requests it sleeps, by a timer of nanoseconds with the slack taken away, which wakes it
 * some 10 to 50 µs late; a loop that looks at the clock instead would take a whole CPU from the
 * proxy. How late it was with what it could have sent is in the report: a tail is the proxy's
 * where that is far below it.
 */
import { answerOf, DONE, PARTIAL } from "./http_answer.ts";
import {
  closeSocket,
  connectTo,
  micros,
  Poll,
  receive,
  sharpenTimers,
  transmit,
  unblock,
} from "./libc.ts";
import type { Session } from "./libssl.ts";
import { percentilesOf } from "./percentiles.ts";
import type { BenchRoute } from "./routes.ts";

export interface OpenLoopPlan {
  /** A port of 127.0.0.1. */
  readonly port: number;
  /** The file of the certificate's authority, and the name in the certificate; null without TLS. */
  readonly tls: { readonly authority: string; readonly name: string } | null;
  /** At the same time. */
  readonly connections: number;
  /** Each request has a new connection, which is closed after its response. */
  readonly isNewEach: boolean;
  readonly seconds: number;
  /** Requests a second in all. */
  readonly rate: number;
  /** What to ask for, in turn. */
  readonly requests: readonly BenchRoute[];
}

export interface OpenLoopReport {
  readonly answered: number;
  /** What was refused, cut off, or not answered within `PATIENCE`. */
  readonly errors: number;
  /** In ms, as are all that follow. */
  readonly duration: number;
  /** From a request's time to the end of its answer. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** From when a request could have been sent until it was: this process's own part of it. */
  readonly ownP999: number;
  readonly ownMax: number;
}

/** Before anything counts, in s: compilers on both sides have seen all code by then. */
const WARM_UP = 0.5;

/**
 * How long after the last request's time its answer may still come, in µs: beside other work a response takes
 * seconds, which its latency shows.
 */
const PATIENCE = 30e6;

/** Room for an answer. */
const ANSWER = 16 * 1024;

const plan: OpenLoopPlan = JSON.parse(await Deno.readTextFile(Deno.args[0]));
const { port, connections, isNewEach, rate } = plan;
const secure = plan.tls === null ? null : await secureBy(plan.tls);
const requests = plan.requests.map(({ host, path }) =>
  new TextEncoder().encode(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${isNewEach ? "Connection: close\r\n" : ""}\r\n`,
  )
);
const poll = new Poll();

class Connection {
  readonly buffer = new Uint8Array(ANSWER);
  filled = 0;
  /** Which request is under way; -1 for none. */
  index = -1;
  #fd = -1;
  #session: Session | null = null;

  constructor(readonly key: number) {
    if (!isNewEach) this.open();
  }

  close(): void {
    if (this.#session !== null) secure?.freeSession(this.#session);
    if (this.#fd !== -1) closeSocket(this.#fd);
    this.#session = null;
    this.#fd = -1;
  }

  /** Closes what was open before; throws where the proxy takes no connection. */
  open(): void {
    this.close();
    this.#fd = connectTo(port);
    this.#session = secure?.client.handshake(this.#fd) ?? null;
    unblock(this.#fd);
    poll.add(this.#fd, this.key);
  }

  /** Whether all of it was taken; it is far smaller than any buffer of the kernel. */
  send(index: number): boolean {
    if (isNewEach) this.open();
    this.index = index;
    this.filled = 0;
    const request = requests[index % requests.length];
    const sent = this.#session === null
      ? transmit(this.#fd, request)
      : secure!.transmitTls(this.#session, request);
    return sent === request.length;
  }

  /** What one read brings, as `receive` says it. */
  receive(): number {
    const room = this.filled === 0 ? this.buffer : this.buffer.subarray(this.filled);
    return this.#session === null
      ? receive(this.#fd, room)
      : secure!.receiveTls(this.#session, room);
  }
}

const warmUp = Math.round(WARM_UP * rate);
const total = warmUp + Math.round(plan.seconds * rate);
const interval = 1e6 / rate;
/** In µs; written here, so that no page of them is new in a measurement. */
const latencies = new Float64Array(total).fill(-1);
const own = new Float64Array(total).fill(-1);
const all = Array.from({ length: connections }, (_, key) => new Connection(key));
/** Keys of connections without a request, the one that is free for longest first. */
const free = Int32Array.from(all, ({ key }) => key);
let firstFree = 0;
let freeCount = connections;
/** Since when one was free without a pause, in µs. */
let freeSince = 0;
let next = 0;
let settled = 0;
let errors = 0;
let start = 0;

function release(connection: Connection, now: number): void {
  if (freeCount === 0) freeSince = now;
  free[(firstFree + freeCount++) % connections] = connection.key;
}

function settle(connection: Connection, now: number, failed: boolean): void {
  if (connection.index !== -1) {
    settled++;
    if (failed && connection.index >= warmUp) errors++;
    if (!failed) latencies[connection.index] = now - (start + connection.index * interval);
  }
  connection.index = -1;
  release(connection, now);
}

/** Sends what is due, as far as connections are free. */
function send(): void {
  while (freeCount > 0 && next < total) {
    const time = start + next * interval;
    const now = micros();
    if (now < time) return;
    const connection = all[free[firstFree]];
    firstFree = (firstFree + 1) % connections;
    freeCount--;
    own[next] = now - Math.max(time, freeSince);
    if (!connection.send(next++)) fail(connection);
  }
}

/** The request under way has failed, or none was and the proxy has ended the connection. */
function fail(connection: Connection): void {
  if (connection.index === -1) {
    // It stands in line as free, and stays there.
    errors++;
    connection.open();
    return;
  }
  if (isNewEach) connection.close();
  else connection.open();
  settle(connection, micros(), true);
}

function read(connection: Connection): void {
  while (true) {
    const count = connection.receive();
    if (count < 0) return;
    if (count === 0 || connection.index === -1) return fail(connection);
    connection.filled += count;
    const answer = answerOf(connection.buffer, connection.filled);
    if (answer === DONE) {
      settle(connection, micros(), false);
      if (isNewEach) connection.close();
      return;
    }
    if (answer !== PARTIAL || connection.filled === ANSWER) return fail(connection);
  }
}

sharpenTimers();
start = micros() + 1000;
const begin = start + warmUp * interval;
const deadline = start + total * interval + PATIENCE;
let counting = false;
while (settled < total) {
  send();
  const now = micros();
  if (now > deadline) break;
  if (!counting && now >= begin) {
    counting = true;
    console.log("open");
  }
  // Without a free connection, only an answer can bring on the next request.
  const until = freeCount > 0 && next < total ? start + next * interval : deadline;
  const ready = poll.wait(Math.max(0, until - now));
  for (let at = 0; at < ready; at++) {
    read(all[poll.keyAt(at)]);
    send();
  }
}

const duration = (micros() - begin) / 1000;
const answered = counted(latencies);
const late = counted(own);
const report: OpenLoopReport = {
  ...percentilesOf(answered),
  answered: answered.length,
  errors: errors + total - settled,
  duration,
  max: answered.reduce((most, one) => Math.max(most, one), 0),
  ownP999: percentilesOf(late).p999,
  ownMax: late.reduce((most, one) => Math.max(most, one), 0),
};
console.log(JSON.stringify(report));
await Deno.stdin.read(new Uint8Array(1));
Deno.exit(0);

/** In ms, those of requests that count, and were sent or answered. */
function counted(values: Float64Array): Float64Array {
  return values.subarray(warmUp).filter((value) => value >= 0).map((value) => value / 1000);
}

/** OpenSSL, only where there is TLS. */
async function secureBy({ authority, name }: NonNullable<OpenLoopPlan["tls"]>) {
  const ssl = await import("./libssl.ts");
  return { ...ssl, client: new ssl.TlsClient(authority, name) };
}
