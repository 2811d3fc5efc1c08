/** `pingress status --watch`. In: a cluster. Out: the status on the terminal, again whenever it has changed. */
import type { Cluster } from "../cluster/cluster.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { followObjects, readRest, type StatusScope } from "./reading.ts";
import { statusOf } from "./status.ts";
import { statusText } from "./text_output.ts";

/** Milliseconds between two questions to pods, which no watch tells of. */
const INTERVAL = 5_000;

/** Milliseconds in which changes gather: a rollout changes many objects at once. */
const GATHER = 300;

/** To the first line, and clears what is below. */
const HOME = "\x1b[H\x1b[J";

/** Until the program ends. */
export async function watchStatus(
  cluster: Cluster,
  scope: StatusScope,
  terminal: Terminal,
): Promise<never> {
  const progress = terminal.progress(`Reading ${cluster.server}`);
  const followed = await followObjects(cluster, scope);
  let wake = () => {};
  followed.onChange(() => wake());
  let rest = await readRest(cluster, scope);
  let readAt = performance.now();
  let shown = "";
  for (;;) {
    const objects = followed.current();
    const text = objects === null ? "" : statusText(statusOf({ objects, ...rest }), terminal);
    if (text !== "" && text !== shown) {
      progress.end();
      terminal.write(terminal.isTerminal ? `${HOME}${text}` : `${shown === "" ? "" : "\n"}${text}`);
      shown = text;
    }
    const { promise: changed, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    await Promise.race([changed, pause(Math.max(0, readAt + INTERVAL - performance.now()))]);
    await pause(GATHER);
    if (performance.now() - readAt < INTERVAL) continue;
    cluster.renew();
    rest = await readRest(cluster, scope);
    readAt = performance.now();
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
