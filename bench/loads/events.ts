/** Streams that are held open, by `programs/event_load` in a process of its own. */
import { findGoPrograms, goProgram } from "../go_programs.ts";
import { urlOf } from "../target.ts";
import { type ConnectionsReport, resultOf, runMetered } from "./metered.ts";
import type { Load } from "../model.ts";

export const EVENTS: Load = {
  find: () => findGoPrograms("event_load", "backend"),
  async run(target, what, seconds, _folder, meter) {
    const authority = target.tls?.authority ?? "";
    if (what.http === 2 && authority === "") {
      throw new Error("event_load speaks HTTP/2 by TLS only");
    }
    if (what.http === 1 && authority !== "") {
      throw new Error("event_load speaks HTTP/1.1 without TLS only");
    }
    // Opening costs what a request costs; only what comes after it is this case's.
    const report = await runMetered<ConnectionsReport>(
      [
        ...[await goProgram("event_load"), urlOf(target, what), authority],
        ...[what.http, what.connections, what.streams, seconds].map(String),
      ],
      {},
      meter,
    );
    return resultOf(report, report.count);
  },
};
