/**
 * How the time of a parser grows with its input. In: the parser on a whole input, and on a sixteenth of
 * it. Out: what the whole costs in place of sixteen sixteenths: 1 is linear, 16 is quadratic.
 *
 * CPU time, the best of several rounds of either side: what else the machine does adds to single
 * rounds, and is not counted while another process runs.
 */

/** One input of a parser in two sizes. */
export interface Pair {
  readonly whole: () => void;
  readonly sixteenth: () => void;
}

/** CPU time of this process in µs. */
export type CpuClock = () => number;

/** A whole input may cost less than so many times its sixteenths: 64 times one of them. */
export const MAX_GROWTH = 4;

/** Below it one look is enough, and one round of it if that took `SURE`. */
const PLAINLY_LINEAR = 2;

/** CPU time of a round, in µs, that hides a pause of the engine: a quadratic one does not pass for linear. */
const SURE = 1_000;

/**
 * Above it in two closer looks, a further one finds the same. In the first of them, whose rounds are short, nine
 * linear ones of a thousand were between 10 and 23 beside the tests of the cluster, on two cores.
 */
const PLAINLY_QUADRATIC = 10;

interface Look {
  readonly rounds: number;
  /** CPU time of a round, in µs, at least: short inputs are repeated. */
  readonly least: number;
  /** CPU time in µs after which there is no further round: long ones vary less. */
  readonly most: number;
}

const FIRST_LOOK: Look = { rounds: 2, least: 60, most: 20_000 };
/** Before a pair is found to grow too fast it has to do so in each of these. */
const CLOSER_LOOKS: readonly Look[] = [
  { rounds: 5, least: 4_000, most: 1_000_000 },
  { rounds: 5, least: 20_000, most: 4_000_000 },
  // A whole input does not fit the caches that its sixteenths fit, and at a load of 17 on two cores
  // other processes emptied them in each of five rounds: 5.3 for JSON.parse.
  { rounds: 30, least: 10_000, most: 4_000_000 },
];

const PARTS = 16;

/** CPU time of a whole input, in µs, from which on a few of its sixteenths stand for all: long ones vary less. */
const LONG = 5_000;
const PARTS_OF_LONG = 4;

/** What the whole costs in place of its parts, in the look at which that is least. */
export function growthOf(pair: Pair, cpu: CpuClock): number {
  let growth = lookAt(pair, cpu, FIRST_LOOK);
  if (growth < PLAINLY_LINEAR) return growth;
  for (const [i, look] of CLOSER_LOOKS.entries()) {
    growth = Math.min(growth, lookAt(pair, cpu, look));
    if (growth < MAX_GROWTH || (i > 0 && growth > PLAINLY_QUADRATIC)) return growth;
  }
  return growth;
}

/** The whole goes first: what the engine compiles in the first round is on the side that may not grow. */
function lookAt({ whole, sixteenth }: Pair, cpu: CpuClock, { rounds, least, most }: Look): number {
  let ofParts = Infinity;
  let ofWhole = Infinity;
  let growth = Infinity;
  let repetitions = 1;
  for (let round = 0, spent = 0; round < rounds && spent < most;) {
    const start = cpu();
    for (let i = 0; i < repetitions; i++) whole();
    const middle = cpu();
    const parts = middle - start < LONG * repetitions ? PARTS : PARTS_OF_LONG;
    for (let i = 0; i < parts * repetitions; i++) sixteenth();
    const end = cpu();
    if (end - start < least) {
      repetitions *= 2;
      continue;
    }
    ofWhole = Math.min(ofWhole, middle - start);
    ofParts = Math.min(ofParts, (end - middle) * PARTS / parts);
    spent += end - start;
    round++;
    growth = ofWhole / Math.max(ofParts, 1);
    if (spent > SURE && growth < PLAINLY_LINEAR) break;
  }
  return growth;
}
