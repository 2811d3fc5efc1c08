/**
 * An end for functions that read what strangers send. In: a pure function. Out: what it returns, or
 * null where it took too long. Only for what is rare: a call costs 10 to 17 µs, since each starts a
 * thread that watches it.
 *
 * The watchdog of `node:vm` breaks loops and regular expressions, in workers without any permission
 * too (measured: after 100 to 108 ms). What it breaks runs no `finally`, so it must not change
 * anything that others see. A starved process may be late by itself: what null stands for must do
 * no harm.
 *
 * So only replies to large heads have it (`local_reply.ts`). To parse, match and filter a head, large or not, changes
 * what others see: its fields, a connection's state, kept answers. Its end is that every function of a client's text
 * is linear (`tests/parsers`) and of a bounded text. `/explain` compiles all routes anew, which takes 0.3 s where there
 * are ten thousand, more than the limit; it is for loopback alone, in a thread without traffic.
 */
import vm from "node:vm";

/** In ms. */
const LIMIT = 100;

/** What the script calls, which sees nothing but the global object. */
let work: () => unknown = () => null;
const NAME = "pingress.time_limit";
Object.defineProperty(globalThis, Symbol.for(NAME), { value: () => work() });
const script = new vm.Script(`globalThis[Symbol.for("${NAME}")]()`);

/** What `call` returns, or null where it is not done in time. Throws what it throws. */
export function withinTime<T>(call: () => T): T | null {
  const before = work;
  work = call;
  try {
    return script.runInThisContext({ timeout: LIMIT });
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return null;
    throw error;
  } finally {
    work = before;
  }
}
