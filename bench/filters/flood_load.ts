/**
 * Requests at constant rates on connections of their own, whatever their responses do. In: a file with a
 * `FloodPlan`, as argument. Out: the line `open` when all flows go on, and after standard input has ended
 * and all are answered a line of JSON, a `FlowReport` for each. It runs as a process of its own.
 *
 * The n-th request of a flow is due n intervals after the start, and its time counts from then: it has
 * the delays of this process too, so that a limit which is kept here is kept by the proxy.
 */
import { connect } from "node:net";
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

const plan: FloodPlan = JSON.parse(await Deno.readTextFile(Deno.args[0]));
let ended = false;
const input = Deno.stdin.read(new Uint8Array(1)).then(() => ended = true);
const flows = plan.flows.map(send);
console.log("open");
await input;
console.log(JSON.stringify(await Promise.all(flows)));
Deno.exit(0);

/** Until standard input has ended; then resolves when all have been answered. */
async function send({ name, rate, requests }: Flow): Promise<FlowReport> {
  const start = performance.now();
  const answers: Answer[] = [];
  const open = new Set<Promise<void>>();
  let failed = 0;
  let sent = 0;
  while (!ended) {
    const due = start + sent * 1000 / rate;
    const wait = due - performance.now();
    if (wait > 0) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      continue;
    }
    const exchange = request(requests[sent++ % requests.length])
      .then((head) => answers.push({ ...head, latency: performance.now() - due }))
      .catch(() => failed++)
      .then(() => {
        open.delete(exchange);
      });
    open.add(exchange);
  }
  await Promise.all(open);
  const statuses = [...new Set(answers.map(({ status }) => status))].sort((a, b) => a - b);
  return { name, sent, failed, statuses: statuses.map((status) => reportOf(status, answers)) };
}

/** Rejects where the connection ends without a head. */
function request(text: string): Promise<Omit<Answer, "latency">> {
  const { promise, resolve, reject } = Promise.withResolvers<Omit<Answer, "latency">>();
  const socket = connect(plan.port, "127.0.0.1");
  let received = "";
  socket.setEncoding("latin1");
  socket.on("connect", () => socket.write(text));
  socket.on("data", (part: string) => received += part);
  socket.on("error", reject);
  socket.on("close", () => {
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(received) ?? [];
    if (status === undefined || !received.includes("\r\n\r\n")) reject(new Error("no response"));
    else resolve({ status: Number(status), retryAfter: /\r\nRetry-After: /i.test(received) });
  });
  return promise;
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
