import assert from "node:assert/strict";
import { createLogger } from "../../shared/log.ts";
import type { Problem } from "../../shared/problem.ts";
import { ProblemLog } from "./log.ts";

const PROBLEM: Problem = {
  object: { kind: "Ingress", namespace: "default", name: "web" },
  field: "spec.rules[0]",
  reason: "ServiceNotFound",
  message: "there is no Service shop",
  remedy: "create it",
  severity: "error",
};

const GONE = "Problem resolved";

function scene() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = new ProblemLog(createLogger({ level: "info", format: "json", write }));
  return {
    /** What is said then. */
    after(problems: readonly Problem[]) {
      lines.length = 0;
      log.update(problems);
      return [...lines];
    },
  };
}

Deno.test("a problem is logged when it appears and when it is resolved, and not in between", () => {
  const one = scene();
  const [came, ...more] = one.after([PROBLEM]);
  assert.deepEqual(more, []);
  assert.equal(came.level, "error");
  assert.equal(came.object, "Ingress default/web");
  assert.equal(came.problem, PROBLEM.message);
  assert.equal(came.remedy, PROBLEM.remedy);
  assert.deepEqual(one.after([{ ...PROBLEM }]), []);
  const [went] = one.after([]);
  assert.deepEqual([went.message, went.object, went.reason], [
    GONE,
    "Ingress default/web",
    "ServiceNotFound",
  ]);
  assert.deepEqual(one.after([]), []);
  assert.equal(one.after([PROBLEM]).length, 1);
});

Deno.test("a warning is logged as one, and a problem without an object has none", () => {
  const [line] = scene().after([{ ...PROBLEM, object: null, severity: "warning" }]);
  assert.deepEqual([line.level, line.object], ["warn", ""]);
});

Deno.test("a new message of the same problem is logged", () => {
  const one = scene();
  one.after([PROBLEM]);
  const lines = one.after([{ ...PROBLEM, message: "there is no Service store" }]);
  assert.deepEqual(lines.map(({ problem, message }) => problem ?? message), [
    "there is no Service store",
    GONE,
  ]);
});

Deno.test("thousands of problems are a hundred lines and a count of the rest", () => {
  const one = scene();
  const problems = Array.from({ length: 5000 }, (_, i) => ({ ...PROBLEM, message: `no ${i}` }));
  const came = one.after(problems);
  assert.equal(came.length, 101);
  assert.equal(came.at(-1)!.count, 4900);
  assert.equal(one.after([]).at(-1)!.count, 4900);
});
