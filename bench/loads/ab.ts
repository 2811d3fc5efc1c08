/**
 * A new connection for each request, by ab, with TLS or without. It speaks HTTP/1.0, so the proxy
 * ends the connection when it has answered. It never resumes a session (wrk does when a server
 * closes), so each handshake is a full one.
 */
import { formatAddress } from "../../shared/net/address.ts";
import { join } from "node:path";
import { run } from "../child.ts";
import { findInstalled } from "../found.ts";
import { environmentFor } from "../target.ts";
import { TLS_NAME } from "../tls.ts";
import type { Case, Load, LoadResult, Target } from "../model.ts";

/** More than can be made in a measurement; ab takes memory for each beforehand. */
const MOST = 500_000;

export const AB: Load = {
  find: () =>
    findInstalled(["ab", "-V"], "ab is not installed (remedy: apt-get install apache2-utils)"),
  async run(target: Target, what: Case, seconds: number, folder: string): Promise<LoadResult> {
    const scheme = target.tls === null ? "http" : "https";
    const percentiles = join(folder, `${what.name}.csv`);
    const output = await run([
      "ab",
      "-q",
      // Sets the number of requests too, so that number must come after it.
      ...["-t", String(seconds), "-n", String(MOST)],
      ...["-c", String(what.connections), "-s", "10", "-e", percentiles],
      // The name for SNI, while the address is certain.
      ...["-H", `Host: ${TLS_NAME}`],
      `${scheme}://${formatAddress(target.address)}${what.path}`,
    ], environmentFor(target));
    return readAbReport(output, await Deno.readTextFile(percentiles));
  },
};

/** @param percentiles what ab wrote to the file of `-e`: share and ms on each line. */
export function readAbReport(output: string, percentiles: string): LoadResult {
  const value = (name: string) => {
    const text = new RegExp(`^${name}:\\s+([\\d.]+)`, "m").exec(output)?.[1];
    return text === undefined ? null : Number(text);
  };
  const at = (share: number) => {
    return Number(new RegExp(`^${share},([\\d.]+)`, "m").exec(percentiles)?.[1] ?? NaN);
  };
  const complete = value("Complete requests");
  const time = value("Time taken for tests");
  const length = value("Document Length");
  const bytes = value("HTML transferred");
  if (complete === null || time === null || length === null || bytes === null) {
    throw new Error(`ab said nothing to count:\n${output}`);
  }
  // A handshake that fails is complete for ab, and no failure: only its answer is missing.
  const unanswered = length === 0 ? complete : Math.max(0, complete - bytes / length);
  return {
    count: complete,
    perSecond: complete / time,
    p50: at(50),
    p99: at(99),
    // It tells no finer than by the hundredth.
    p999: null,
    errors: Math.ceil(unanswered) + (value("Failed requests") ?? 0) +
      (value("Non-2xx responses") ?? 0),
  };
}
