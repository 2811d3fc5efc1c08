/**
 * An end for functions that read what strangers send. In: a pure function. Out: what it returns, or
 * null where it took too long. Only for what is rare: a call costs 10 to 17 µs, since each starts a
 * thread that watches it.
 *
 * The watchdog of `node:vm` breaks loops and regular expressions, in workers without any permission
 * too (measured: after 100 to 108 ms). What it breaks runs no `finally`, so it must not change
 * anything that others see. A starved process may be late by itself: what null stands for must do
 * no harm.
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
