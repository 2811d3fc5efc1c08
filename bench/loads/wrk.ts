/** Requests on connections that stay, by wrk on one thread. */
import { join } from "node:path";
import { run } from "../child.ts";
import { findInstalled } from "../found.ts";
import { requestsOf } from "../routes.ts";
import { environmentFor, urlOf } from "../target.ts";
import type { Case, Load, LoadResult, Target } from "../model.ts";

/** wrk's own report cannot be read by machines; this one is. */
const REPORT = `
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\\nREPORT {"requests":%d,"duration":%d,"p50":%f,"p99":%f,"p999":%f,' ..
    '"failed":%d,"refused":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    latency:percentile(99.9),
    e.connect + e.read + e.write + e.timeout, e.status))
end
`;

/** Whole requests are made before the load begins: in turn they cost it next to nothing. */
const IN_TURN = `
local list, at = {}, 0
init = function()
  for line in io.lines(REQUESTS) do
    local host, path = line:match("^(%S+) (%S+)$")
    list[#list + 1] = wrk.format("GET", path, { Host = host })
  end
end
request = function()
  at = at % #list + 1
  return list[at]
end
`;

/** Times in µs. */
interface Report {
  readonly requests: number;
  readonly duration: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly failed: number;
  readonly refused: number;
}

export const WRK: Load = {
  find: () => findInstalled(["wrk", "-v"], "wrk is not installed (remedy: apt-get install wrk)"),
  async run(target: Target, what: Case, seconds: number, folder: string): Promise<LoadResult> {
    const script = join(folder, `${what.name}.lua`);
    const body = what.uploadBytes === 0
      ? ""
      : `wrk.method = "POST"\nwrk.body = string.rep("x", ${what.uploadBytes})\n`;
    const lua = body + await inTurn(what, folder);
    const { connections } = what;
    return await runWrk(
      { url: urlOf(target, what), headers: [], connections, seconds, lua },
      script,
      environmentFor(target),
    );
  },
};

export interface WrkPlan {
  readonly url: string;
  /** Of each request; Host replaces that of the URL. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly connections: number;
  readonly seconds: number;
  /** What its script does beside its report. */
  readonly lua: string;
}

/** @param script the file that its script is written to. */
export async function runWrk(
  { url, headers, connections, seconds, lua }: WrkPlan,
  script: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<LoadResult> {
  await Deno.writeTextFile(script, lua + REPORT);
  const output = await run([
    "wrk",
    "--threads=1",
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    "--timeout=10s",
    `--script=${script}`,
    ...headers.map(([name, value]) => `--header=${name}: ${value}`),
    url,
  ], environment);
  const report: Report | null = JSON.parse(/^REPORT (.*)$/m.exec(output)?.[1] ?? "null");
  if (report === null) throw new Error(`wrk said nothing to count:\n${output}`);
  return {
    count: report.requests,
    perSecond: report.requests / (report.duration / 1e6),
    p50: report.p50 / 1000,
    p99: report.p99 / 1000,
    p999: report.p999 / 1000,
    errors: report.failed + report.refused,
  };
}

/** Asks for all routes of a case; "" where it has none, and every request is for the same URL. */
async function inTurn(what: Case, folder: string): Promise<string> {
  const requests = requestsOf(what);
  if (requests.length === 0) return "";
  const file = join(folder, `${what.name}.requests`);
  await Deno.writeTextFile(file, requests.map(({ host, path }) => `${host} ${path}\n`).join(""));
  return `REQUESTS = ${JSON.stringify(file)}\n${IN_TURN}`;
}
