/**
 * The time of exchanges. In: nothing. Out: milliseconds, monotonic, read from the system once for all
 * that is done in a row: a turn of the event loop brings what has arrived on many connections, and a
 * look at the clock for each, at its beginning and its end, is a fiftieth of a small request's cost.
 */
const SETTLED = Promise.resolve();

/** 0 where it is to be read. */
let time = 0;

/** Now, or when this was last asked before the microtasks that were waiting then have run. */
export function turnNow(): number {
  if (time === 0) {
    time = performance.now();
    SETTLED.then(forget);
  }
  return time;
}

function forget(): void {
  time = 0;
}
