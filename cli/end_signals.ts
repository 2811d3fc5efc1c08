/**
 * Signals that end a command which runs another program. In: a function. Out: a call of it at each signal, until
 * it is given up: without it the system ends this process alone, and the program stays.
 */

/** By signal, the exit code that shells report for it: 128 and its number. */
const CODES: readonly (readonly [Deno.Signal, number])[] = Deno.build.os === "windows"
  ? [["SIGINT", 130]]
  : [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]];

/**
 * @param end Has to end the program and this process, with the code.
 * @returns Gives the signals back to the system.
 */
export function onEndSignals(end: (code: number) => void): () => void {
  const listeners = CODES.map(([signal, code]) => {
    const listener = () => end(code);
    Deno.addSignalListener(signal, listener);
    return [signal, listener] as const;
  });
  return () => {
    for (const [signal, listener] of listeners.splice(0)) {
      Deno.removeSignalListener(signal, listener);
    }
  };
}
