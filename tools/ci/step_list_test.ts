import { deepEqual, equal, ok } from "node:assert/strict";
import { parseSteps } from "./step_list.ts";

Deno.test("a step is a line with a command that may contain bars", () => {
  deepEqual(
    parseSteps(`
# a comment
build & | 25 | make all
the tests & in own session after build | 0.5 | run | tee log
check after the tests and build | 5 | true
`),
    [
      {
        name: "build",
        beside: true,
        after: [],
        ownSession: false,
        minutes: 25,
        command: "make all",
      },
      {
        name: "the tests",
        beside: true,
        after: ["build"],
        ownSession: true,
        minutes: 0.5,
        command: "run | tee log",
      },
      {
        name: "check",
        beside: false,
        after: ["the tests", "build"],
        ownSession: false,
        minutes: 5,
        command: "true",
      },
    ],
  );
});

const MISTAKES: Record<string, string> = {
  "check | true": "check | true: write NAME | MINUTES | COMMAND",
  "check | soon | true": "check | soon | true: the minutes must be a number above 0",
  "a | 1 | true\na | 1 | true": "a | 1 | true: two steps are named a",
  "a after b | 1 | true\nb | 1 | true": "a after b | 1 | true: no earlier step is named b",
};

for (const [text, error] of Object.entries(MISTAKES)) {
  Deno.test(`an invalid list is rejected: ${JSON.stringify(text)}`, () => {
    const steps = parseSteps(text);
    equal(Array.isArray(steps) ? "accepted" : steps.error, error);
  });
}

Deno.test("the list of .ci/run is readable, and runs the README's command word for word", () => {
  const script = Deno.readTextFileSync(new URL("../../.ci/run", import.meta.url));
  const steps = parseSteps(/<<'STEPS'\n([^]*)\nSTEPS\n/.exec(script)?.[1] ?? "");
  ok(Array.isArray(steps), JSON.stringify(steps));
  ok(steps.length > 10, `${steps.length} steps were found`);
  const { command = "" } = steps.find(({ name }) => name === "test") ?? {};
  const readme = Deno.readTextFileSync(new URL("../../README.md", import.meta.url));
  ok(command !== "" && readme.split(/\s{2,}|\n/).includes(command), command);
});
