/** Connections that rest, by `idle_load.ts` in a process of its own. */
import { type IdleReport } from "../idle_load.ts";
import { environmentFor, urlOf } from "../target.ts";
import { resultOf, RUN_BY_DENO, runMetered } from "./metered.ts";
import type { Load } from "../model.ts";

const PROGRAM = new URL("../idle_load.ts", import.meta.url).pathname;

/**
 * As many requests are made at least, however few connections there are: what a proxy needs for the
 * first ones, compiled code above all, is not counted as the connections'.
 */
const REQUESTS = 2_000;

/** Counts connections that were opened; their latency is until the first answer. */
export const IDLE: Load = {
  ...RUN_BY_DENO,
  async run(target, what, seconds, _folder, meter) {
    const report = await runMetered<IdleReport>(
      [
        ...[Deno.execPath(), "run", "--quiet", "--allow-ffi", "--allow-read", PROGRAM],
        ...[urlOf(target, what), target.tls?.authority ?? "", String(what.connections)],
        ...[String(Math.ceil(REQUESTS / what.connections)), String(what.http)],
      ],
      environmentFor(target),
      meter,
      seconds,
    );
    return resultOf(report, report.opened);
  },
};
