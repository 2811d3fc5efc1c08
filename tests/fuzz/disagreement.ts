/**
 * The differential rule. In: what we and the peers made of streams. Out: for each stream, whether
 * there is a disagreement, or which listed reasons explain that no peer goes along.
 *
 * - Nothing that we accept is framed differently by any peer that accepts it, and at least one peer
 *   frames it as we do, unless each has a listed reason to refuse it.
 * - What we write to a backend is framed by every peer as we meant it, or refused for a listed reason.
 */
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { textOf } from "../support/latin1.ts";
import type { ParsedStream } from "./parsed.ts";
import type { PeerName, PeerParser } from "./peer.ts";
import { refusalReason } from "./refusal.ts";
import { type OwnStream, parseStream } from "./request_stream.ts";
import { differenceOf, votesOf } from "./verdict.ts";

/** What we write has fields of our own besides the client's, who may have filled the limits. */
const ROOMY = {
  ...DEFAULT_LIMITS,
  requestHeadBytes: 2 * DEFAULT_LIMITS.requestHeadBytes,
  requestFields: 2 * DEFAULT_LIMITS.requestFields,
};

export interface Judgement {
  /** Sentences that say who differs and where; empty where all is well. */
  readonly disagreements: readonly string[];
  /** Listed reasons why every peer refuses what we accept; empty where one goes along. */
  readonly alone: readonly string[];
  /** What kinds of answers there were: streams that give the same say the same. */
  readonly signature: string;
}

/** Judges each of `streams`, of which `ours` is our own reading. */
export async function judge(
  peers: readonly PeerParser[],
  streams: readonly Uint8Array[],
  ours: readonly OwnStream[],
): Promise<Judgement[]> {
  const again = await Promise.all(ours.map(({ forwarded }) => parseStream(forwarded, [], ROOMY)));
  const batch = [...streams, ...ours.map(({ forwarded }) => forwarded)];
  const answers = await Promise.all(
    peers.map(async (peer) => ({ name: peer.name, results: await peer.parse(batch) })),
  );
  return streams.map((stream, index) => {
    const received = judgeReceived(
      textOf(stream),
      ours[index],
      answers.map(({ name, results }) => ({ name, result: results[index] })),
    );
    const sent = judgeSent(
      ours[index],
      again[index],
      answers.map(({ name, results }) => ({ name, result: results[streams.length + index] })),
    );
    return { ...received, disagreements: [...received.disagreements, ...sent] };
  });
}

interface Answer {
  readonly name: PeerName;
  readonly result: ParsedStream;
}

function judgeReceived(text: string, ours: OwnStream, answers: readonly Answer[]): Judgement {
  const votes = answers.map(({ name, result }) => votesOf(name, ours, result));
  const alone: string[] = [];
  const disagreements: string[] = [];
  for (const index of ours.requests.keys()) {
    const now = votes.map((list) => list[index]);
    const differing = answers.filter((_, which) => now[which] === "differs");
    for (const { name, result } of differing) {
      disagreements.push(`request ${index + 1}: ${name} differs in ${partOf(name, ours, result)}`);
    }
    if (differing.length === 0 && !now.includes("alike")) {
      for (const { name, result } of answers) {
        const at = result.requests.length;
        const start = at === 0 ? 0 : ours.requests[at - 1].end;
        const refused = ours.requests[at];
        const raw = text.slice(start, refused.end);
        const reason = refusalReason(name, result.detail, refused, raw);
        if (reason !== null) alone.push(reason);
        else disagreements.push(`request ${at + 1}: ${name} refuses: ${result.detail}`);
      }
    }
    if (!now.includes("alike") || differing.length > 0) break;
  }
  const kinds = answers.map(({ name, result }) =>
    `${name} ${result.outcome} ${result.detail.replace(/\d+|["'`(].*/g, "").slice(0, 40)}`
  );
  return {
    disagreements,
    alone,
    signature: [`${ours.outcome} ${ours.detail}`, ...kinds].join("; "),
  };
}

/** What the forwarded bytes of `ours` are to ourselves (`again`) and to the peers. */
function judgeSent(ours: OwnStream, again: OwnStream, answers: readonly Answer[]): string[] {
  const disagreements: string[] = [];
  const meant = ours.requests.map((
    { method, canonicalTarget, body },
  ) => [method, canonicalTarget, body]);
  const read = again.requests.map(({ method, target, body }) => [method, target, body]);
  if (JSON.stringify(meant) !== JSON.stringify(read)) {
    disagreements.push(`sent: we read back ${again.outcome} ${again.detail}`);
  }
  for (const { name, result } of answers) {
    const index = votesOf(name, again, result).findIndex((vote) => vote !== "alike");
    if (index === -1) continue;
    const request = again.requests[index];
    const refused = result.requests.length === index && result.outcome !== "incomplete" &&
      refusalReason(name, result.detail, request, "") !== null;
    if (!refused) disagreements.push(`sent: ${name} differs in ${partOf(name, again, result)}`);
  }
  return disagreements;
}

/** Where a peer leaves us: a part of a request, or how its reading ended. */
function partOf(name: PeerName, ours: OwnStream, theirs: ParsedStream): string {
  for (const [index, request] of ours.requests.entries()) {
    const their = theirs.requests[index];
    if (their === undefined) return `request ${index + 1}: ${theirs.outcome} ${theirs.detail}`;
    const part = differenceOf(name, request, their);
    if (part !== null) return `the ${part} of request ${index + 1}`;
  }
  return "nothing";
}
