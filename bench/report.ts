/**
 * What was measured, for people. In: the rounds of each peer in one case. Out: medians, spreads,
 * ratios to the reference, and a table of them, as text or as Markdown.
 */

/** One round of one peer. */
export interface Round {
  /** CPU time per unit in µs. */
  readonly user: number;
  readonly system: number;
  readonly perSecond: number;
  /** Latency in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Resident memory at the end, in bytes. */
  readonly memory: number;
  /** What failed or was refused. */
  readonly errors: number;
}

export interface PeerRounds {
  readonly peer: string;
  readonly rounds: readonly Round[];
}

/** Rows of cells; the first one holds the names of the columns. */
export type Table = readonly (readonly string[])[];

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * CPU per unit over the reference's, round by round. Rounds alternate, so each is compared with its
 * neighbour: what slows the whole machine for a while slows both. Empty without reference.
 */
export function ratios(rounds: readonly Round[], reference: readonly Round[]): number[] {
  const count = Math.min(rounds.length, reference.length);
  return rounds.slice(0, count).map((round, index) => cpu(round) / cpu(reference[index]));
}

/** @param unit what is counted: `request`. `ratio` is CPU per unit over that of `reference`. */
export function tableOf(peers: readonly PeerRounds[], reference: string, unit: string): Table {
  const referenceRounds = peers.find(({ peer }) => peer === reference)?.rounds ?? [];
  const columns = [
    ...["peer", `CPU µs/${unit}`, "spread", "user", "system", "ratio", "its spread"],
    ...[`${unit}s/CPU s`, `${unit}s/s`, "p50 ms", "p99 ms", "memory MiB", "errors"],
  ];
  const rows = peers.map(({ peer, rounds }) => {
    const middle = (of: (round: Round) => number) => median(rounds.map(of));
    const compared = ratios(rounds, referenceRounds);
    return [
      peer,
      number(middle(cpu)),
      spread(rounds.map(cpu), number),
      number(middle((round) => round.user)),
      number(middle((round) => round.system)),
      compared.length === 0 ? "–" : median(compared).toFixed(2),
      compared.length === 0 ? "–" : spread(compared, (value) => value.toFixed(2)),
      Math.round(1e6 / middle(cpu)).toString(),
      Math.round(middle((round) => round.perSecond)).toString(),
      number(middle((round) => round.p50)),
      number(middle((round) => round.p99)),
      (middle((round) => round.memory) / 2 ** 20).toFixed(1),
      errorsOf(rounds).toString(),
    ];
  });
  return [columns, ...rows];
}

export function errorsOf(rounds: readonly Round[]): number {
  return rounds.reduce((sum, { errors }) => sum + errors, 0);
}

export function formatText(table: Table): string {
  return aligned(table).map((row) => row.join("  ").trimEnd()).join("\n");
}

export function formatMarkdown(table: Table): string {
  const [head, ...rows] = aligned(table);
  const line = head.map((cell, column) =>
    column === 0 ? "-".repeat(cell.length) : `${"-".repeat(cell.length - 1)}:`
  );
  return [head, line, ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

export function cpu(round: Round): number {
  return round.user + round.system;
}

/** Names to the left, numbers to the right. */
function aligned(table: Table): string[][] {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  return table.map((row) =>
    row.map((text, column) =>
      column === 0 ? text.padEnd(widths[column]) : text.padStart(widths[column])
    )
  );
}

function spread(values: readonly number[], format: (value: number) => string): string {
  return `${format(Math.min(...values))}–${format(Math.max(...values))}`;
}

/** Three digits that count. */
function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
