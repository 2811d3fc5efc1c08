/**
 * The marks that the data plane is held to. In: what was measured. Out: for each mark what it asks
 * for, what was found, and whether that holds; nothing is said about what was not measured.
 */
import {
  cpu,
  errorsOf,
  type Figure,
  figureOf,
  OURS,
  type PeerRounds,
  ratios,
  type Round,
  tail,
} from "./report.ts";
import { type CaseResults } from "./results.ts";

export interface Mark {
  /** The name of the case. */
  readonly case: string;
  /** What is compared, for people. */
  readonly about: string;
  /** Each is an upper bound of the figure; `aim` is null where only `must` is said. */
  readonly must: number;
  readonly aim: number | null;
  readonly unit: "ratio" | "KiB" | "count";
  /** Null where the case has not what it takes. */
  readonly figure: (results: CaseResults) => Figure | null;
}

export type Verdict = "aim" | "must" | "missed" | "not measured";

export interface JudgedMark {
  readonly mark: Mark;
  readonly figure: Figure | null;
  readonly verdict: Verdict;
}

export const MARKS: readonly Mark[] = [
  ...costs("h1-small", { nginx: [1.25, 1.1], pingora: [0.65], envoy: [0.45], traefik: [0.4] }),
  ...costs("h1-tls-small", { nginx: [1.25, 1.15], pingora: [0.8], envoy: [0.55] }),
  ...costs("h2-tls-small", { nginx: [1, 0.9], pingora: [0.95], envoy: [0.75] }),
  ...costs("h1-1mib-down", { nginx: [0.8, 0.6] }),
  ...costs("h1-1mib-up", { nginx: [0.8, 0.6] }),
  ...costs("h2-1mib-down", { nginx: [1.2] }),
  ...costs("h2-1mib-up", { nginx: [1.2] }),
  ...costs("new-connections", { nginx: [1.8, 1.4] }),
  ...costs("tls-handshakes-full", { nginx: [1.35, 1.2] }),
  ...costs("sse-1k", { nginx: [2, 1.6] }),
  ...costs("websocket-1k", { nginx: [1.5] }),
  overBaseline("routes-100k", "CPU × routes-1", 1.1, 1.03),
  {
    case: "reload-10k",
    about: "failed requests",
    ...{ must: 0, aim: null, unit: "count" },
    figure: ofOurs(({ rounds }) => rounds.length === 0 ? [] : [errorsOf(rounds)]),
  },
  {
    case: "reload-10k",
    about: "p99.9 × without reloads",
    ...{ must: 3, aim: 1.5, unit: "ratio" },
    figure: ofOurs(({ rounds, baseline }) => ratios(rounds, baseline ?? [], tail)),
  },
  held("idle-10k-plain", "connection", 12, 8),
  held("idle-10k-tls", "connection", 45, 34),
  held("idle-10k-h2c", "connection", 12, null),
  held("sse-1k", "connection", 40, null),
  held("h2-idle-streams", "stream", 40, null),
  overBaseline("workers-2", "CPU × one worker", 1.1, 1.03),
  overBaseline("access-log", "CPU × without log", 1.1, 1.05),
  overBaseline("traces", "CPU × without traces", 1.03, null),
  {
    case: "h1-half-rate",
    about: "p99.9 × haproxy",
    ...{ must: 2, aim: 1, unit: "ratio" },
    figure: (results) => overPeer(results, "haproxy", tail),
  },
  ...Object.entries({
    "websocket-1k": 1.5,
    "sse-1k": 1.5,
    "h1-half-rate": 1.8,
    "new-connections-half-rate": 2,
  }).map(([name, must]): Mark => ({
    case: name,
    about: "p99 × nginx",
    ...{ must, aim: null, unit: "ratio" },
    figure: (results) => overPeer(results, "nginx", ({ p99 }) => p99),
  })),
];

export function judge(mark: Mark, results: CaseResults | undefined): JudgedMark {
  const figure = results === undefined ? null : mark.figure(results);
  return { mark, figure, verdict: figure === null ? "not measured" : verdictOf(mark, figure) };
}

function verdictOf({ must, aim }: Mark, { median }: Figure): Verdict {
  if (median > must) return "missed";
  return aim === null || median > aim ? "must" : "aim";
}

/** CPU over each of these peers': at most the first number, at best the second. */
function costs(
  name: string,
  peers: Readonly<Record<string, readonly [must: number, aim?: number]>>,
): Mark[] {
  return Object.entries(peers).map(([peer, [must, aim = null]]) => ({
    case: name,
    about: `CPU × ${peer}`,
    ...{ must, aim, unit: "ratio" },
    figure: (results) => overPeer(results, peer, cpu),
  }));
}

function overBaseline(name: string, about: string, must: number, aim: number | null): Mark {
  const figure = ofOurs(({ rounds, baseline }) => ratios(rounds, baseline ?? []));
  return { case: name, about, must, aim, unit: "ratio", figure };
}

function held(
  name: string,
  what: "connection" | "stream",
  must: number,
  aim: number | null,
): Mark {
  const figure = ofOurs(({ rounds }) =>
    rounds.flatMap(({ heldBytes }) => heldBytes === null ? [] : [heldBytes / 1024])
  );
  return { case: name, about: `memory of a ${what}`, must, aim, unit: "KiB", figure };
}

function ofOurs(
  values: (peer: PeerRounds) => readonly number[],
): (results: CaseResults) => Figure | null {
  return ({ peers }) => figureOf(peers.filter(({ peer }) => peer === OURS).flatMap(values));
}

function overPeer(
  { peers }: CaseResults,
  name: string,
  of: (round: Round) => number | null,
): Figure | null {
  const roundsOf = (wanted: string) => peers.find(({ peer }) => peer === wanted)?.rounds ?? [];
  return figureOf(ratios(roundsOf(OURS), roundsOf(name), of));
}
