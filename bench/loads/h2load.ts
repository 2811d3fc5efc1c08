/** Requests by HTTP/2, many at a time on connections that stay, by h2load on one thread. */
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { run } from "../child.ts";
import { findInstalled } from "../found.ts";
import { GRPC_MESSAGE } from "../grpc_message.ts";
import { percentilesOf } from "../percentiles.ts";
import { urlOf } from "../target.ts";
import { TLS_CIPHER, TLS_GROUP } from "../tls.ts";
import type { Case, Load, LoadResult, Target } from "../model.ts";

const GRPC_FIELDS = ["-H", "content-type: application/grpc", "-H", "te: trailers"];

export const H2LOAD: Load = {
  find: () =>
    findInstalled(
      ["h2load", "--version"],
      "h2load is not installed (remedy: apt-get install nghttp2-client)",
    ),
  async run(target: Target, what: Case, seconds: number, folder: string): Promise<LoadResult> {
    const log = join(folder, `${what.name}.log`);
    // h2load appends.
    await Deno.remove(log).catch(() => {});
    const body = join(folder, `${what.name}.body`);
    const isGrpc = what.upstream === "grpc";
    if (what.uploadBytes > 0) {
      await Deno.writeFile(
        body,
        isGrpc ? GRPC_MESSAGE : new Uint8Array(what.uploadBytes).fill(120),
      );
    }
    const output = await run([
      "h2load",
      ...["-t", "1", "-c", String(what.connections), "-m", String(what.streams)],
      ...["-D", String(seconds), `--log-file=${log}`],
      ...(what.uploadBytes > 0 ? ["-d", body] : []),
      ...(isGrpc ? GRPC_FIELDS : []),
      // One protocol only: it would speak HTTP/1.1 to a proxy that does not know better.
      ...["--npn-list=h2", `--tls13-ciphers=${TLS_CIPHER}`, `--groups=${TLS_GROUP}`],
      `--connect-to=${formatAddress(target.address)}`,
      urlOf(target, what),
    ]);
    return readH2loadReport(output, await Deno.readTextFile(log), seconds);
  },
};

/** @param log what `--log-file` got: start in µs, status, and µs until the end, on each line. */
export function readH2loadReport(output: string, log: string, seconds: number): LoadResult {
  const requests =
    /^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, \d+ errored, (\d+) timeout/m
      .exec(output);
  const statuses = /^status codes: (\d+) 2xx/m.exec(output);
  if (requests === null || statuses === null) {
    throw new Error(`h2load said nothing to count:\n${output}`);
  }
  const [done, succeeded, failed] = requests.slice(1).map(Number);
  // A stream that is reset is done and failed; one with another status is done and succeeded.
  const refused = Math.max(0, succeeded - Number(statuses[1]));
  const { p50, p99, p999 } = percentilesOf(latenciesOf(log));
  return {
    count: done,
    perSecond: done / seconds,
    ...{ p50, p99, p999 },
    errors: failed + refused,
  };
}

/** In ms, without those of streams that failed. */
function latenciesOf(log: string): number[] {
  const latencies: number[] = [];
  for (const line of log.split("\n")) {
    const [, status, micros] = line.split("\t");
    if (status !== undefined && status !== "-1") latencies.push(Number(micros) / 1000);
  }
  return latencies;
}
