/**
 * Before an idle connection is closed. In: a moment that its deadline has passed. Out: its end, unless
 * something has come meanwhile. A process that has stood still (for a collection, or for want of CPU)
 * fires its timers first and reads afterwards, so what came in the meantime would be cut unread.
 */

/** Time for reads to get their turn, in ms. */
const LOOK = 5;

/** Calls `close` once reads have had their turn, unless the connection `isBusy` by then. */
export function closeUnlessBusy(isBusy: () => boolean, close: () => void): void {
  const began = performance.now();
  setTimeout(() => {
    if (isBusy()) return;
    // So late that it has stood still again.
    if (performance.now() - began > 2 * LOOK) closeUnlessBusy(isBusy, close);
    else close();
  }, LOOK);
}
