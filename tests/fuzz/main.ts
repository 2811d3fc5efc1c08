/**
 * `deno task fuzz`. In: a time and a seed. Out: what the parsers' own invariants and their comparison
 * with peers have found; a failing exit code where that is anything.
 */
import { parseOptions } from "../../shared/options.ts";
import { DifferentialFuzzer } from "./differential.ts";
import { FUZZ_OPTIONS, FUZZ_PROGRAM, type FuzzOptions } from "./options.ts";
import { Peer, PEER_KINDS, versionOf } from "./peer.ts";
import { SplitFuzzer } from "./split.ts";

/** Share of the time for the parsers alone; the peers are slower, and get the rest. */
const ALONE = 0.2;

async function main({ seconds, seed, keep }: FuzzOptions): Promise<boolean> {
  const alone = await new SplitFuzzer(seed).run(performance.now() + seconds * 1000 * ALONE);
  console.log(`parsers alone: ${alone.inputs} inputs, ${alone.failures.length} failures`);
  for (const failure of alone.failures) console.log(`- ${failure}`);

  const { peers, missing } = await startPeers();
  if (peers.length === 0) return alone.failures.length === 0 && missing === 0;
  const start = performance.now();
  const fuzzer = new DifferentialFuzzer(peers, seed, keep ?? false);
  const report = await fuzzer.run(start + seconds * 1000 * (1 - ALONE));
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
  return alone.failures.length === 0 && disagreements === 0 && missing === 0;
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
