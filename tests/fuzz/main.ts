/**
 * `deno task fuzz`. In: a time and a seed. Out: what the invariants of parsers and connections and the
 * comparison with peers have found; a failing exit code where that is anything.
 */
import { parseOptions } from "../../shared/options.ts";
import { DifferentialFuzzer } from "./differential.ts";
import { FrameFuzzer } from "./frame_fuzzer.ts";
import { HpackFuzzer } from "./hpack_fuzzer.ts";
import { FUZZ_OPTIONS, FUZZ_PROGRAM, type FuzzOptions } from "./options.ts";
import { Peer, PEER_KINDS, versionOf } from "./peer.ts";
import { Random } from "./random.ts";
import { SplitFuzzer } from "./split.ts";

/** Shares of the time; the peers are slower, and get the rest. */
const HTTP1 = 0.1;
const HPACK = 0.05;
const HTTP2 = 0.45;

async function main({ seconds, seed, keep }: FuzzOptions): Promise<boolean> {
  const after = (share: number) => performance.now() + seconds * 1000 * share;
  const http1 = await new SplitFuzzer(seed).run(after(HTTP1));
  console.log(`HTTP/1.1 alone: ${http1.inputs} inputs, ${http1.failures.length} failures`);
  const hpack = new HpackFuzzer(new Random(seed), keep ?? false).run(after(HPACK));
  console.log(
    `HPACK: ${hpack.inputs} inputs, ${hpack.accepted} blocks accepted, ` +
      `${hpack.failures.length} failures${hpack.kept > 0 ? `, ${hpack.kept} kept` : ""}`,
  );
  const http2 = await new FrameFuzzer(seed, keep ?? false, true).run(after(HTTP2));
  console.log(
    `HTTP/2: ${http2.inputs} inputs, ${http2.exchanges} exchanges, ${http2.ends} different ` +
      `ends, ${http2.failures.length} failures${http2.kept > 0 ? `, ${http2.kept} kept` : ""}`,
  );
  const failures = [...http1.failures, ...hpack.failures, ...http2.failures];
  for (const failure of failures) console.log(`- ${failure}`);

  const { peers, missing } = await startPeers();
  if (peers.length === 0) return failures.length === 0 && missing === 0;
  const start = performance.now();
  const fuzzer = new DifferentialFuzzer(peers, seed, keep ?? false);
  const report = await fuzzer.run(after(1 - HTTP1 - HPACK - HTTP2));
  await Promise.all(peers.map((peer) => peer.stop()));
  const { inputs, accepted, disagreements } = report;
  const rate = Math.round(inputs / (performance.now() - start) * 1000);
  console.log(
    `beside peers: ${inputs} inputs, ${accepted} accepted, ${disagreements} disagreements ` +
      `(${rate} inputs/s${report.kept > 0 ? `, ${report.kept} kept` : ""})`,
  );
  console.log("accepted by us alone, where a peer says:");
  for (const [reason, count] of [...report.alone].sort()) console.log(`  ${count} × ${reason}`);
  for (const find of report.finds) console.log(`- ${find}`);
  return failures.length === 0 && disagreements === 0 && missing === 0;
}

/** Starts the peers there are; `missing` counts the others where none may be skipped. */
async function startPeers(): Promise<{ peers: Peer[]; missing: number }> {
  const peers: Peer[] = [];
  let missing = 0;
  for (const kind of PEER_KINDS) {
    const version = await versionOf(kind);
    if (version === null) {
      console.log(
        `skipped: ${kind.name}, ${kind.version[0]} is missing; apt-get install ${kind.packages}`,
      );
      if (Deno.env.get("CI") === "true") missing++;
      continue;
    }
    peers.push(await Peer.start(kind));
    console.log(`${kind.name}, by ${version.split(" ").slice(0, 3).join(" ")}`);
  }
  return { peers, missing };
}

const parsed = parseOptions(FUZZ_PROGRAM, FUZZ_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
Deno.exit(await main(parsed.options) ? 0 : 1);
