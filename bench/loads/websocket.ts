/** Messages through WebSockets, by `websocket_load.ts` in a process of its own. */
import { type Case } from "../case.ts";
import { run } from "../child.ts";
import { type Load, type LoadResult } from "../load.ts";
import { type Target } from "../target.ts";
import type { WebSocketReport } from "../websocket_load.ts";

const PROGRAM = new URL("../websocket_load.ts", import.meta.url).pathname;

export const WEBSOCKET: Load = {
  version: [Deno.execPath(), "--version"],
  remedy: "deno is not where it was",
  async run({ address }: Target, what: Case, seconds: number): Promise<LoadResult> {
    const output = await run([
      ...[Deno.execPath(), "run", "--quiet", `--allow-net=127.0.0.1:${address.port}`, PROGRAM],
      ...[address.port, what.connections, seconds].map(String),
    ]);
    const report: WebSocketReport = JSON.parse(output);
    return {
      count: 2 * report.echoes,
      perSecond: 2 * report.echoes / (report.duration / 1000),
      p50: report.p50,
      p99: report.p99,
      errors: report.errors,
    };
  },
};
