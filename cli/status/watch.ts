/** `pingress status --watch`. In: a cluster. Out: the status on the terminal, again whenever it has changed. */
import type { Cluster } from "../cluster/cluster.ts";
import { unreadSentence } from "../cluster/unread.ts";
import { EXIT } from "../command.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { followObjects, readRest, type StatusScope } from "./reading.ts";
import { statusOf } from "./status.ts";
import { statusText } from "./text_output.ts";

/** Milliseconds between two readings of admin pages, which cannot be watched. */
const INTERVAL = 5_000;

/** Milliseconds between two readings of certificates: the page that has them is the largest. */
const CERTIFICATE_INTERVAL = 60_000;

/** Milliseconds in which changes gather: a rollout changes many objects at once. */
const GATHER = 300;

/** To the first line, and clears what is below. */
const HOME = "\x1b[H\x1b[J";

/** Until the program ends; returns the exit code where nothing has come in time. */
export async function watchStatus(
  cluster: Cluster,
  scope: StatusScope,
  terminal: Terminal,
): Promise<number> {
  const progress = terminal.progress(`Reading ${cluster.server}`);
  const until = performance.now() + cluster.timeout;
  const followed = await followObjects(cluster, scope);
  let wake = () => {};
  followed.onChange(() => wake());
  let rest = await readRest(cluster, scope, null);
  let restReadAt = performance.now();
  let certificatesReadAt = restReadAt;
  let shown = "";
  for (;;) {
    const current = followed.current();
    const rows = terminal.isTerminal ? Deno.consoleSize().rows : Infinity;
    const { style, columns } = terminal;
    const text = current === null ? "" : statusText(statusOf({ ...current, ...rest }), {
      ...{ style, columns, rows },
      namespace: scope.namespace,
    });
    if (text !== "" && text !== shown) {
      progress.end();
      terminal.write(terminal.isTerminal ? `${HOME}${text}` : `${shown === "" ? "" : "\n"}${text}`);
      shown = text;
    }
    const awaited = shown === "" && performance.now() >= until ? followed.awaited() : null;
    if (awaited !== null) {
      progress.end();
      terminal.error(unreadSentence(awaited));
      return EXIT.unusable;
    }
    const { promise: changed, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const next = restReadAt + INTERVAL;
    const wakeAt = current === null ? Math.min(next, until) : next;
    await Promise.race([changed, pause(Math.max(0, wakeAt - performance.now()))]);
    await pause(GATHER);
    const now = performance.now();
    if (now - restReadAt < INTERVAL) continue;
    cluster.renew();
    const isOld = now - certificatesReadAt >= CERTIFICATE_INTERVAL;
    rest = await readRest(cluster, scope, isOld ? null : rest.certificates);
    restReadAt = performance.now();
    if (isOld) certificatesReadAt = restReadAt;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
