/**
 * The differential fuzzer. In: peers, a seed, a time. Out: counts, and in the corpus every stream on
 * which we and the peers disagree, made small.
 */
import { keep, readCorpus } from "./corpus.ts";
import { judge, type Judgement } from "./disagreement.ts";
import { minimise } from "./minimise.ts";
import { mutate } from "./mutation.ts";
import type { PeerParser } from "./peer.ts";
import { Random } from "./random.ts";
import { type OwnStream, parseStream } from "./request_stream.ts";

/** Streams sent to the peers at once: enough to keep their pipes full. */
const BATCH = 256;
/** Streams of our own making that join the corpus during a run. */
const MAX_POOL = 4096;
/** Disagreements made small and shown; a broken parser has thousands. */
const MAX_FINDS = 20;

export interface DifferentialReport {
  readonly inputs: number;
  readonly accepted: number;
  readonly disagreements: number;
  /** How often all peers refused what we accept, by the listed reasons. */
  readonly alone: ReadonlyMap<string, number>;
  /** What was found, to print: why, and the file that shows it. */
  readonly finds: readonly string[];
  /** Files added because they get answers that no other gets. */
  readonly kept: number;
}

interface Batch {
  readonly streams: Uint8Array[];
  readonly ours: OwnStream[];
}

export class DifferentialFuzzer {
  readonly #peers: readonly PeerParser[];
  readonly #random: Random;
  readonly #keep: boolean;
  readonly #pool: Uint8Array[];
  readonly #ownSignatures = new Set<string>();
  readonly #signatures = new Set<string>();
  readonly #alone = new Map<string, number>();
  readonly #finds: string[] = [];
  readonly #told = new Set<string>();
  #inputs = 0;
  #accepted = 0;
  #disagreements = 0;
  #kept = 0;

  constructor(peers: readonly PeerParser[], seed: number, keepNovel: boolean) {
    this.#peers = peers;
    this.#random = new Random(seed);
    this.#keep = keepNovel;
    this.#pool = readCorpus("requests").map(({ bytes }) => bytes);
  }

  /** First the corpus as it is, then mutations until `deadline` (ms, `performance.now`). */
  async run(deadline: number): Promise<DifferentialReport> {
    const corpus: Batch = { streams: [], ours: [] };
    for (const stream of this.#pool.slice()) await this.#add(corpus, stream);
    const keepNovel = this.#keep;
    await this.#judge(corpus, false);
    let judging: Promise<void> = Promise.resolve();
    while (performance.now() < deadline) {
      const batch: Batch = { streams: [], ours: [] };
      while (batch.streams.length < BATCH && performance.now() < deadline) {
        await this.#add(batch, mutate(this.#random.pick(this.#pool), this.#random, this.#pool));
      }
      // The peers work on one batch while the next is made.
      await judging;
      judging = this.#judge(batch, keepNovel);
    }
    await judging;
    return {
      inputs: this.#inputs,
      accepted: this.#accepted,
      disagreements: this.#disagreements,
      alone: this.#alone,
      finds: this.#finds,
      kept: this.#kept,
    };
  }

  /** Reads a stream; what we accept a request of goes to the peers. */
  async #add(batch: Batch, stream: Uint8Array): Promise<void> {
    this.#inputs++;
    const ours = await parseStream(stream);
    const signature = ownSignature(ours);
    if (!this.#ownSignatures.has(signature) && this.#pool.length < MAX_POOL) {
      this.#ownSignatures.add(signature);
      if (!this.#pool.includes(stream)) this.#pool.push(stream);
    }
    if (ours.requests.length === 0) return;
    this.#accepted++;
    batch.streams.push(stream);
    batch.ours.push(ours);
  }

  async #judge({ streams, ours }: Batch, keepNovel: boolean): Promise<void> {
    const judgements = await judge(this.#peers, streams, ours);
    for (const [index, judgement] of judgements.entries()) {
      for (const reason of judgement.alone) {
        this.#alone.set(reason, (this.#alone.get(reason) ?? 0) + 1);
      }
      if (judgement.disagreements.length > 0) await this.#find(streams[index], judgement);
      const isNovel = !this.#signatures.has(judgement.signature);
      this.#signatures.add(judgement.signature);
      if (isNovel && keepNovel) await this.#keepNovel(streams[index], judgement.signature);
    }
  }

  async #find(stream: Uint8Array, { disagreements }: Judgement): Promise<void> {
    this.#disagreements++;
    const about = disagreements[0].replace(/\d+/g, "");
    if (this.#told.has(about) || this.#told.size === MAX_FINDS) return;
    this.#told.add(about);
    const small = await minimise(stream, async (streams) => {
      const judgements = await this.#judgeAll(streams);
      return judgements.map((one) => one.disagreements[0]?.replace(/\d+/g, "") === about);
    });
    this.#finds.push(`${disagreements.join("; ")}\n  ${keep("requests", "disagreement", small)}`);
  }

  async #keepNovel(stream: Uint8Array, signature: string): Promise<void> {
    const small = await minimise(stream, async (streams) => {
      const judgements = await this.#judgeAll(streams);
      return judgements.map((one) => one.signature === signature);
    });
    keep("requests", "found", small);
    this.#kept++;
  }

  async #judgeAll(streams: readonly Uint8Array[]): Promise<Judgement[]> {
    const ours: OwnStream[] = [];
    for (const stream of streams) ours.push(await parseStream(stream));
    return await judge(this.#peers, streams, ours);
  }
}

/** What a stream exercises of our parser, roughly. */
function ownSignature({ requests, outcome, detail }: OwnStream): string {
  const shapes = requests.slice(-2).map(({ body, trailers, fields, method }) =>
    [method.length, body.length > 0, trailers.length, fields.length].join("/")
  );
  return [outcome, detail, Math.min(requests.length, 4), ...shapes].join(" ");
}
