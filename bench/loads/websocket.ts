/** Messages through WebSockets, by `websocket_load.ts` in a process of its own. */
import type { WebSocketReport } from "../websocket_load.ts";
import { resultOf, RUN_BY_DENO, runMetered } from "./metered.ts";
import type { Load } from "../model.ts";

const PROGRAM = new URL("../websocket_load.ts", import.meta.url).pathname;

export const WEBSOCKET: Load = {
  ...RUN_BY_DENO,
  async run({ address }, what, seconds, _folder, meter) {
    const report = await runMetered<WebSocketReport>(
      [
        ...[Deno.execPath(), "run", "--quiet", `--allow-net=127.0.0.1:${address.port}`, PROGRAM],
        ...[address.port, what.connections, seconds].map(String),
      ],
      {},
      meter,
    );
    return resultOf(report, 2 * report.echoes);
  },
};
