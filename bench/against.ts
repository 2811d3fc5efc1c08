/**
 * `deno task bench --against REF`. In: a commit, cases, the number of pairs. Out: for each case the
 * ratio of this checkout's CPU per request to that commit's, with its 95 % interval, and whether it
 * keeps within the bound; all rounds as JSON. `--against baseline` compares with the case's baseline in
 * place of a commit: an access log, or traces, with none.
 *
 * A pair is a round of each, one right after the other, the first in turn. Both programs are started
 * anew after every few pairs: two starts of the same program differ by a per cent or two, by what gets
 * compiled when, which no number of rounds of one start would show.
 *
 * With `--together` both rounds of a pair run at the same time: whatever else the machine does, its
 * clock rate and its caches, then affects both alike.
 */
import { join } from "node:path";
import { run } from "./child.ts";
import { compare, type Comparison, judge, type Verdict } from "./comparison.ts";
import { describeMachine } from "./machine.ts";
import { measure, type Measured, type Schedule, WARM_UP } from "./measure.ts";
import { PINGRESS, pingressAt, ROOT } from "./peers/pingress.ts";
import { cpu, errorsOf, median, ratios, type Round } from "./report.ts";
import { withSurroundings } from "./surroundings.ts";
import type { Case, Peer } from "./model.ts";

export interface AgainstOptions {
  /** A commit, or `BASELINE`. */
  readonly against: string;
  readonly pairs: number;
  /** Even, so that each goes first as often as the other. */
  readonly pairsPerStart: number;
  /** Of one round. */
  readonly seconds: number;
  /** Both rounds of a pair at the same time. */
  readonly together: boolean;
  /** Null: whatever the figures are, they are told and that is all. */
  readonly bound: number | null;
}

/** What one case has shown. */
export interface AgainstResult extends Comparison {
  readonly case: string;
  readonly bound: number | null;
  readonly verdict: Verdict | null;
  /** In blocks that the same processes measured, round by round. */
  readonly blocks: readonly Block[];
}

export interface Block {
  readonly ours: readonly Round[];
  readonly theirs: readonly Round[];
}

/** In place of a commit: this checkout, without what the case has over its baseline. */
export const BASELINE = "baseline";

/** All cases, one after the other; throws, at the end, where one failed or is not within the bound. */
export async function runAgainst(
  cases: readonly Case[],
  options: AgainstOptions,
  json: string | undefined,
): Promise<void> {
  const results: AgainstResult[] = [];
  const failures: string[] = [];
  await withSurroundings((surroundings) =>
    withOther(options.against, surroundings.folder, async (other) => {
      console.log(`${await describeMachine()}; ${options.pairs} pairs of ${options.seconds} s`);
      for (const peer of [PINGRESS, other]) {
        const found = await peer.find(false);
        if (found.kind !== "found") throw new Error(`${peer.name} cannot be started`);
        console.log(`  ${peer.name}: ${found.version}`);
      }
      for (const what of cases) {
        try {
          const theirs = options.against === BASELINE ? asBaselineOf(what, other) : other;
          // The other version is what it is compared with: its own baseline would cost half of the time.
          const alone = { ...what, baseline: undefined };
          const result = await compareCase(
            alone,
            PINGRESS,
            theirs,
            options,
            (peers, schedule, done) => {
              const say = (doing: string) =>
                console.error(`[${what.name} ${done}/${options.pairs}] ${doing}`);
              return measure(alone, peers, schedule, surroundings, say);
            },
          );
          results.push(result);
          console.log(describeResult(result, options.against));
          if (result.verdict === "over" || result.verdict === "open") {
            failures.push(`${what.name}: not within ${options.bound}`);
          }
        } catch (error) {
          failures.push((error as Error).message);
        }
      }
    })
  );
  if (json !== undefined) await Deno.writeTextFile(json, `${JSON.stringify(results, null, 2)}\n`);
  if (failures.length > 0) throw new Error(`\n${failures.join("\n")}`);
}

/** Both peers in turns, the first one first; `done` pairs were measured before. */
export type MeasureBlock = (
  peers: readonly Peer[],
  schedule: Schedule,
  done: number,
) => Promise<Measured>;

/** Throws where one of both cannot be measured, or answered with errors. */
export async function compareCase(
  what: Case,
  ours: Peer,
  theirs: Peer,
  { pairs, pairsPerStart, seconds, together, bound }: AgainstOptions,
  measureBlock: MeasureBlock,
): Promise<AgainstResult> {
  const blocks: Block[] = [];
  for (let done = 0; done < pairs; done += pairsPerStart) {
    const rounds = Math.min(pairsPerStart, pairs - done);
    // Who starts and warms up first must not matter either.
    const peers = blocks.length % 2 === 0 ? [ours, theirs] : [theirs, ours];
    const schedule = { rounds, seconds, warmUp: WARM_UP, together };
    const measured = await measureBlock(peers, schedule, done);
    if (measured.leftOut.length > 0) throw new Error(measured.leftOut.join("\n"));
    const roundsOf = ({ name }: Peer) => {
      const found = measured.peers.find(({ peer }) => peer === name)?.rounds ?? [];
      if (errorsOf(found) > 0) throw new Error(`${what.name} through ${name}: errors`);
      return found;
    };
    blocks.push({ ours: roundsOf(ours), theirs: roundsOf(theirs) });
  }
  const comparison = compare(blocks.map(({ ours, theirs }) => ratios(ours, theirs)));
  const verdict = bound === null ? null : judge(comparison, bound);
  return { case: what.name, ...comparison, bound, verdict, blocks };
}

const VERDICTS: Readonly<Record<Verdict, (bound: number) => string>> = {
  within: (bound) => `within ${bound}`,
  over: (bound) => `NOT within ${bound}: the whole interval is above it`,
  open: (bound) => `NOT SHOWN to be within ${bound}: the interval holds it; raise --pairs`,
};

/** Two lines: the ratio with its verdict, and what both cost. */
export function describeResult(result: AgainstResult, against: string): string {
  const { bound, verdict, blocks } = result;
  const figure = (value: number) => value.toFixed(3);
  const cost = (of: (block: Block) => readonly Round[]) =>
    `${median(blocks.flatMap(of).map(cpu)).toFixed(1)} µs`;
  const ratio = `\n${result.case}: × ${figure(result.median)} of ${against}, ` +
    `95 % ${figure(result.low)} to ${figure(result.high)}, ${result.pairs} pairs`;
  const said = verdict === null || bound === null ? "" : `: ${VERDICTS[verdict](bound)}`;
  return `${ratio}${said}\n  CPU per unit: ${cost(({ ours }) => ours)} here, ` +
    `${cost(({ theirs }) => theirs)} there`;
}

/** Started as the case's baseline is. Throws for a case without one, or whose load differs from it, too. */
export function asBaselineOf(what: Case, peer: Peer): Peer {
  const { baseline } = what;
  if (baseline === undefined) throw new Error(`${what.name} has no baseline`);
  const { accessLog = false, traceRatio = 0 } = baseline;
  const differences = (Object.keys({ ...what, ...baseline }) as (keyof Case)[]).filter((field) =>
    !NOT_COMPARED.includes(field) && what[field] !== baseline[field]
  );
  if (differences.length > 0) {
    throw new Error(
      `${what.name} cannot be measured beside its baseline: it differs in ${differences}`,
    );
  }
  return { ...peer, start: (setup) => peer.start({ ...setup, accessLog, traceRatio }) };
}

const NOT_COMPARED: readonly (keyof Case)[] = [
  ...["name", "about", "baseline", "peers"] as const,
  ...["accessLog", "traceRatio"] as const,
];

/** Throws where there is no such commit, or what it needs is not there. */
async function withOther(
  ref: string,
  folder: string,
  work: (other: Peer) => Promise<void>,
): Promise<void> {
  const name = `pingress@${ref}`;
  if (ref === BASELINE) return await work(pingressAt(name, ROOT));
  await withWorktree(ref, folder, (root) => work(pingressAt(name, root)));
}

async function withWorktree(
  ref: string,
  folder: string,
  work: (root: string) => Promise<void>,
): Promise<void> {
  const git = (...args: string[]) => run(["git", "-C", ROOT, ...args]);
  const root = join(folder, "against");
  // A run that was ended by force has left its own behind.
  await git("worktree", "prune");
  await git("worktree", "add", "--quiet", "--detach", root, ref);
  try {
    const config = ["--config", join(root, "deno.json")];
    await run([Deno.execPath(), "cache", "--quiet", ...config, join(root, "proxy/main.ts")]);
    await work(root);
  } finally {
    await git("worktree", "remove", "--force", root);
  }
}
