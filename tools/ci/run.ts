/**
 * A whole run of CI. In: its steps, and the time that it may take. Out: the numbers of tests that
 * passed and failed, and the names of what failed, or failed first and passed when it was run once
 * more, alone, at the end.
 */
import { shellLine } from "../command.ts";
import { type CommandResult, CommandRun, print } from "./command_run.ts";
import type { Step } from "./step_list.ts";
import { countPassed, countTests, findFailures, hasSkipped, readJunit } from "./test_output.ts";
import type { FileFailures } from "./test_output.ts";

export interface RunOptions {
  /** Multiplies the time that each step, and the whole, may take. */
  readonly patience: number;
  /** The longest that the whole may take, in minutes, before `patience`. */
  readonly minutes: number;
  /** What of it was used up before, in seconds. */
  readonly spent: number;
  /** A part that is skipped counts as failed. */
  readonly strict: boolean;
}

export interface RunResult {
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly string[];
  readonly flaky: readonly string[];
}

/** With less than this left of the whole, nothing more is started. */
const LEAST_LEFT_S = 1;

interface Outcome {
  readonly step: Step;
  result: CommandResult | null;
  passed: number;
  failed: number;
  skipped: boolean;
  /** Said at the end, beside the step's name. */
  note: string;
}

export class Run {
  #options: RunOptions;
  #start = performance.now();
  #outcomes: Outcome[] = [];
  #flaky: string[] = [];

  constructor(options: RunOptions) {
    this.#options = options;
  }

  async run(steps: readonly Step[]): Promise<RunResult> {
    await this.#firstRuns(steps);
    for (const outcome of this.#outcomes) {
      // What was never run found the time used up.
      if (outcome.failed > 0 && outcome.result !== null) await this.#rerun(outcome, outcome.result);
    }
    return this.#report();
  }

  /** Every step, in order, whatever the others did. */
  async #firstRuns(steps: readonly Step[]): Promise<void> {
    const begun = new Map<string, { show: () => void; end: Promise<void> }>();
    const wait = async (name: string) => {
      const other = begun.get(name);
      other?.show();
      await other?.end;
    };
    for (const step of steps) {
      const outcome: Outcome = {
        step,
        result: null,
        passed: 0,
        failed: 1,
        skipped: false,
        note: "not run: no time was left",
      };
      this.#outcomes.push(outcome);
      if (!step.beside) {
        for (const other of step.after) await wait(other);
        await this.#firstRun(outcome, (run) => run.show());
        continue;
      }
      let run: CommandRun | null = null;
      let isShown = false;
      const show = () => {
        if (!isShown) print(heading(step.name, step.command));
        isShown = true;
        run?.show();
      };
      const earlier = step.after.map((other) => begun.get(other)?.end);
      const end = Promise.all(earlier).then(() =>
        this.#firstRun(outcome, (started) => {
          run = started;
          if (isShown) run.show();
        })
      );
      begun.set(step.name, { show, end });
    }
    for (const name of begun.keys()) await wait(name);
  }

  async #firstRun(outcome: Outcome, started: (run: CommandRun) => void): Promise<void> {
    const { step } = outcome;
    if (!step.beside) print(heading(step.name, step.command));
    const seconds = this.#limit(step);
    if (seconds === null) return;
    const run = new CommandRun(step.command, seconds, step.ownSession);
    started(run);
    this.#judge(outcome, await run.result, seconds);
  }

  /** What a whole step says; an exit code that no test explains is one failure more. */
  #judge(outcome: Outcome, result: CommandResult, limit: number): void {
    const { passed, failed } = countTests(result.output);
    outcome.result = result;
    outcome.passed = passed;
    outcome.failed = failed;
    outcome.note = "";
    if (result.code !== 0 && failed === 0) outcome.failed = 1;
    if (result.code === 0 && passed + failed === 0) outcome.passed = 1;
    if (result.timedOut) {
      outcome.note = `took longer than ${limit.toFixed(1)} s`;
      print(`${outcome.step.name} ${outcome.note}\n`);
    }
    outcome.skipped = this.#options.strict && hasSkipped(result.output);
  }

  /** Once more, alone: the failed files where `deno test` named them, else the whole step. */
  async #rerun(outcome: Outcome, result: CommandResult): Promise<void> {
    const files = result.timedOut ? null : findFailures(result.output);
    if (files === null || files.length === 0) return await this.#rerunStep(outcome);
    for (const file of files) await this.#rerunFile(outcome, file, result.output);
  }

  async #rerunStep(outcome: Outcome): Promise<void> {
    const { step } = outcome;
    const seconds = this.#limit(step);
    if (seconds === null) return this.#giveUp(outcome, step.name);
    print(heading(`${step.name}, once more`, step.command));
    const run = new CommandRun(step.command, seconds, step.ownSession);
    run.show();
    this.#judge(outcome, await run.result, seconds);
    if (outcome.failed === 0) this.#flaky.push(step.name);
  }

  /** The second result of a file takes the place of its first. */
  async #rerunFile(
    outcome: Outcome,
    { file, tests, uncaught }: FileFailures,
    first: string,
  ): Promise<void> {
    const { step } = outcome;
    const seconds = this.#limit(step);
    if (seconds === null) return this.#giveUp(outcome, `${step.name}: ${file}`);
    const junit = await Deno.makeTempFile({ suffix: ".xml" });
    const command = shellLine("deno", [
      ..."test --allow-all --no-check".split(" "),
      `--junit-path=${junit}`,
      file,
    ]);
    print(heading(`${step.name}, once more`, command));
    const run = new CommandRun(command, seconds, step.ownSession);
    run.show();
    const result = await run.result;
    const counts = countTests(result.output);
    const names = readJunit(await Deno.readTextFile(junit));
    await Deno.remove(junit);
    if (result.timedOut || (result.code !== 0 && counts.failed === 0)) {
      print(`${step.name}: ${file} did not end by itself, its failures stay\n`);
      return;
    }
    const all = [...names.passed, ...names.failed];
    outcome.passed += counts.passed - countPassed(first, file, all);
    outcome.failed += counts.failed - tests.length - Number(uncaught);
    if (result.code !== 0 && uncaught) return;
    for (const name of tests.filter((name) => names.passed.includes(name))) {
      this.#flaky.push(`${step.name}: ${file}: ${name}`);
    }
    if (uncaught) this.#flaky.push(`${step.name}: ${file}: an error that no test caught`);
  }

  #giveUp(outcome: Outcome, name: string): void {
    const total = this.#options.minutes * this.#options.patience;
    outcome.note = `not run once more: the ${total} minutes of the whole are used up`;
    print(`${name}: ${outcome.note}\n`);
  }

  /** In seconds: what a step may take, at most what is left of the whole; null: nothing is. */
  #limit(step: Step): number | null {
    const { minutes, patience, spent } = this.#options;
    const elapsed = spent + (performance.now() - this.#start) / 1000;
    const left = minutes * patience * 60 - elapsed;
    return left < LEAST_LEFT_S ? null : Math.min(step.minutes * patience * 60, left);
  }

  #report(): RunResult {
    print("\ntime, in seconds:\n");
    for (const { step, result } of this.#outcomes) {
      print(`${String(Math.round(result?.seconds ?? 0)).padStart(6)}  ${step.name}\n`);
    }
    const failures = this.#outcomes.flatMap(({ step, failed, skipped, note }) => [
      ...(failed > 0 ? [note === "" ? step.name : `${step.name}: ${note}`] : []),
      ...(skipped ? [`${step.name}: nothing may be skipped where CI=true`] : []),
    ]);
    for (const { step, result, failed } of this.#outcomes) {
      if (failed > 0 && result !== null) print(excerpt(step.name, result.output));
    }
    const sum = (of: (outcome: Outcome) => number) =>
      this.#outcomes.reduce((total, outcome) => total + of(outcome), 0);
    return {
      passed: sum(({ passed }) => passed),
      failed: sum(({ failed, skipped }) => failed + Number(skipped)),
      failures,
      flaky: this.#flaky,
    };
  }
}

function heading(name: string, command: string): string {
  return `\n=== ${name}: ${command}\n`;
}

const SAYS_WHY =
  /^(?:failed|broken):|^error|^Error|^Uncaught error|Waited in vain|\.\.\. FAILED|NOT MET|BROKEN/;

/** The lines of a failed step that say why, and its last ones. */
function excerpt(name: string, output: string): string {
  const lines = output.trimEnd().split("\n").map((line) => line.slice(0, 300));
  const why = lines.filter((line) => SAYS_WHY.test(line)).slice(0, 8);
  return ["", `--- ${name}`, ...new Set([...why, ...lines.slice(-4)]), ""].join("\n");
}
