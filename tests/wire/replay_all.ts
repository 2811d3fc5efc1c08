/**
 * Makes tests of a folder of transcripts. In: the folder. Out: a test a file, a step a heading: each
 * case is replayed whole, and again cut at every byte (over 2 KiB: at 64 seeded points), and comes
 * to the same each time.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { differences, Lane, type Outcome, sameOutcome, type Split, WHOLE } from "./replay.ts";
import { type Case, type Heading, readTranscript } from "./transcript.ts";

/** Replays at the same time; more make the two cores no busier. */
const LANES = 24;
/** Longer messages are cut at this many points. */
const LONG = 2 * 1024;
const POINTS = 64;

/**
 * Registers the tests of all transcripts in `folder`, or of those whose name `isWanted`: files of
 * tests run beside each other, and the tests of one file do not.
 */
export function testTranscripts(
  folder: URL,
  isWanted: (name: string) => boolean = () => true,
): void {
  const files = [...Deno.readDirSync(folder)].filter(({ isFile, name }) =>
    isFile && name.endsWith(".md") && isWanted(name)
  ).map(({ name }) => name).sort();
  assert.ok(files.length > 0, "no transcript");
  for (const file of files) {
    Deno.test(`wire: ${file.slice(0, -3).replaceAll("_", " ")}`, async (t) => {
      await replayTranscript(t, await Deno.readTextFile(new URL(file, folder)));
    });
  }
}

/** Replays a transcript as steps of `t`, each case cut wherever `splits` says. */
export async function replayTranscript(
  t: Deno.TestContext,
  markdown: string,
  splits: (test: Case) => Split[] = splitsOf,
): Promise<void> {
  const { headings } = await readTranscript(markdown);
  const lanes = new Lanes();
  try {
    for (const heading of headings) {
      await t.step(heading.name, () => replayHeading(heading, splits, lanes));
    }
  } finally {
    await lanes.close();
  }
}

/** Replays all cases of a heading. Fails with every difference of the first splits that differ. */
async function replayHeading(
  { cases }: Heading,
  splits: (test: Case) => Split[],
  lanes: Lanes,
): Promise<void> {
  const found: string[] = [];
  const wholes = await Promise.all(cases.map(async (test) => {
    const outcome = await lanes.replay(test, WHOLE);
    const different = differences(test, outcome);
    if (different.length > 0) found.push([`${test.name || "whole"}:`, ...different].join("\n"));
    return outcome;
  }));
  // A case that fails as a whole says nothing new in pieces.
  assert.equal(found.length, 0, `\n${found.join("\n\n")}\n`);
  const replays: Promise<void>[] = [];
  for (const [index, test] of cases.entries()) {
    for (const split of splits(test)) {
      replays.push(
        lanes.replay(test, split).then((outcome) => {
          if (found.length < 5) found.push(...judge(test, split, outcome, wholes[index]));
        }),
      );
    }
  }
  await Promise.all(replays);
  assert.equal(found.length, 0, `\n${found.join("\n\n")}\n`);
}

function judge(test: Case, split: Split, outcome: Outcome, whole: Outcome): string[] {
  const different = differences(test, outcome);
  if (different.length === 0 && !sameOutcome(test, outcome, whole)) {
    different.push("the outcome is another than that of the whole");
  }
  if (different.length === 0) return [];
  const where = split.client > 0 ? `client's byte ${split.client}` : `reply's byte ${split.reply}`;
  return [[`${test.name} split at the ${where}:`, ...different].join("\n")];
}

function splitsOf(test: Case): Split[] {
  const steps = test.replies?.[0] ?? [];
  const reply = steps.reduce((sum, step) => sum + lengthOf(step), 0);
  const client = test.client.reduce((sum, step) => sum + lengthOf(step), 0);
  // A case that tells of the backend alone has a client that all the others cut already.
  return [
    ...points(test.isPlainClient ? 0 : client).map((at) => ({ client: at, reply: 0 })),
    ...points(reply).map((at) => ({ client: 0, reply: at })),
  ];
}

function lengthOf(step: string | { readonly bytes: string }): number {
  return typeof step === "string" ? 0 : step.bytes.length;
}

/** Where to cut so many bytes: everywhere, or at seeded points. */
function points(length: number): number[] {
  if (length <= LONG) {
    return Array.from({ length: Math.max(0, length - 1) }, (_, index) => index + 1);
  }
  const random = new Random(length);
  return Array.from({ length: POINTS }, () => random.between(1, length - 1));
}

/** Lanes by their settings, each with one replay at a time. */
class Lanes {
  readonly #idle = new Map<string, Lane[]>();
  readonly #all: Lane[] = [];
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  async replay(test: Case, split: Split): Promise<Outcome> {
    if (this.#busy === LANES) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#busy++;
    const lane = this.#idle.get(test.settings)?.pop() ?? this.#open(test.settings);
    try {
      return await lane.replay(test, split);
    } finally {
      this.#idle.get(test.settings)!.push(lane);
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy--;
      else next();
    }
  }

  async close(): Promise<void> {
    for (const lane of this.#all) await lane.close();
  }

  #open(settings: string): Lane {
    const lane = new Lane(settings);
    this.#all.push(lane);
    if (!this.#idle.has(settings)) this.#idle.set(settings, []);
    return lane;
  }
}
