/**
 * The load. In: an address, and what a case asks for. Out: how many requests were answered, and
 * how fast. It is wrk on one thread: closed loops, so that it offers what the proxy can take.
 */
import { join } from "node:path";
import { type Address, formatAddress } from "../shared/address.ts";
import { type Case } from "./case.ts";
import { run, versionOf } from "./child.ts";

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Latency in ms. */
  readonly p50: number;
  readonly p99: number;
}

/** Null where wrk is there, otherwise what to do about it. */
export async function missingLoad(): Promise<string | null> {
  return await versionOf(["wrk", "-v"]) === null
    ? "wrk is not installed (Debian: apt-get install wrk)"
    : null;
}

/** wrk's own report cannot be read by machines; this one is. */
const REPORT = `
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\\nREPORT {"requests":%d,"duration":%d,"p50":%f,"p99":%f,"failed":%d,"refused":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.timeout, e.status))
end
`;

interface Report {
  readonly requests: number;
  readonly duration: number;
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
  readonly refused: number;
}

/** Runs for `seconds`. Throws when any request failed: a fast refusal must not pass for speed. */
export async function load(
  address: Address,
  what: Case,
  seconds: number,
  folder: string,
): Promise<LoadResult> {
  const script = join(folder, `${what.name}.lua`);
  const body = what.uploadBytes === 0
    ? ""
    : `wrk.method = "POST"\nwrk.body = string.rep("x", ${what.uploadBytes})\n`;
  await Deno.writeTextFile(script, body + REPORT);
  const output = await run([
    "wrk",
    "--threads=1",
    `--connections=${what.connections}`,
    `--duration=${seconds}s`,
    "--timeout=10s",
    `--script=${script}`,
    `http://${formatAddress(address)}${what.path}`,
  ]);
  const report: Report = JSON.parse(/^REPORT (.*)$/m.exec(output)?.[1] ?? "null");
  if (report === null) throw new Error(`wrk said nothing to count:\n${output}`);
  if (report.failed + report.refused > 0 || report.requests === 0) {
    throw new Error(
      `of ${report.requests} requests ${report.failed} failed and ${report.refused} were refused`,
    );
  }
  return {
    requests: report.requests,
    perSecond: report.requests / (report.duration / 1e6),
    p50: report.p50 / 1000,
    p99: report.p99 / 1000,
  };
}
