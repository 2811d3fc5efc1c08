/**
 * How ports and connections end without dropping anything. In: connections, and how many have come. Out:
 * when nothing waits to be accepted any more, and when everybody has left.
 */
import type { DownstreamConnection } from "../http/downstream.ts";

/**
 * How long (ms) a draining connection may be idle: a client whose next request crosses with its end
 * gets no answer. Less where all of the drain is short.
 */
const GRACE = 2_000;

/** How often a drain looks whether all is done, in ms. */
const POLL = 20;

/** A drain looks so many times at most, `POLL` apart, whether more is accepted. */
const QUEUE_LOOKS = 32;

/**
 * After so many looks in a row without a new connection nothing waits to be accepted: while 128 that it has accepted
 * have their handshakes and requests, Deno was seen to accept none for three looks.
 */
const QUIET_LOOKS = 5;

/** @param timeout of the drain, in ms. */
export function idleGrace(timeout: number): number {
  return Math.max(1, Math.min(GRACE, timeout / 2));
}

/** Waits until this holds, for at most `timeout` ms. */
export async function waitUntil(condition: () => boolean, timeout: number): Promise<void> {
  const end = performance.now() + timeout;
  while (!condition() && performance.now() < end) await sleep(POLL);
}

/**
 * Waits until nothing is left, unless nothing has been finished for `patience` ms, for at most `timeout` ms. A crowd
 * takes longer than each of it. Looks are counted as those of `emptyQueues` are.
 *
 * @param left How much is left.
 */
export async function finished(
  left: () => number,
  patience: number,
  timeout: number,
): Promise<void> {
  const end = performance.now() + timeout;
  let least = left();
  for (let looks = patience / POLL; looks > 0 && least > 0 && performance.now() < end; looks--) {
    await sleep(POLL);
    const now = left();
    if (now >= least) continue;
    least = now;
    looks = patience / POLL;
  }
}

/**
 * Closing a socket resets the connections that wait to be accepted: they are taken in before. Looks
 * are counted, not time: a process that has stood still for longer than all of its patience has not
 * looked at its queues once, and Deno accepts 128 connections between two timers.
 *
 * @param accepted Connections since the start, also those whose handshake is under way.
 * @param handshakes Of TLS, under way: while there are some, Deno may accept none for several timers.
 */
export async function emptyQueues(
  accepted: () => number,
  handshakes: () => number,
): Promise<void> {
  let quiet = 0;
  for (let looks = 0; looks < QUEUE_LOOKS && quiet < QUIET_LOOKS; looks++) {
    const before = accepted();
    await sleep(POLL);
    quiet = accepted() === before && handshakes() === 0 ? quiet + 1 : 0;
  }
}

/** Tells clients that they should not come back on their connections. */
export function retireAll(connections: Iterable<DownstreamConnection>): void {
  for (const connection of [...connections]) connection.retire();
}

/**
 * Has most clients leave within `delay` ms, before anything closes. Only connections of its first half are told:
 * where load balancers have not noticed yet clients come again, and a connection a request would be dear.
 */
export async function retireFirstHalf(
  connections: Iterable<DownstreamConnection>,
  delay: number,
): Promise<void> {
  await sleep(delay / 2);
  retireAll(connections);
  await sleep(delay / 2);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
