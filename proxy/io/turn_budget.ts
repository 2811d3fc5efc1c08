/**
 * How much of the event loop one connection takes at a time. In: what has been begun in a row. Out:
 * whether others must have their turn first, and a call in a later turn of the event loop.
 *
 * Reads and writes that need not wait settle within one turn: a client that keeps the input full is
 * served without end in it (measured: another client waited 50 to 120 ms beside one that pipelines
 * requests for local replies). A timer is the only thing that lets I/O pass: with `setImmediate`
 * called again and again, 4 round trips of another connection were made in a second, with
 * `MessageChannel` none.
 */

/** Starts between two looks at the clock. */
export const STARTS_PER_LOOK = 16;

/** A turn that takes longer (ms) is over. */
const TURN = 2;

/** Since when (ms) the event loop has not turned, as far as anybody has asked; 0 where nobody has. */
let since = 0;

const waiting: (() => void)[] = [];

/** Whether a connection that has begun `STARTS_PER_LOOK` things since it asked last should wait. */
export function isTurnOver(): boolean {
  const now = performance.now();
  if (since !== 0) return now - since > TURN;
  since = now;
  setTimeout(turned, 0);
  return false;
}

/** Calls `resume` in a later turn, in the order of these calls, and one a turn. */
export function inNextTurn(resume: () => void): void {
  if (waiting.push(resume) === 1) setTimeout(resumeOne, 0);
}

function turned(): void {
  since = 0;
}

function resumeOne(): void {
  since = 0;
  const resume = waiting.shift()!;
  if (waiting.length > 0) setTimeout(resumeOne, 0);
  resume();
}
