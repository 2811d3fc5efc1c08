/**
 * A timer that does not count what this process stands still. In: a time in ms, and what is due then. Out: a
 * function that stops it.
 *
 * A load on a machine that is busy with something else may get no CPU for seconds. Then all of its timers are due at
 * once, before it has read what came meanwhile: its requests would count as late that were answered.
 */

/** So much of a longer pause counts, in ms. */
const STEP = 250;

export function afterRunning(time: number, due: () => void): () => void {
  let left = time;
  let timer: ReturnType<typeof setTimeout>;
  const wait = () => {
    const step = Math.min(left, STEP);
    timer = setTimeout(() => {
      left -= step;
      if (left > 0) wait();
      else due();
    }, step);
  };
  wait();
  return () => clearTimeout(timer);
}
