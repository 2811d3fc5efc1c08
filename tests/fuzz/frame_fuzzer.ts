/**
 * The connections of HTTP/2, both roles, on mutated streams of frames. In: a seed, a time or a number
 * of inputs. Out: the streams on which one throws, does not come to an end, writes what RFC 9113 does
 * not allow, or hands over what it must not.
 */
import { type CorpusEntry, type CorpusName, keep, readCorpus } from "./corpus.ts";
import { type Outcome, receiveFrames, serveFrames } from "./frame_connections.ts";
import { mutateFrames } from "./frame_mutation.ts";
import { backendScript, clientScript } from "./frame_scripts.ts";
import { minimiseFrames } from "./minimise_frames.ts";
import { Random } from "./random.ts";
import { HangError, soon } from "./soon.ts";

/** More would tell the same again. */
const MAX_FAILURES = 10;
/** Of a failure's text, in characters. */
const MAX_TEXT = 2_000;
/** Streams of our own making that join the corpus during a run. */
const MAX_POOL = 2048;
/** Streams without a mistake that a run begins with, for each role. */
const SCRIPTS = 32;

type Role = "client" | "backend";

const CORPORA: Readonly<Record<Role, CorpusName>> = {
  client: "http2_clients",
  backend: "http2_backends",
};

export interface FrameReport {
  readonly inputs: number;
  /** Exchanges that were served or answered, whatever became of them. */
  readonly exchanges: number;
  /** Different ends of connections, streams and exchanges. */
  readonly ends: number;
  /** Why, and the file of the corpus with the stream. */
  readonly failures: readonly string[];
  /** Files added to the corpus because they show what no other does. */
  readonly kept: number;
}

export class FrameFuzzer {
  readonly #random: Random;
  readonly #keep: boolean;
  readonly #keepsLast: boolean;
  readonly #pools: Readonly<Record<Role, Uint8Array[]>>;
  readonly #signatures = new Set<string>();
  readonly #traces = new Set<string>();
  readonly #failures: string[] = [];
  readonly #told = new Set<string>();
  #inputs = 0;
  #exchanges = 0;
  #kept = 0;

  /**
   * @param keepsNovel also adds to the corpus what comes to an end that no other stream comes to.
   * @param keepsLast leaves the stream in the corpus on which the process ends, as it does of a
   * rejection that nobody handles.
   */
  constructor(seed: number, keepsNovel: boolean, keepsLast = false) {
    this.#random = new Random(seed);
    this.#keep = keepsNovel;
    this.#keepsLast = keepsLast;
    const bytesOf = ({ bytes }: CorpusEntry) => bytes;
    this.#pools = {
      client: readCorpus(CORPORA.client).map(bytesOf),
      backend: readCorpus(CORPORA.backend).map(bytesOf),
    };
  }

  /** Until `deadline` (ms, `performance.now`) or after `inputs` streams, whichever comes first. */
  async run(deadline: number, inputs = Infinity): Promise<FrameReport> {
    const random = this.#random;
    const goesOn = () => performance.now() < deadline && this.#inputs < inputs;
    for (const role of ["client", "backend"] as const) {
      for (const stream of [...this.#pools[role]]) await this.check(role, stream, false);
      for (let i = 0; i < SCRIPTS && goesOn(); i++) {
        const stream = role === "client" ? clientScript(random) : backendScript(random);
        await this.check(role, stream, this.#keep);
      }
    }
    while (goesOn() && this.#failures.length < MAX_FAILURES) {
      const role = random.oneIn(3) ? "backend" : "client";
      const pool = this.#pools[role];
      await this.check(role, mutateFrames(random.pick(pool), random, pool), this.#keep);
    }
    return {
      inputs: this.#inputs,
      exchanges: this.#exchanges,
      ends: this.#traces.size,
      failures: this.#failures,
      kept: this.#kept,
    };
  }

  /** One stream, cut at random. Adds to what the report says, and to the pool where it is novel. */
  async check(role: Role, stream: Uint8Array, keepNovel: boolean): Promise<void> {
    this.#inputs++;
    const seed = this.#random.below(2 ** 32);
    const last = this.#keepsLast ? keep(CORPORA[role], "last", stream) : null;
    try {
      const outcome = await outcomeOf(role, stream, seed);
      this.#exchanges += outcome.events.length;
      const traces = tracesOf(role, outcome);
      const signature = [...traces].sort().join("; ");
      if (this.#signatures.has(signature)) return;
      this.#signatures.add(signature);
      const pool = this.#pools[role];
      if (pool.length < MAX_POOL && !pool.includes(stream)) pool.push(stream);
      for (const trace of traces) {
        if (this.#traces.has(trace)) continue;
        this.#traces.add(trace);
        if (keepNovel) await this.#keepNovel(role, stream, seed, trace);
      }
    } catch (error) {
      await this.#fail(role, stream, seed, error);
    } finally {
      if (last !== null) Deno.removeSync(last);
    }
  }

  async #keepNovel(role: Role, stream: Uint8Array, seed: number, trace: string): Promise<void> {
    const small = await minimiseFrames(stream, (streams) =>
      each(streams, async (candidate) => {
        return tracesOf(role, await outcomeOf(role, candidate, seed)).has(trace);
      }));
    keep(CORPORA[role], "found", small);
    this.#kept++;
  }

  async #fail(role: Role, stream: Uint8Array, seed: number, error: unknown): Promise<void> {
    const about = aboutOf(error);
    if (this.#told.has(about)) return;
    this.#told.add(about);
    // What hangs would hang again and again.
    const small = error instanceof HangError
      ? stream
      : await minimiseFrames(stream, (streams) =>
        each(streams, async (candidate) => {
          await outcomeOf(role, candidate, seed);
          return false;
        }, (other) => aboutOf(other) === about));
    const file = keep(CORPORA[role], "failure", small);
    const text = String(error instanceof Error ? error.stack : error);
    this.#failures.push(`${role}, seed ${seed}: ${text.slice(0, MAX_TEXT)}\n  ${file}`);
  }
}

/** The same stream and seed come to the same outcome. */
function outcomeOf(role: Role, stream: Uint8Array, seed: number): Promise<Outcome> {
  const random = new Random(seed);
  const often = random.pick([2, 20, 1000]);
  const cuts = Array.from(stream.keys()).filter(() => random.oneIn(often));
  const pace = random.oneIn(2) ? random : null;
  const run = role === "client" ? serveFrames : receiveFrames;
  return soon(() => run(stream, cuts, pace));
}

/** Whether each shows what is sought: by what `test` gives, or by what it throws. */
async function each(
  streams: readonly Uint8Array[],
  test: (stream: Uint8Array) => Promise<boolean>,
  isSought: (error: unknown) => boolean = () => false,
): Promise<boolean[]> {
  const shows: boolean[] = [];
  for (const stream of streams) {
    try {
      shows.push(await test(stream));
    } catch (error) {
      shows.push(isSought(error));
    }
    // The first is taken.
    if (shows.at(-1)) break;
  }
  return shows;
}

/** What a failure is about, whatever its numbers. */
function aboutOf(error: unknown): string {
  const text = String(error instanceof Error ? error.message : error);
  return text.slice(0, 100).replace(/\d+|"[^"]*"/g, "");
}

/** What a stream exercises, roughly: how the connection, its streams and its exchanges end. */
function tracesOf(role: Role, { events, written }: Outcome): ReadonlySet<string> {
  const { goaway, streams } = written;
  const traces = new Set<string>();
  if (goaway !== null) traces.add(`${role}: GOAWAY ${goaway.code} ${goaway.debug}`);
  for (const { heads, reset, ended } of streams.values()) {
    const statuses = heads.map(([first]) => /^:status$/.test(first?.[0] ?? "") ? first[1] : "head");
    traces.add(`${role}: ${statuses.join("+")} ${reset ?? ""}${ended ? "." : ""}`);
  }
  for (const event of events) {
    // Without the numbers, and without the request that it is about.
    traces.add(`${role}: ${event.replace(/^\[.*?\] /, "").replace(/\d\d+/g, "n")}`);
  }
  return traces;
}
