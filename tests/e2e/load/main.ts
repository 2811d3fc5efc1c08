/**
 * The load generator, a process of its own so that a test's event loop is not its clients'. In: a
 * plan as the first line of standard input, whose end ends it. Out: lines of `plan.ts`.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { CallStream } from "./call_stream.ts";
import { HandshakeStream } from "./handshake_stream.ts";
import { Latencies } from "./latencies.ts";
import type { LoadLine, LoadPlan } from "./plan.ts";
import { RequestStream } from "./request_stream.ts";
import { SocketStream } from "./socket_stream.ts";

/** Between two looks at what is due, in ms. */
const TICK = 5;

/** The most ticks in a row that a process with little CPU leaves out. */
const MOST_MISSED = 5;

/** In ms: much may have been closed meanwhile. */
const LONG_PAUSE = 200;

/**
 * Ticks that are left out after it, however many were before. The first turn of the event loop may find nothing to
 * read: a signal that continues the process interrupts its wait for events (signal(7)).
 */
const MISSED_AFTER_LONG = 2;

/** Between two lines of progress, in ms. */
const PROGRESS = 100;

function tell(line: LoadLine): void {
  const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

async function run(plan: LoadPlan, over: Promise<void>): Promise<void> {
  const lag = new Latencies();
  const paced = plan.streams.map((stream) => new RequestStream(stream, plan, lag, tell));
  const handshakes = (plan.handshakes ?? []).map((stream) =>
    new HandshakeStream(stream, plan, lag, tell)
  );
  const calls = (plan.calls ?? []).map((stream) => new CallStream(stream, plan, lag, tell));
  const ticking = [...paced, ...calls, ...handshakes];
  const loops = ticking.map(({ loop }) => loop);
  const sockets = (plan.sockets ?? []).map((stream) => new SocketStream(stream, plan, tell));
  const all = [...ticking, ...sockets];
  await Promise.all([...paced, ...calls, ...sockets].map((stream) => stream.open()));
  const start = performance.now();
  tell({ kind: "started" });
  let last = start;
  let missed = 0;
  let toMiss = 0;
  let wasLong = false;
  const ticks = setInterval(() => {
    const now = performance.now();
    const pause = now - last;
    last = now;
    const isLong = pause > LONG_PAUSE;
    if (isLong && !wasLong) {
      missed = 0;
      toMiss = MISSED_AFTER_LONG;
    }
    wasLong = isLong;
    // Timers come before reads: connections that were closed meanwhile would be used, and fail.
    if (toMiss > 0 || (pause > 2 * TICK && missed < MOST_MISSED)) {
      toMiss = Math.max(0, toMiss - 1);
      missed++;
      return;
    }
    missed = 0;
    for (const loop of loops) loop.tick(now - start);
  }, TICK);
  const sum = (of: (counts: { answered: number; failed: number }) => number) =>
    [...loops, ...sockets].reduce((total, counts) => total + of(counts), 0);
  const progress = setInterval(() =>
    tell({
      kind: "progress",
      at: Date.now(),
      answered: sum(({ answered }) => answered),
      failed: sum(({ failed }) => failed),
    }), PROGRESS);
  await over;
  clearInterval(ticks);
  const seconds = (performance.now() - start) / 1000;
  const streams = await Promise.all(all.map((stream) => stream.end()));
  clearInterval(progress);
  tell({
    kind: "summary",
    seconds,
    streams,
    lag: { p99: lag.percentile(0.99), max: lag.max },
  });
}

const input = createInterface({ input: process.stdin });
const plan = Promise.withResolvers<LoadPlan>();
const over = Promise.withResolvers<void>();
input.once("line", (line) => plan.resolve(JSON.parse(line)));
input.once("close", () => over.resolve());
await run(await plan.promise, over.promise);
