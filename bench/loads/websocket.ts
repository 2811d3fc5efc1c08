/** Messages through WebSockets, by `programs/websocket_load` in a process of its own. */
import { findGoPrograms, goProgram } from "../go_programs.ts";
import { type ConnectionsReport, resultOf, runMetered } from "./metered.ts";
import type { Load } from "../model.ts";

export const WEBSOCKET: Load = {
  find: () => findGoPrograms("websocket_load", "backend"),
  async run({ address }, what, seconds, _folder, meter) {
    const report = await runMetered<ConnectionsReport>(
      [
        await goProgram("websocket_load"),
        ...[address.port, what.connections, seconds].map(String),
      ],
      {},
      meter,
    );
    // A message there, and one back.
    return resultOf(report, 2 * report.count);
  },
};
