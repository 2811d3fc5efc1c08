/**
 * Ports on loopback for programs that cannot say which one they were given. In: nothing, or a
 * program's port. Out: one that is free, or the end of a wait for somebody to listen there.
 */

/** How long a program may take to listen, in ms. */
const START = 20_000;

/**
 * Where systems do not take the ports of listeners on port 0 from: those begin at 32768 (Linux) or 49152. A port
 * that such a listener had would be given to another test. `gateway_listeners.ts` has ports from 20,000 on.
 */
const FREE = { from: 11_000, count: 7_000 };

const given = new Set<number>();

/** A port of 127.0.0.1 on which nothing listens, another one at each call. */
export function freePort(): number {
  for (;;) {
    const port = FREE.from + Math.floor(Math.random() * FREE.count);
    if (given.has(port)) continue;
    given.add(port);
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
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
