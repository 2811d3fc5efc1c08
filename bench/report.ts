/**
 * What was measured, for people. In: the rounds of each peer in one case. Out: medians, spreads,
 * ratios to the reference, and a table of them.
 */

/** One round of one peer. */
export interface Round {
  /** CPU time per request in µs. */
  readonly user: number;
  readonly system: number;
  readonly perSecond: number;
  /** Latency in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Resident memory at the end, in bytes. */
  readonly memory: number;
}

export interface PeerRounds {
  readonly peer: string;
  readonly rounds: readonly Round[];
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * CPU per request over the reference's. Rounds alternate, so each is compared with its neighbour:
 * what slows the whole machine for a while slows both. Null without reference.
 */
export function ratio(rounds: readonly Round[], reference: readonly Round[]): number | null {
  const count = Math.min(rounds.length, reference.length);
  if (count === 0) return null;
  return median(
    rounds.slice(0, count).map((round, index) => cpu(round) / cpu(reference[index])),
  );
}

const COLUMNS = [
  "peer",
  "CPU µs/request",
  "spread",
  "user",
  "system",
  "ratio",
  "requests/s",
  "p50 ms",
  "p99 ms",
  "memory MiB",
];

/** A table with one row a peer; `ratio` is CPU per request over that of `reference`. */
export function formatTable(peers: readonly PeerRounds[], reference: string): string {
  const referenceRounds = peers.find(({ peer }) => peer === reference)?.rounds ?? [];
  const rows = peers.map(({ peer, rounds }) => {
    const cpus = rounds.map(cpu);
    const middle = (value: (round: Round) => number) => median(rounds.map(value));
    return [
      peer,
      number(median(cpus)),
      `${number(Math.min(...cpus))}–${number(Math.max(...cpus))}`,
      number(middle((round) => round.user)),
      number(middle((round) => round.system)),
      ratio(rounds, referenceRounds)?.toFixed(2) ?? "–",
      Math.round(middle((round) => round.perSecond)).toString(),
      number(middle((round) => round.p50)),
      number(middle((round) => round.p99)),
      (middle((round) => round.memory) / 2 ** 20).toFixed(1),
    ];
  });
  const widths = COLUMNS.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column].length))
  );
  return [COLUMNS, ...rows]
    .map((row) =>
      row.map((text, column) =>
        column === 0 ? text.padEnd(widths[column]) : text.padStart(widths[column])
      ).join("  ")
    )
    .join("\n");
}

export function cpu(round: Round): number {
  return round.user + round.system;
}

/** Three digits that count. */
function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
