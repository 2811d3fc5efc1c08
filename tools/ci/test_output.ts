/**
 * What `deno test` printed. In: the output of a command, without colours. Out: how many tests
 * passed and failed, which failed in which file, and which were skipped. Pure.
 *
 * Two layouts are read: `--parallel` names the file on each line
 * (`./a_test.ts => NAME ... ok (1ms)`), the other one names it once, before its tests
 * (`running 3 tests from ./a_test.ts`).
 */

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
}

/** What failed in one file. */
export interface FileFailures {
  readonly file: string;
  /** Tests that failed, and tests that were cancelled by an error that no test caught. */
  readonly tests: readonly string[];
  /** An error outside of any test, which deno counts as one more failure. */
  readonly uncaught: boolean;
}

const SUMMARY = /^(?:ok|FAILED) \| (\d+) passed.* \| (\d+) failed.*\)$/;

/** The sum of all summaries: a command may run `deno test` more than once. */
export function countTests(output: string): TestCounts {
  let passed = 0;
  let failed = 0;
  for (const line of output.split("\n")) {
    const [, ok, bad] = SUMMARY.exec(line) ?? [];
    passed += Number(ok ?? 0);
    failed += Number(bad ?? 0);
  }
  return { passed, failed };
}

/** Whether a part says that it did not run: `skipped: …`, or tests that were ignored. */
export function hasSkipped(output: string): boolean {
  return /^skipped:/m.test(output) || /^(?:ok|FAILED) \| .*\| [1-9]\d* ignored/m.test(output);
}

/**
 * The files with failures, in the order of their first failure; null where what the lines say is
 * not what the summary counts, so that nobody relies on it.
 */
export function findFailures(output: string): FileFailures[] | null {
  const found = new Map<string, { tests: Set<string>; uncaught: boolean }>();
  const ofFile = (file: string) => {
    const known = found.get(file);
    if (known !== undefined) return known;
    const fresh = { tests: new Set<string>(), uncaught: false };
    found.set(file, fresh);
    return fresh;
  };
  for (const { file, name, verdict } of verdicts(output)) {
    if (verdict === "FAILED" || verdict === "cancelled") ofFile(file).tests.add(name);
  }
  for (const [, file] of output.matchAll(/^Uncaught error from (\S+) FAILED$/gm)) {
    ofFile(file).uncaught = true;
  }
  const files = [...found].map(([file, { tests, uncaught }]) => ({
    file,
    tests: [...tests].filter((name) => !isStep(name, tests)),
    uncaught,
  }));
  const count = files.reduce((sum, one) => sum + one.tests.length + Number(one.uncaught), 0);
  return count === countTests(output).failed ? files : null;
}

/** How many of the named tests of a file passed. */
export function countPassed(output: string, file: string, names: readonly string[]): number {
  const passed = new Set<string>();
  for (const one of verdicts(output)) {
    if (one.file === file && one.verdict === "ok") passed.add(one.name);
  }
  return names.filter((name) => passed.has(name)).length;
}

interface Verdict {
  readonly file: string;
  readonly name: string;
  readonly verdict: string;
}

const RUNNING = /^running \d+ tests? from (\S+)$/;
const IN_PARALLEL = /^(\.\/\S+) => (.+?) \.\.\. (ok|FAILED|cancelled)(?: \([^()]*\))+$/;
const IN_SERIES = /^(\S.*?) \.\.\. (ok|FAILED|cancelled)(?: \([^()]*\))+$/;

function* verdicts(output: string): Generator<Verdict> {
  let current: string | null = null;
  let isTestOutput = false;
  for (const line of output.split("\n")) {
    if (/^-+ output -+$/.test(line)) isTestOutput = true;
    // Deno ends what a test printed by this line, which may stand behind the name of the test.
    if (line.endsWith("----- output end -----")) isTestOutput = false;
    if (isTestOutput) continue;
    current = RUNNING.exec(line)?.[1] ?? current;
    const parallel = IN_PARALLEL.exec(line);
    if (parallel !== null) {
      yield { file: parallel[1], name: parallel[2], verdict: parallel[3] };
      continue;
    }
    const series = IN_SERIES.exec(line);
    if (series !== null && current !== null) {
      yield { file: current, name: series[1], verdict: series[2] };
    }
  }
}

/** `--parallel` prints a step as `TEST ... STEP`, beside the test's own line. */
function isStep(name: string, names: ReadonlySet<string>): boolean {
  for (let at = name.indexOf(" ... "); at >= 0; at = name.indexOf(" ... ", at + 1)) {
    if (names.has(name.slice(0, at))) return true;
  }
  return false;
}

/** The top-level tests of a JUnit report by `deno test --junit-path`; `failed` has cancelled ones. */
export function readJunit(xml: string): { passed: string[]; failed: string[] } {
  const passed: string[] = [];
  const failed: string[] = [];
  const cases = xml.matchAll(/<testcase name="([^"]*)"[^>]*>([\s\S]*?)<\/testcase>/g);
  const all = [...cases].map(([, name, body]) => ({ name: unescape(name), body }));
  const names = new Set(all.map(({ name }) => name));
  for (const { name, body } of all) {
    const isStep = [...name.matchAll(/ > /g)].some(({ index }) => names.has(name.slice(0, index)));
    if (isStep || body.includes("<skipped")) continue;
    (/<(?:failure|error)\b/.test(body) ? failed : passed).push(name);
  }
  return { passed, failed };
}

function unescape(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'").replaceAll("&amp;", "&");
}
