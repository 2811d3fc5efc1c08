/**
 * Changes of the configuration beside a load. In: a running proxy. Out: one of its routes changes
 * each 100 ms, by whatever way the proxy has for it; in the end the last change must be in force.
 */
import { type Child } from "../child.ts";
import { askFor } from "../host_request.ts";
import { movingRoute } from "../routes.ts";
import type { Beside, Case, Ongoing, Running } from "../model.ts";

/** From one change to the next, in ms; one that takes longer to tell is followed at once. */
const INTERVAL = 100;

/** The last change may take this long to be in force, in ms. */
const PATIENCE = 10_000;

/** The last turn of each proxy: its next measurement goes on from there. */
const turns = new WeakMap<Child, number>();

export const RELOADS: Beside = {
  start(running: Running, { routes = 1 }: Case): Promise<Ongoing> {
    const { peer, child } = running;
    if (peer.reload === undefined) throw new Error(`${peer.name} cannot be changed`);
    const reload = peer.reload;
    let over = false;
    const stopped = Promise.withResolvers<void>();
    const change = async () => {
      let due = performance.now();
      while (!over) {
        const turn = (turns.get(child) ?? 0) + 1;
        await reload(running, turn);
        turns.set(child, turn);
        due = Math.max(due + INTERVAL, performance.now());
        await Promise.race([stopped.promise, pause(Math.max(0, due - performance.now()))]);
      }
    };
    const changing = change();
    // Told when it is stopped.
    changing.catch(() => {});
    return Promise.resolve({
      async stop() {
        over = true;
        stopped.resolve();
        await changing;
        const inForce = await isServed(running, routes, turns.get(child) ?? 0);
        return { errors: inForce ? 0 : 1 };
      },
    });
  },
};

/** Whether requests meet the route where the turn has put it, at the latest after a while. */
async function isServed({ target }: Running, routes: number, turn: number): Promise<boolean> {
  const { host, path } = movingRoute(routes, turn);
  const deadline = performance.now() + PATIENCE;
  while (performance.now() < deadline) {
    if ((await askFor(target.address, host, path)).status === 200) return true;
    await pause(20);
  }
  return false;
}

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
