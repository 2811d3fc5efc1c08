import { deepEqual, equal } from "node:assert/strict";
import { countPassed, countTests, findFailures, hasSkipped, readJunit } from "./test_output.ts";

const PARALLEL = `./a_test.ts => good ... ok (13ms)
------- output -------
./b_test.ts => printed by a test ... FAILED (1ms)
----- output end -----
./a_test.ts => bad ... a step ... FAILED (1ms)
./a_test.ts => bad ... FAILED (due to 1 failed step) (2ms)
./a_test.ts => with a step ... inner ... ok (1ms)
./a_test.ts => with a step ... ok (1ms)
Uncaught error from ./b_test.ts FAILED
./b_test.ts => unfinished ... cancelled (0ms)

 FAILURES 

bad ... a step => ./a_test.ts:2:47
./b_test.ts (uncaught error)

FAILED | 2 passed (1 step) | 3 failed (1 step) | 1 ignored (241ms)
`;

const IN_SERIES = `running 2 tests from ./a_test.ts
good ...
------- output -------
good ... FAILED (1ms)
----- output end -----
good ... ok (1ms)
bad ...
  a step ... FAILED (1ms)
bad ... FAILED (due to 1 failed step) (3ms)
running 1 test from ./b_test.ts
Uncaught error from ./b_test.ts FAILED
unfinished ... cancelled (0ms)

FAILED | 1 passed | 3 failed (1 step) (181ms)
`;

const FAILURES = [
  { file: "./a_test.ts", tests: ["bad"], uncaught: false },
  { file: "./b_test.ts", tests: ["unfinished"], uncaught: true },
];

Deno.test("failed tests are found by file, in both output formats of deno test", () => {
  deepEqual(findFailures(PARALLEL), FAILURES);
  deepEqual(findFailures(IN_SERIES), FAILURES);
});

Deno.test("lines that do not add up to the summary are not used", () => {
  equal(findFailures(PARALLEL.replace("3 failed", "4 failed")), null);
  deepEqual(findFailures("a crash without a summary, ... FAILED (1ms)"), []);
});

Deno.test("all summaries of an output are added, and similar lines are not", () => {
  deepEqual(countTests(PARALLEL + IN_SERIES), { passed: 3, failed: 6 });
  deepEqual(countTests("ok | 12 passed (3 steps) | 0 failed (1m2s)\n"), { passed: 12, failed: 0 });
  deepEqual(countTests("it said ok | 12 passed | 0 failed (1s)\n"), { passed: 0, failed: 0 });
});

Deno.test("passed tests are counted among the given names", () => {
  const names = ["good", "with a step", "bad", "unfinished", "absent"];
  equal(countPassed(PARALLEL, "./a_test.ts", names), 2);
  equal(countPassed(IN_SERIES, "./a_test.ts", names), 1);
  equal(countPassed(PARALLEL, "./b_test.ts", names), 0);
});

Deno.test("skipped parts and ignored tests are reported", () => {
  equal(hasSkipped("skipped: nginx is not there\n"), true);
  equal(hasSkipped(PARALLEL), true);
  equal(hasSkipped(IN_SERIES), false);
});

Deno.test("a JUnit report gives top-level tests with their exact names", () => {
  const xml = `<testsuite name="./a_test.ts">
    <testcase name="two &amp; &quot;quoted&quot;" classname="./a_test.ts" time="0.001">
    </testcase>
    <testcase name="bad" time="0.001">
      <failure message="1 test step failed">1 test step failed.</failure>
    </testcase>
    <testcase name="unfinished" time="0.000">
      <error message="Cancelled"/>
    </testcase>
    <testcase name="left out" time="0.000">
      <skipped/>
    </testcase>
    <testcase name="bad &gt; a step" time="0.001">
      <failure message="no">no</failure>
    </testcase>
  </testsuite>`;
  deepEqual(readJunit(xml), { passed: ['two & "quoted"'], failed: ["bad", "unfinished"] });
});
