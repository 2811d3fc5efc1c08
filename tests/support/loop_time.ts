/**
 * Time in which the event loop turned. In: nothing. Out: milliseconds, of which a standstill of the
 * process (no CPU, SIGSTOP) adds one step: who waits by it for what happens in the same process is not
 * late because the machine was busy.
 */

/** The most that a turn counts for, in ms. */
const STEP = 20;

/** Waits until `condition` holds. False when it does not within `limit` ms of loop time. */
export async function withinLoopTime(limit: number, condition: () => boolean): Promise<boolean> {
  let before = performance.now();
  let spent = 0;
  while (!condition()) {
    if (spent > limit) return false;
    await new Promise((resume) => setTimeout(resume, 0));
    const now = performance.now();
    spent += Math.min(STEP, now - before);
    before = now;
  }
  return true;
}

/** Calls `late` after `limit` ms of loop time, unless the function that it returns is called first. */
export function afterLoopTime(limit: number, late: () => void): () => void {
  let steps = Math.ceil(limit / STEP);
  const timer = setInterval(() => {
    if (--steps > 0) return;
    clearInterval(timer);
    late();
  }, STEP);
  return () => clearInterval(timer);
}
