/**
 * One case through all proxies. In: the case, the proxies, the backend. Out: the rounds of each, and
 * of its baseline, measured in turns, after each proxy has been seen to answer right; and again after.
 */
import { type CpuTime, type Usage } from "./child.ts";
import { closedLoadFor, loadFor } from "./load.ts";
import { median, type PeerRounds, type Round } from "./report.ts";
import { settled } from "./settle.ts";
import { named, startPeer, type Surroundings } from "./start.ts";
import { verify } from "./verify.ts";
import type { Case, Load, LoadResult, Meter, Peer, Running } from "./model.ts";

export interface Schedule {
  readonly rounds: number;
  /** Of one measurement. */
  readonly seconds: number;
  /** Of the warm-up, where the case asks for none; without it, as the measurement's length asks for. */
  readonly warmUp?: number;
  /** All peers get their load at the same time, each from a load of its own. */
  readonly together?: boolean;
}

export interface Measured {
  readonly peers: readonly PeerRounds[];
  /** Requests a second that were offered to each, where the case has a pace. */
  readonly rate: number | null;
  /** Peers that could not be measured, and why. */
  readonly leftOut: readonly string[];
}

/** Rounds of the closed loop that find what a peer carries. */
const SATURATION_ROUNDS = 2;

/** One proxy set up for one case. */
interface Entry {
  readonly what: Case;
  readonly running: Running;
  /** For what its load needs to write. */
  readonly folder: string;
  /** With the first of `held` open, in bytes; 0 where none are held. */
  baseMemory: number;
  readonly rounds: Round[];
}

interface Measurement {
  readonly peer: Peer;
  readonly main: Entry;
  readonly baseline: Entry | null;
  /** Requests a second. */
  readonly saturation: number[];
}

/** Whether the peer has a part in the case. */
export function takesPart(peer: Peer, what: Case): boolean {
  const named = what.peers === undefined || what.peers.includes(peer.name);
  return named && (peer.can?.(what) ?? true) &&
    (what.baseline === undefined || (peer.can?.(what.baseline) ?? true));
}

/**
 * All rounds: in each every peer once, a different one first each time. Throws on wrong answers.
 *
 * @param say is told what is being done, for who waits.
 */
export async function measure(
  what: Case,
  peers: readonly Peer[],
  { rounds, seconds, warmUp: warmUpSeconds, together = false }: Schedule,
  surroundings: Surroundings,
  say: (doing: string) => void,
): Promise<Measured> {
  const leftOut: string[] = [];
  const all: Measurement[] = [];
  const entries = () =>
    all.flatMap(({ main, baseline }) => baseline === null ? [main] : [main, baseline]);
  try {
    for (const peer of peers) {
      say(`starting ${peer.name}`);
      try {
        all.push(await startMeasurement(peer, what, surroundings));
      } catch (error) {
        leftOut.push((error as Error).message);
      }
    }
    // Compilers and pools warm up before anything counts.
    for (const entry of entries()) {
      say(`warming up ${nameOf(entry)}`);
      await warmUp(entry, warmUpOf(entry.what, seconds, warmUpSeconds));
    }
    const rate = what.pace === undefined
      ? 0
      : await paceOf(all, what.pace, Math.min(rounds, SATURATION_ROUNDS), seconds, say);
    for (let round = 0; round < rounds; round++) {
      const turns = entries();
      if (together) {
        say(`round ${round + 1} of ${rounds}: ${turns.map(nameOf).join(", ")}`);
        const measured = turns.map((entry) => measureBeside(entry, seconds, rate));
        // One that fails must not leave the loads of others behind.
        await Promise.allSettled(measured);
        for (const [at, entry] of turns.entries()) entry.rounds.push(await measured[at]);
        continue;
      }
      for (let turn = 0; turn < turns.length; turn++) {
        const entry = turns[(round + turn) % turns.length];
        say(`round ${round + 1} of ${rounds}: ${nameOf(entry)}`);
        entry.rounds.push(await measureBeside(entry, seconds, rate));
      }
    }
    for (const { running, what } of entries()) {
      await named(running.peer, what, verify(running.target, what));
    }
    return { peers: all.map(roundsOf), rate: what.pace === undefined ? null : rate, leftOut };
  } finally {
    await Promise.all(entries().map(({ running }) => running.child.stop()));
  }
}

function nameOf({ running, what }: Entry): string {
  return `${running.peer.name} (${what.name})`;
}

function roundsOf({ peer, main, baseline, saturation }: Measurement): PeerRounds {
  return {
    peer: peer.name,
    rounds: main.rounds,
    baseline: baseline?.rounds ?? null,
    saturation: saturation.length === 0 ? null : saturation,
  };
}

async function startMeasurement(
  peer: Peer,
  what: Case,
  surroundings: Surroundings,
): Promise<Measurement> {
  const enter = async (one: Case): Promise<Entry> => {
    const running = await startPeer(peer, one, surroundings);
    const folder = await Deno.makeTempDir({ dir: surroundings.folder, prefix: "load-" });
    return { what: one, running, folder, baseMemory: 0, rounds: [] };
  };
  const main = await enter(what);
  try {
    const baseline = what.baseline === undefined ? null : await enter(what.baseline);
    return { peer, main, baseline, saturation: [] };
  } catch (error) {
    await main.running.child.stop();
    throw error;
  }
}

/** One loop in JavaScript takes some 100,000 requests until all that is hot is compiled, in seconds. */
export const WARM_UP = 5;

/** In seconds; rounds of one are for a look, and shorten it unless it is given. */
export function warmUpOf(what: Case, seconds: number, warmUp?: number): number {
  return what.warmUp ?? warmUp ?? (seconds > 1 ? WARM_UP : seconds);
}

/** By the load that measures; by the closed one where that has a pace, which is not known yet. */
async function warmUp(entry: Entry, seconds: number): Promise<void> {
  const { what } = entry;
  const load = what.pace === undefined ? loadFor(what) : closedLoadFor(what);
  const few = { ...entry, what: { ...what, ...what.held } };
  entry.baseMemory = (await measureOnce(few, load, seconds, 0)).memory;
}

/** The share of what the slowest carries, in requests a second. */
async function paceOf(
  all: readonly Measurement[],
  share: number,
  rounds: number,
  seconds: number,
  say: (doing: string) => void,
): Promise<number> {
  for (let round = 0; round < rounds; round++) {
    for (const { main, saturation } of all) {
      say(`saturation ${round + 1} of ${rounds}: ${nameOf(main)}`);
      const load = closedLoadFor(main.what);
      saturation.push((await measureOnce(main, load, seconds, 0)).perSecond);
    }
  }
  return Math.floor(share * Math.min(...all.map(({ saturation }) => median(saturation))));
}

/** A round, with what goes on beside it. */
async function measureBeside(
  entry: Entry,
  seconds: number,
  rate: number,
): Promise<Round> {
  const { running, what } = entry;
  const beside = what.beside?.start(running, what) ?? null;
  const ongoing = beside === null ? null : await named(running.peer, what, beside);
  let round: Round;
  try {
    round = await measureOnce(entry, loadFor(what), seconds, rate);
  } catch (error) {
    await ongoing?.stop().catch(() => {});
    throw error;
  }
  const failed = ongoing === null ? 0 : (await named(running.peer, what, ongoing.stop())).errors;
  return { ...round, errors: round.errors + failed };
}

async function measureOnce(
  { running, what, folder, baseMemory }: Entry,
  load: Load,
  seconds: number,
  rate: number,
): Promise<Round> {
  const { target, peer, child } = running;
  let before = child.usage();
  let held: Usage | null = null;
  let opened: Usage | null = null;
  let atRest: Moment | null = null;
  let restCpu: number | null = null;
  const meter: Meter = {
    begin: () => before = child.usage(),
    async rest() {
      opened = child.usage();
      await settled(child);
      atRest = { at: performance.now(), usage: child.usage() };
    },
    end() {
      held = child.usage();
      if (atRest !== null) restCpu = share(atRest, { at: performance.now(), usage: held });
    },
  };
  const loaded = load.run(target, what, seconds, folder, meter, rate);
  const result: LoadResult = await named(peer, what, loaded);
  if (result.count === 0) {
    throw new Error(`${what.name} through ${peer.name}: nothing was answered`);
  }
  // Assigned in callbacks, which the compiler does not see.
  const whileHeld = held as Usage | null;
  const after = whileHeld ?? child.usage();
  const spent = (opened as Usage | null) ?? after;
  return {
    user: (spent.user - before.user) / result.count,
    system: (spent.system - before.system) / result.count,
    perSecond: result.perSecond,
    p50: result.p50,
    p99: result.p99,
    p999: result.p999,
    ...ofConnections(result),
    memory: after.memory,
    heldBytes: whileHeld === null ? null : heldBytes(what, after.memory - baseMemory),
    restCpu,
    errors: result.errors,
    ...(result.note === undefined ? {} : { note: result.note }),
  };
}

/** What loads of many connections tell besides. */
function ofConnections({ p90, max, fairness }: LoadResult): Partial<Round> {
  return p90 === undefined ? {} : { p90, max, fairness };
}

interface Moment {
  /** In ms. */
  readonly at: number;
  readonly usage: CpuTime;
}

/** Of one CPU, between two moments. */
function share(from: Moment, to: Moment): number {
  const micros = to.usage.user + to.usage.system - from.usage.user - from.usage.system;
  return micros / 1000 / (to.at - from.at);
}

/** What each connection or stream has added to memory beyond the first ones, in bytes. */
function heldBytes({ connections, streams, held }: Case, bytes: number): number | null {
  return held === undefined
    ? null
    : bytes / (connections * streams - held.connections * held.streams);
}
