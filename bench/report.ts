/**
 * What was measured, for people. In: the rounds of each peer in one case. Out: medians, spreads,
 * ratios, and a table of them, as text or as Markdown.
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
  /** Null where the load does not tell. */
  readonly p999: number | null;
  /** Of loads of many connections; see `LoadResult`. */
  readonly p90?: number;
  readonly max?: number;
  readonly fairness?: number;
  /** Resident memory at the end, in bytes. */
  readonly memory: number;
  /** What each connection or stream that is held open has added to it; null where none is. */
  readonly heldBytes: number | null;
  /** Share of one CPU that is used while all that is held rests; null where nothing rests. */
  readonly restCpu: number | null;
  /** What failed or was refused, of the load and of what went on beside it. */
  readonly errors: number;
  /** What is to be known about these figures. */
  readonly note?: string;
}

export interface PeerRounds {
  readonly peer: string;
  readonly rounds: readonly Round[];
  /** Those of the baseline, of the same times; null where the case has none. */
  readonly baseline: readonly Round[] | null;
  /** Requests a second that it carried in a closed loop; null where nobody asked. */
  readonly saturation: readonly number[] | null;
}

/** What a table needs to know of a case besides its rounds. */
export interface Measurements {
  /** What is counted: `request`. */
  readonly unit: string;
  /** On each connection. */
  readonly streams: number;
  readonly peers: readonly PeerRounds[];
}

/** Rows of cells; the first one holds the names of the columns. */
export type Table = readonly (readonly string[])[];

/** What all others are compared with. */
export const OURS = "pingress";

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A median with the lowest and the highest value. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** Null of nothing. */
export function figureOf(values: readonly number[]): Figure | null {
  return values.length === 0
    ? null
    : { median: median(values), low: Math.min(...values), high: Math.max(...values) };
}

/**
 * One over the other, round by round. Rounds alternate, so each is compared with its neighbour: what
 * slows the whole machine for a while slows both. Rounds without the value are left out.
 */
export function ratios(
  rounds: readonly Round[],
  reference: readonly Round[],
  of: (round: Round) => number | null = cpu,
): number[] {
  const count = Math.min(rounds.length, reference.length);
  return rounds.slice(0, count).flatMap((round, index) => {
    const [one, other] = [of(round), of(reference[index])];
    return one === null || other === null || other === 0 ? [] : [one / other];
  });
}

export function cpu(round: Round): number {
  return round.user + round.system;
}

/** A column; without `of`, peers it says nothing about have a dash. */
interface Column {
  readonly name: string;
  readonly of: (peer: PeerRounds) => string;
}

/**
 * A row for each peer. `pingress ×` is what Pingress costs over what this peer costs, `× baseline`
 * what the case costs over its baseline; each with its spread.
 */
export function tableOf({ unit, streams, peers }: Measurements): Table {
  const ours = peers.find(({ peer }) => peer === OURS);
  const all = peers.flatMap(({ rounds }) => rounds);
  const hasTail = all.some(({ p999 }) => p999 !== null);
  // Told by those loads whose connections are to be served evenly.
  const isEven = all.some(({ fairness }) => fairness !== undefined);
  const held = `KiB/${unit === "connection" || streams === 1 ? "connection" : "stream"}`;
  const columns: readonly (Column | readonly Column[])[] = [
    { name: "peer", of: ({ peer }) => peer },
    { name: `CPU µs/${unit}`, of: middle(cpu, number) },
    { name: "spread", of: ({ rounds }) => spread(figureOf(rounds.map(cpu)), number) },
    { name: "user", of: middle((round) => round.user, number) },
    { name: "system", of: middle((round) => round.system, number) },
    ours !== undefined && peers.length > 1
      ? compared(`${OURS} ×`, ({ rounds }) => ratios(ours.rounds, rounds))
      : [],
    peers.some(({ baseline }) => baseline !== null)
      ? compared("× baseline", ({ rounds, baseline }) => ratios(rounds, baseline ?? []))
      : [],
    { name: `${unit}s/CPU s`, of: middle((round) => 1e6 / cpu(round), whole) },
    { name: `${unit}s/s`, of: middle((round) => round.perSecond, whole) },
    { name: "p50 ms", of: middle((round) => round.p50, number) },
    isEven ? { name: "p90 ms", of: middle(({ p90 }) => p90 ?? null, number) } : [],
    { name: "p99 ms", of: middle((round) => round.p99, number) },
    hasTail ? { name: "p99.9 ms", of: middle((round) => round.p999, number) } : [],
    isEven
      ? [
        { name: "max ms", of: middle(({ max }) => max ?? null, number) },
        { name: "p99/p50", of: middle(({ p50, p99 }) => p50 === 0 ? null : p99 / p50, number) },
        { name: "fewest/most", of: middle(({ fairness }) => fairness ?? null, ratio) },
      ]
      : [],
    hasTail && peers.some(({ baseline }) => baseline !== null)
      ? compared("p99.9 × baseline", ({ rounds, baseline }) => ratios(rounds, baseline ?? [], tail))
      : [],
    { name: "memory MiB", of: middle((round) => round.memory / 2 ** 20, tenths) },
    all.some(({ heldBytes }) => heldBytes !== null)
      ? { name: held, of: middle(({ heldBytes }) => heldBytes && heldBytes / 1024, number) }
      : [],
    all.some(({ restCpu }) => restCpu !== null)
      ? { name: "CPU at rest %", of: middle(({ restCpu }) => restCpu && restCpu * 100, number) }
      : [],
    { name: "errors", of: ({ rounds }) => errorsOf(rounds).toString() },
  ];
  const flat = columns.flat();
  return [flat.map(({ name }) => name), ...peers.map((peer) => flat.map(({ of }) => of(peer)))];
}

/** Of the tail, in ms. */
export function tail(round: Round): number | null {
  return round.p999;
}

export function errorsOf(rounds: readonly Round[]): number {
  return rounds.reduce((sum, { errors }) => sum + errors, 0);
}

/** What the load had to say about a peer's figures: the last of it, and in how many rounds. */
export function notesOf(peers: readonly PeerRounds[]): string[] {
  return peers.flatMap(({ peer, rounds }) => {
    const notes = rounds.flatMap(({ note }) => note ?? []);
    if (notes.length === 0) return [];
    return [`${peer}, in ${notes.length} of ${rounds.length} rounds: ${notes.at(-1)}`];
  });
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

/** Three digits that count. */
export function number(value: number): string {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function ratio(value: number): string {
  return value.toFixed(2);
}

export function spread(figure: Figure | null, format: (value: number) => string): string {
  return figure === null ? NONE : `${format(figure.low)}–${format(figure.high)}`;
}

/** What stands where there is no figure. */
const NONE = "–";

/** The median of what is known; a dash of nothing. */
function middle(
  of: (round: Round) => number | null,
  format: (value: number) => string,
): (peer: PeerRounds) => string {
  return ({ rounds }) => {
    const values = rounds.map(of).filter((value) => value !== null);
    return values.length === 0 ? NONE : format(median(values));
  };
}

/** Two columns: a ratio and its spread. */
function compared(name: string, of: (peer: PeerRounds) => readonly number[]): Column[] {
  return [
    { name, of: (peer) => formatted(figureOf(of(peer))) },
    { name: "its spread", of: (peer) => spread(figureOf(of(peer)), ratio) },
  ];
}

function formatted(figure: Figure | null): string {
  return figure === null ? NONE : ratio(figure.median);
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

function whole(value: number): string {
  return Math.round(value).toString();
}

function tenths(value: number): string {
  return value.toFixed(1);
}
