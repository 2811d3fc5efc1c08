/**
 * `deno task bench`. In: cases and peers. Out: one table a case with CPU per request beside the
 * reference's, measured in alternating rounds in the same run.
 */
import { join } from "node:path";
import { startBackend } from "./backend.ts";
import { type Case, CASES } from "./case.ts";
import { versionOf } from "./child.ts";
import { missingLoad } from "./load.ts";
import { describeMachine, disturbance } from "./machine.ts";
import { measure } from "./measure.ts";
import { type BenchOptions, parseBenchOptions } from "./options.ts";
import { type CaseResult, describeCase, replaceResults } from "./page.ts";
import { type Peer, PEERS, REFERENCE } from "./peer.ts";
import { errorsOf, formatText, type PeerRounds, tableOf } from "./report.ts";
import { makeTlsFiles } from "./tls.ts";

/** Throws where something cannot be measured, or was answered with errors. */
async function main(options: BenchOptions): Promise<void> {
  const versions = await findPeers(options);
  const cases = await findCases(options);
  if (versions.size === 0 || cases.length === 0) return;
  const machine = await describeMachine();
  const seconds = Math.max(1, Math.round(options.duration / 1000));
  const schedule = `${options.rounds} rounds of ${seconds} s`;
  console.log(`${machine}; median of ${schedule}`);
  for (const [peer, version] of versions) console.log(`  ${peer.name}: ${version}`);
  const disturbed = disturbance();
  if (disturbed !== null) console.log(disturbed);
  const results: (CaseResult & { readonly peers: readonly PeerRounds[] })[] = [];
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  try {
    // Programs that drop root's rights must be able to pass.
    await Deno.chmod(folder, 0o755);
    const tls = await makeTlsFiles(folder);
    const backendFolder = join(folder, "backend");
    await Deno.mkdir(backendFolder);
    const backend = await startBackend(backendFolder);
    try {
      for (const what of cases) {
        const plan = { rounds: options.rounds, seconds };
        const peers = await measure(what, [...versions.keys()], plan, { backend, tls, folder });
        const table = tableOf(peers, REFERENCE.name, what.unit);
        console.log(`\n${what.name}: ${describeCase(what)}\n${formatText(table)}`);
        results.push({ what, table, peers });
      }
    } finally {
      await backend.stop();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const said = new Map([...versions].map(([peer, version]) => [peer.name, version]));
  if (options.json !== undefined) {
    const rounds = results.flatMap(({ what, peers }) =>
      peers.map((one) => ({ case: what.name, ...one }))
    );
    const all = { machine, versions: Object.fromEntries(said), results: rounds };
    await Deno.writeTextFile(options.json, `${JSON.stringify(all, null, 2)}\n`);
  }
  const errors = results.flatMap(({ peers }) => peers.map(({ rounds }) => errorsOf(rounds)))
    .reduce((sum, one) => sum + one, 0);
  if (errors > 0) throw new Error(`\n${errors} errors: such figures say nothing`);
  if (options.write !== undefined) {
    const date = new Date().toISOString().slice(0, 10);
    const page = await Deno.readTextFile(options.write);
    const written = replaceResults(page, {
      ...{ date, machine, versions: said, schedule },
      cases: results,
    });
    if (written === null) throw new Error(`${options.write} has no place for results`);
    await Deno.writeTextFile(options.write, written);
    console.log(`\nwrote ${options.write}`);
  }
}

/** The peers that are installed, with their versions; says which are not. */
async function findPeers(options: BenchOptions): Promise<Map<Peer, string>> {
  const found = new Map<Peer, string>();
  for (const peer of PEERS) {
    if (options.peer.length > 0 && !options.peer.includes(peer.name)) continue;
    const version = await versionOf(peer.version);
    if (version === null) console.log(`skipped: ${peer.name}: ${peer.remedy}`);
    else found.set(peer, version);
  }
  return found;
}

/** The cases whose load is installed; says which are not. */
async function findCases(options: BenchOptions): Promise<Case[]> {
  const found: Case[] = [];
  for (const what of CASES.filter(({ name }) => options.cases.includes(name))) {
    const missing = await missingLoad(what);
    if (missing !== null) console.log(`skipped: ${what.name}: ${missing}`);
    else found.push(what);
  }
  return found;
}

const parsed = parseBenchOptions(Deno.args);
if (parsed.kind === "ok") {
  await main(parsed.options).catch((error: Error) => {
    console.error(error.message);
    Deno.exit(1);
  });
} else {
  console[parsed.kind === "help" ? "log" : "error"](parsed.text);
  if (parsed.kind === "error") Deno.exit(2);
}
