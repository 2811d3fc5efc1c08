/**
 * The parsers' own invariants. In: a seed, a time or a number of inputs. Out: the inputs at which a
 * parser throws what is no ProxyError, does not come to an end, or makes something else of a stream
 * when it arrives in pieces.
 */
import { receive, serve } from "./connections.ts";
import { type CorpusEntry, readCorpus } from "./corpus.ts";
import { textOf } from "../support/latin1.ts";
import { mutate } from "./mutation.ts";
import { Random } from "./random.ts";
import { parseStream } from "./request_stream.ts";
import { soon } from "./soon.ts";

/** More would tell the same again. */
const MAX_FAILURES = 10;

/** Methods whose answers are framed differently. */
const METHODS = ["GET", "HEAD"];

export interface SplitReport {
  readonly inputs: number;
  /** Why, and the stream. */
  readonly failures: readonly string[];
}

export class SplitFuzzer {
  readonly #random: Random;
  readonly #requests: readonly Uint8Array[];
  readonly #responses: readonly Uint8Array[];
  readonly #failures: string[] = [];
  #inputs = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    const bytesOf = ({ bytes }: CorpusEntry) => bytes;
    this.#requests = readCorpus("requests").map(bytesOf);
    this.#responses = readCorpus("responses").map(bytesOf);
  }

  /** Until `deadline` (ms, `performance.now`) or after `inputs` inputs, whichever comes first. */
  async run(deadline: number, inputs = Infinity): Promise<SplitReport> {
    const random = this.#random;
    while (
      performance.now() < deadline && this.#inputs < inputs && this.#failures.length < MAX_FAILURES
    ) {
      const streams = random.oneIn(3) ? this.#responses : this.#requests;
      const stream = mutate(random.pick(streams), random, streams);
      await this.check(stream, streams === this.#responses ? "response" : "request");
    }
    return { inputs: this.#inputs, failures: this.#failures };
  }

  /** One stream: whole, cut at every byte, and cut at random. Adds to what the report says. */
  async check(stream: Uint8Array, kind: "request" | "response"): Promise<void> {
    this.#inputs++;
    const everywhere = Array.from(stream, (_, index) => index + 1);
    const anywhere = everywhere.filter(() => this.#random.oneIn(8));
    try {
      const whole = await soon(() => outcomeOf(stream, kind, []));
      for (
        const [name, cuts] of [["at every byte", everywhere], ["at random", anywhere]] as const
      ) {
        const split = await soon(() => outcomeOf(stream, kind, cuts));
        if (split === whole) continue;
        const places = name === "at random" ? ` (${cuts})` : "";
        this.#fail(`cut ${name}${places} it becomes\n${split}\ninstead of\n${whole}`, kind, stream);
        break;
      }
    } catch (error) {
      this.#fail(`${error instanceof Error ? error.stack : error}`, kind, stream);
    }
  }

  #fail(why: string, kind: string, stream: Uint8Array): void {
    this.#failures.push(`${kind} ${JSON.stringify(textOf(stream))}: ${why}`);
  }
}

async function outcomeOf(
  stream: Uint8Array,
  kind: "request" | "response",
  cuts: readonly number[],
): Promise<string> {
  if (kind === "response") {
    const outcomes: string[] = [];
    for (const method of METHODS) outcomes.push(await receive(stream, method, cuts));
    return outcomes.join("\n");
  }
  const events = await serve(stream, cuts);
  const { requests, outcome, detail } = await parseStream(stream, cuts);
  const served = events.filter((event) => event.startsWith("[") && !event.includes("breaks off"));
  if (served.length !== requests.length) {
    throw new Error(
      `serves ${served.length} requests, of which the fuzzer sees ${requests.length}`,
    );
  }
  const parsed = requests.map(({ method, canonicalTarget, body, end, trailers }) =>
    JSON.stringify([method, canonicalTarget, body, end, trailers])
  );
  return [...events, ...parsed, outcome, detail].join("\n");
}
