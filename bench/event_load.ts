/**
 * Clients that hold many streams of events open. In: URL, the certificate's authority (a file; empty
 * without TLS), the version of HTTP, connections, streams on each, seconds. Out: the line `open` when
 * each stream has brought an event, then a line of JSON, see `EventReport`, while all are still open;
 * they end with standard input. It runs as a process of its own, so that its CPU time is nobody
 * else's.
 */
import http2 from "node:http2";
import { type Percentiles, percentilesOf } from "./percentiles.ts";

export interface EventReport extends Percentiles {
  readonly events: number;
  /** Streams that were refused, cut off, or brought fewer events than they should have. */
  readonly errors: number;
  /** In ms, as are the latencies. */
  readonly duration: number;
}

/** Until each stream has brought an event, in ms. */
const PATIENCE = 20_000;

const [url, authority, ...numbers] = Deno.args;
const [version, connections, streams, seconds] = numbers.map(Number);
const { origin, host, hostname, port, pathname } = new URL(url);
const expected = connections * streams;
const latencies: number[] = [];
/** Events of each stream in the time that counts. */
const counts = new Uint32Array(expected);
const isOpen = new Uint8Array(expected);
let counting = false;
let open = 0;
let ended = 0;
const allOpen = Promise.withResolvers<void>();

/** @param text what came at once; the backend writes each event by itself, and it is small. */
function take(text: string, index: number): void {
  const now = performance.timeOrigin + performance.now();
  for (const [, micros] of text.matchAll(/^data: (\d{16})$/gm)) {
    if (isOpen[index] === 0) {
      isOpen[index] = 1;
      if (++open === expected) allOpen.resolve();
    }
    if (!counting) continue;
    counts[index]++;
    latencies.push(now - Number(micros) / 1000);
  }
}

function end(index: number): void {
  ended++;
  if (isOpen[index] === 0) allOpen.reject(new Error("a stream ended before its first event"));
}

function listenByHttp2(session: http2.ClientHttp2Session, index: number): void {
  const stream = session.request({ ":path": pathname, accept: "text/event-stream" });
  stream.setEncoding("latin1");
  stream.on("data", (text: string) => take(text, index));
  stream.on("error", () => {});
  stream.on("close", () => end(index));
}

/** Chunks are left as they are: their lines are none of an event. */
async function listenByHttp1(index: number): Promise<void> {
  const decoder = new TextDecoder("latin1");
  const buffer = new Uint8Array(4096);
  try {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    const request =
      `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    while (true) {
      const count = await connection.read(buffer);
      if (count === null) break;
      const text = decoder.decode(buffer.subarray(0, count));
      if (isOpen[index] === 0 && text.startsWith("HTTP/") && !text.startsWith("HTTP/1.1 200 ")) {
        break;
      }
      take(text.replaceAll("\r", ""), index);
    }
  } catch {
    // As when it is closed.
  }
  end(index);
}

if (version === 1) {
  for (let index = 0; index < expected; index++) void listenByHttp1(index);
} else {
  const ca = await Deno.readTextFile(authority);
  const sessions = Array.from({ length: connections }, () => http2.connect(origin, { ca }));
  for (const [at, session] of sessions.entries()) {
    session.on("error", (error) => allOpen.reject(error));
    for (let one = 0; one < streams; one++) listenByHttp2(session, at * streams + one);
  }
}
const timer = setTimeout(
  () => allOpen.reject(new Error(`${open} of ${expected} streams brought an event`)),
  PATIENCE,
);
await allOpen.promise;
clearTimeout(timer);
console.log("open");
const begin = performance.now();
counting = true;
await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
counting = false;
const duration = performance.now() - begin;
// One event a second, and one may fall just outside at each end.
const silent = counts.filter((count) => count < seconds - 1).length;
const report: EventReport = {
  events: latencies.length,
  errors: Math.max(ended, silent),
  duration,
  ...percentilesOf(latencies),
};
console.log(JSON.stringify(report));
await Deno.stdin.read(new Uint8Array(1));
Deno.exit(0);
