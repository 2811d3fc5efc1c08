/**
 * `deno task bench`. In: cases and peers. Out: one table a case with CPU per request beside the
 * reference's, measured in alternating rounds in the same run.
 */
import { join } from "node:path";
import { type Backend, startBackend } from "./backend.ts";
import { type Case, CASES } from "./case.ts";
import { type Child, freePort, versionOf } from "./child.ts";
import { load, type LoadResult, missingLoad } from "./load.ts";
import { type BenchOptions, parseBenchOptions } from "./options.ts";
import { type Peer, PEERS, REFERENCE } from "./peer.ts";
import { formatTable, type PeerRounds, type Round } from "./report.ts";

interface RunningPeer {
  readonly peer: Peer;
  readonly child: Child;
  readonly address: { readonly hostname: string; readonly port: number };
  readonly rounds: Round[];
}

async function main(options: BenchOptions): Promise<void> {
  const missing = await missingLoad();
  if (missing !== null) {
    console.log(`skipped: everything, ${missing}`);
    return;
  }
  const versions = await findPeers(options);
  if (versions.size === 0) return;
  console.log(await machine());
  for (const [peer, version] of versions) console.log(`  ${peer.name}: ${version}`);
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  const backendFolder = join(folder, "backend");
  await Deno.mkdir(backendFolder);
  // Programs that drop root's rights must be able to pass.
  await Deno.chmod(folder, 0o755);
  const results: (PeerRounds & { readonly case: string })[] = [];
  try {
    const backend = await startBackend(backendFolder);
    try {
      for (const what of CASES.filter(({ name }) => options.cases.includes(name))) {
        const peers = await measure(what, [...versions.keys()], backend, options, folder);
        const { connections } = what;
        console.log(
          `\n${what.name}: ${what.about}, ${connections} connections; ` +
            `median of ${options.rounds} rounds of ${options.duration / 1000} s`,
        );
        console.log(formatTable(peers, REFERENCE.name));
        results.push(...peers.map((one) => ({ case: what.name, ...one })));
      }
    } finally {
      await backend.stop();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  if (options.json !== undefined) {
    const about = {
      machine: await machine(),
      versions: Object.fromEntries(
        [...versions].map(([peer, version]) => [peer.name, version]),
      ),
    };
    await Deno.writeTextFile(options.json, `${JSON.stringify({ ...about, results }, null, 2)}\n`);
  }
}

/** The peers that are installed, with their versions; says which are not. */
async function findPeers(options: BenchOptions): Promise<Map<Peer, string>> {
  const found = new Map<Peer, string>();
  for (const peer of PEERS) {
    if (options.peer.length > 0 && !options.peer.includes(peer.name)) continue;
    const version = await versionOf(peer.version);
    if (version === null) console.log(`skipped: ${peer.name}, ${peer.remedy}`);
    else found.set(peer, version);
  }
  return found;
}

/** All rounds of one case: in each every peer once, a different one first each time. */
async function measure(
  what: Case,
  peers: readonly Peer[],
  backend: Backend,
  options: BenchOptions,
  folder: string,
): Promise<PeerRounds[]> {
  const running: RunningPeer[] = [];
  const seconds = Math.max(1, Math.round(options.duration / 1000));
  try {
    for (const peer of peers) {
      const address = { hostname: "127.0.0.1", port: freePort() };
      const own = await Deno.makeTempDir({ dir: folder, prefix: `${peer.name}-` });
      await Deno.chmod(own, 0o755);
      const child = await peer.start({
        listen: address,
        backend: backend.addressFor(what),
        folder: own,
      });
      running.push({ peer, child, address, rounds: [] });
      await child.listening(address);
    }
    // Compilers and pools warm up before anything counts.
    for (const one of running) await loadThrough(one, what, Math.min(seconds, 2), folder);
    for (let round = 0; round < options.rounds; round++) {
      for (let turn = 0; turn < running.length; turn++) {
        const one = running[(round + turn) % running.length];
        one.rounds.push(await measureOnce(one, what, seconds, folder));
      }
    }
  } finally {
    for (const { child } of running) await child.stop();
  }
  return running.map(({ peer, rounds }) => ({ peer: peer.name, rounds }));
}

async function measureOnce(
  one: RunningPeer,
  what: Case,
  seconds: number,
  folder: string,
): Promise<Round> {
  const before = one.child.usage();
  const result = await loadThrough(one, what, seconds, folder);
  const after = one.child.usage();
  return {
    user: (after.user - before.user) / result.requests,
    system: (after.system - before.system) / result.requests,
    perSecond: result.perSecond,
    p50: result.p50,
    p99: result.p99,
    memory: after.memory,
  };
}

/** Throws with the names of case and peer when a request fails. */
async function loadThrough(
  { peer, address }: RunningPeer,
  what: Case,
  seconds: number,
  folder: string,
): Promise<LoadResult> {
  try {
    return await load(address, what, seconds, folder);
  } catch (error) {
    throw new Error(`${what.name} through ${peer.name}: ${(error as Error).message}`);
  }
}

/** One line about where this was measured. */
async function machine(): Promise<string> {
  const cpus = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  const model = /^model name\s*:\s*(.*)$/m.exec(cpus)?.[1] ?? Deno.build.arch;
  return `${navigator.hardwareConcurrency} cores, ${model}; Deno ${Deno.version.deno}`;
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
