/**
 * Ports on loopback for programs that cannot say which one they were given. In: nothing, or a
 * program's port. Out: one that is free, or the end of a wait for somebody to listen there.
 */

/** How long a program may take to listen, in ms. */
const START = 20_000;

/** A port that was free a moment ago. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Settles once `port` takes connections; rejects where the program has ended before. */
export async function listening(port: number, ended: Promise<unknown>): Promise<void> {
  const deadline = performance.now() + START;
  let isOver = false;
  ended.then(() => isOver = true);
  while (!isOver && performance.now() < deadline) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await new Promise((resume) => setTimeout(resume, 20));
    }
  }
  throw new Error(`nobody listens on port ${port}`);
}
