/**
 * Outcomes of cases, in a folder that lasts longer than one run. In: the folder, and what is tested. Out: which
 * cases have an outcome; the suite adds a line of JSON for each.
 */
import { join } from "node:path";

export interface Outcome {
  /** Name of the case. */
  readonly case: string;
  readonly result: "failed" | "passed" | "skipped";
  readonly seconds: number;
}

/** What outcomes are about: those of something else must not be mixed with them. */
export interface Subject {
  /** As `git describe --always --dirty` has it. */
  readonly commit: string;
  /** Of the suite's module. */
  readonly suite: string;
  readonly channel: string;
}

/** A folder whose outcomes are about one subject. */
export class OutcomeFolder {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws where the folder has outcomes of another subject. */
  static async open(folder: string, subject: Subject): Promise<OutcomeFolder> {
    await Deno.mkdir(folder, { recursive: true });
    const file = join(folder, "subject.json");
    const known = await textOf(file);
    const text = JSON.stringify(subject);
    if (known !== null && known !== text) {
      throw new Error(
        `${folder} has outcomes of ${known}, not of ${text}. Remove the folder, or name another one ` +
          "by --state.",
      );
    }
    await Deno.writeTextFile(file, text);
    return new OutcomeFolder(folder);
  }

  /** A line of JSON for each case. */
  get file(): string {
    return join(this.#folder, "outcomes.jsonl");
  }

  /** What the suite has printed in its last run. */
  get log(): string {
    return join(this.#folder, "suite.log");
  }

  async outcomes(): Promise<Outcome[]> {
    return parseOutcomes(await textOf(this.file) ?? "");
  }

  /** Lets failed cases run again. */
  async forgetFailed(): Promise<void> {
    const left = (await this.outcomes()).filter(({ result }) => result !== "failed");
    await Deno.writeTextFile(this.file, left.map((one) => `${JSON.stringify(one)}\n`).join(""));
  }
}

/** A last line that was cut off counts as none: its case runs again. */
export function parseOutcomes(text: string): Outcome[] {
  return text.split("\n").slice(0, -1).map((line): Outcome => JSON.parse(line));
}

async function textOf(file: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
