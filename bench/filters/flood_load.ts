/**
 * Requests at constant rates on connections of their own, whatever their responses do. In: a file with a
 * `FloodPlan`, as argument. Out: the line `open` when all flows go on, and after standard input has ended
 * and all are answered a line of JSON, a `FlowReport` for each. It runs as a process of its own.
 *
 * The n-th request of a flow is due n intervals after the start, and its time counts from then: it has
 * the delays of this process too, so that a limit which is kept here is kept by the proxy.
 *
 * By the kernel's own calls: 220 connections a second take a tenth of a core then, and by `node:net` 0.22, which
 * on two cores delays the requests that the flood is said to delay.
 */
import {
  closeSocket,
  connectTo,
  micros,
  Poll,
  receive,
  sharpenTimers,
  transmit,
  unblock,
} from "../libc.ts";
import { percentilesOf } from "../percentiles.ts";

export interface Flow {
  readonly name: string;
  /** Requests a second. */
  readonly rate: number;
  /** Whole requests, in turn; each must end its connection. */
  readonly requests: readonly string[];
}

export interface FloodPlan {
  /** A port of 127.0.0.1. */
  readonly port: number;
  readonly flows: readonly Flow[];
}

/** Responses with one status. */
export interface StatusReport {
  readonly status: number;
  readonly count: number;
  /** How many have Retry-After. */
  readonly retryAfter: number;
  /** In ms, from when a request was due to the end of its response. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface FlowReport {
  readonly name: string;
  readonly sent: number;
  /** Without a whole response. */
  readonly failed: number;
  readonly statuses: readonly StatusReport[];
}

interface Answer {
  readonly status: number;
  readonly retryAfter: boolean;
  /** In ms. */
  readonly latency: number;
}

/** Room for a response. */
const RESPONSE = 16 * 1024;

/** The descriptor of standard input, and its key of `Poll`; connections have theirs from 1 on. */
const INPUT = 0;

/** How long is waited at most where nothing is due, in µs. */
const LONGEST_WAIT = 1e6;

const plan: FloodPlan = JSON.parse(await Deno.readTextFile(Deno.args[0]));
const poll = new Poll();

/** A flow under way. */
class Sending {
  readonly answers: Answer[] = [];
  readonly #flow: Flow;
  readonly #requests: readonly Uint8Array<ArrayBuffer>[];
  /** In µs. */
  readonly #start = micros();
  failed = 0;
  sent = 0;

  constructor(flow: Flow) {
    this.#flow = flow;
    this.#requests = flow.requests.map((text) => new TextEncoder().encode(text));
  }

  /** When the next request is due, in µs. */
  get due(): number {
    return this.#start + this.sent * 1e6 / this.#flow.rate;
  }

  get next(): Uint8Array<ArrayBuffer> {
    return this.#requests[this.sent % this.#requests.length];
  }

  report(): FlowReport {
    const { answers, sent, failed } = this;
    const statuses = [...new Set(answers.map(({ status }) => status))].sort((a, b) => a - b);
    return {
      ...{ name: this.#flow.name, sent, failed },
      statuses: statuses.map((status) => reportOf(status, answers)),
    };
  }
}

/** A connection for one request. */
interface Exchange {
  readonly flow: Sending;
  readonly fd: number;
  /** When the request was due, in µs. */
  readonly due: number;
  received: string;
}

const flows = plan.flows.map((flow) => new Sending(flow));
const exchanges = new Map<number, Exchange>();
const buffer = new Uint8Array(RESPONSE);
const latin1 = new TextDecoder("latin1");
let lastKey = INPUT;
let ended = false;

sharpenTimers();
poll.add(INPUT, INPUT);
console.log("open");
while (!ended || exchanges.size > 0) {
  let wait = LONGEST_WAIT;
  if (!ended) {
    for (const flow of flows) sendDue(flow);
    wait = Math.min(wait, ...flows.map(({ due }) => due - micros()));
  }
  const ready = poll.wait(Math.max(0, wait));
  for (let at = 0; at < ready; at++) {
    const key = poll.keyAt(at);
    if (key === INPUT) end();
    else read(key);
  }
}
console.log(JSON.stringify(flows.map((flow) => flow.report())));
Deno.exit(0);

/** Nothing more is sent: what is under way is waited for. */
function end(): void {
  ended = true;
  // A pipe whose other end is closed is always ready: `wait` would return at once, again and again.
  poll.remove(INPUT);
}

function sendDue(flow: Sending): void {
  for (let { due } = flow; due <= micros(); { due } = flow) {
    const request = flow.next;
    flow.sent++;
    const fd = connectTo(plan.port);
    unblock(fd);
    exchanges.set(++lastKey, { flow, fd, due, received: "" });
    poll.add(fd, lastKey);
    if (transmit(fd, request) !== request.length) finish(lastKey);
  }
}

function read(key: number): void {
  const exchange = exchanges.get(key);
  if (exchange === undefined) return;
  const count = receive(exchange.fd, buffer);
  if (count > 0) exchange.received += latin1.decode(buffer.subarray(0, count));
  // Each request ends its connection. Of one that can be read, a negative number is a reset.
  else finish(key);
}

function finish(key: number): void {
  const { flow, fd, due, received } = exchanges.get(key)!;
  exchanges.delete(key);
  closeSocket(fd);
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(received) ?? [];
  if (status === undefined || !received.includes("\r\n\r\n")) {
    flow.failed++;
    return;
  }
  flow.answers.push({
    status: Number(status),
    retryAfter: /\r\nRetry-After: /i.test(received),
    latency: (micros() - due) / 1000,
  });
}

function reportOf(status: number, answers: readonly Answer[]): StatusReport {
  const own = answers.filter((answer) => answer.status === status);
  const latencies = own.map(({ latency }) => latency);
  const { p50, p99 } = percentilesOf(latencies);
  return {
    status,
    count: own.length,
    retryAfter: own.filter(({ retryAfter }) => retryAfter).length,
    ...{ p50, p99, max: Math.max(...latencies) },
  };
}
