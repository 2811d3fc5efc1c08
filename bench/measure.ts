/**
 * One case through all proxies. In: the case, the proxies, the backend. Out: the rounds of each,
 * measured in turns, after each proxy has been seen to answer right; and again after.
 */
import { join } from "node:path";
import { type Backend } from "./backend.ts";
import { type Case } from "./case.ts";
import { type Child, freePort } from "./child.ts";
import { loadFor, type LoadResult } from "./load.ts";
import { type Peer } from "./peer.ts";
import { type PeerRounds, type Round } from "./report.ts";
import { type Target } from "./target.ts";
import { type TlsFiles } from "./tls.ts";
import { verify } from "./verify.ts";

export interface Schedule {
  readonly rounds: number;
  /** Of one measurement. */
  readonly seconds: number;
}

export interface Surroundings {
  readonly backend: Backend;
  readonly tls: TlsFiles;
  /** For what programs need to write; gets a folder for each proxy. */
  readonly folder: string;
}

interface RunningPeer {
  readonly peer: Peer;
  readonly child: Child;
  readonly target: Target;
  readonly rounds: Round[];
}

/** All rounds: in each every peer once, a different one first each time. Throws on wrong answers. */
export async function measure(
  what: Case,
  peers: readonly Peer[],
  { rounds, seconds }: Schedule,
  surroundings: Surroundings,
): Promise<PeerRounds[]> {
  const running: RunningPeer[] = [];
  const { folder } = surroundings;
  try {
    for (const peer of peers) running.push(await start(peer, what, surroundings));
    for (const one of running) await named(one, what, verify(one.target, what));
    // Compilers and pools warm up before anything counts.
    for (const one of running) await loadThrough(one, what, Math.min(seconds, 2), folder);
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < running.length; turn++) {
        const one = running[(round + turn) % running.length];
        one.rounds.push(await measureOnce(one, what, seconds, folder));
      }
    }
    for (const one of running) await named(one, what, verify(one.target, what));
  } finally {
    await Promise.all(running.map(({ child }) => child.stop()));
  }
  return running.map(({ peer, rounds }) => ({ peer: peer.name, rounds }));
}

async function start(peer: Peer, what: Case, surroundings: Surroundings): Promise<RunningPeer> {
  const address = { hostname: "127.0.0.1", port: freePort() };
  const tls = what.tls ? surroundings.tls : null;
  const folder = join(surroundings.folder, `${what.name}-${peer.name}`);
  await Deno.mkdir(folder);
  await Deno.chmod(folder, 0o755);
  const child = await peer.start({
    listen: address,
    backend: surroundings.backend.addressFor(what),
    folder,
    workers: what.workers,
    tls,
  });
  // Where it does not answer, this ends it.
  await child.listening(address);
  return { peer, child, target: { address, tls }, rounds: [] };
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
    user: (after.user - before.user) / result.count,
    system: (after.system - before.system) / result.count,
    perSecond: result.perSecond,
    p50: result.p50,
    p99: result.p99,
    memory: after.memory,
    errors: result.errors,
  };
}

async function loadThrough(
  one: RunningPeer,
  what: Case,
  seconds: number,
  folder: string,
): Promise<LoadResult> {
  const result = await named(one, what, loadFor(what).run(one.target, what, seconds, folder));
  if (result.count > 0) return result;
  throw new Error(`${what.name} through ${one.peer.name}: nothing was answered`);
}

/** The promise, with the names of case and peer before its error. */
async function named<T>({ peer }: RunningPeer, what: Case, promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw new Error(`${what.name} through ${peer.name}: ${(error as Error).message}`);
  }
}
