/** Streams that are held open, by `event_load.ts` in a process of its own. */
import { type EventReport } from "../event_load.ts";
import { urlOf } from "../target.ts";
import { resultOf, RUN_BY_DENO, runMetered } from "./metered.ts";
import type { Load } from "../model.ts";

const PROGRAM = new URL("../event_load.ts", import.meta.url).pathname;

export const EVENTS: Load = {
  ...RUN_BY_DENO,
  async run(target, what, seconds, _folder, meter) {
    const url = urlOf(target, what);
    const authority = target.tls?.authority ?? "";
    if (what.http === 2 && authority === "") {
      throw new Error("event_load.ts speaks HTTP/2 by TLS only");
    }
    if (what.http === 1 && authority !== "") {
      throw new Error("event_load.ts speaks HTTP/1.1 without TLS only");
    }
    // Opening costs what a request costs; only what comes after it is this case's.
    const report = await runMetered<EventReport>(
      [
        ...[Deno.execPath(), "run", "--quiet", `--allow-net=${new URL(url).host}`],
        ...(authority === "" ? [] : [`--allow-read=${authority}`]),
        ...[PROGRAM, url, authority],
        ...[what.http, what.connections, what.streams, seconds].map(String),
      ],
      {},
      meter,
    );
    return resultOf(report, report.events);
  },
};
