/**
 * How many sockets one turn of an event loop serves. In: the environment. Out: a limit for all threads
 * that are started from here on, where this one may set it.
 *
 * Deno's loops are tokio's. A task there is stopped after 128 reads and writes in a row (its
 * cooperative budget), and what it could not do is woken in reverse order when it goes on
 * (`runtime/scheduler/defer.rs`). Deno does all pending reads of a thread in one task: with more than
 * 128 sockets ready, each turn serves one end of the queue, then the other, and those in the middle
 * starve. Of 1,000 WebSockets some were served 2 times and others 110 in the same three seconds, and
 * each turn asked those that it did not serve in vain. The kernel's own queue is fair: so take no
 * more from it at a time than one turn can serve.
 */
import { isGranted } from "../../shared/rights.ts";

/** Of Deno 2.9, which reads it when a thread's loop starts. Not documented: a test of peers shows it. */
const VARIABLE = "DENO_TOKIO_MAX_IO_EVENTS_PER_TICK";

/** A read for each, and the write that it leads to: 128 in all. */
const EVENTS = 64;

/** The variables of this process; those that are set hold for threads that are started later. */
export type Environment = Pick<Deno.Env, "get" | "set">;

/**
 * Sets the limit, unless the environment has one. Returns null, or the flag of Deno without which this
 * thread may not.
 */
export function limitIoEvents(environment: Environment): string | null {
  if (!isGranted({ name: "env", variable: VARIABLE })) return `--allow-env=${VARIABLE}`;
  if (environment.get(VARIABLE) === undefined) environment.set(VARIABLE, String(EVENTS));
  return null;
}
