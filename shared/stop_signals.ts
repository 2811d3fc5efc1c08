/**
 * Signals that end a process. In: SIGTERM and SIGINT. Out: one call at the first, the end of the
 * process at the second.
 */

/** Ctrl-C sooner than this after the first, in ms, is the same one: `deno task` passes it on. */
const SAME_INTERRUPT = 500;

/** @param stop begins an orderly end. Whatever it is at, the second signal ends the process with 1. */
export function onStopSignals(stop: () => void): void {
  let first: number | null = null;
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(name, () => {
      const now = performance.now();
      if (first === null) {
        first = now;
        stop();
      } else if (name === "SIGTERM" || now - first > SAME_INTERRUPT) {
        Deno.exit(1);
      }
    });
  }
}
