import { deepEqual, equal } from "node:assert/strict";
import type { KubeObject } from "../controller/kube/types.ts";
import { lastErrorLine, PodTroubles, troubleLine } from "./pod_troubles.ts";

const pod = (name: string, containers: readonly object[], ready = false): KubeObject => ({
  kind: "Pod",
  metadata: { name },
  ...{
    status: {
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses: containers,
    },
  },
});

const running = { name: "main", ready: false, restartCount: 0, state: { running: {} } };

const crashed = {
  name: "main",
  ready: false,
  restartCount: 1,
  state: { waiting: { reason: "CrashLoopBackOff" } },
  lastState: { terminated: { exitCode: 1, message: "error: no such flag\nsee --help\n" } },
};

const linesOf = (pods: readonly KubeObject[], troubles: PodTroubles, now: number) =>
  troubles.look(pods, now).map((trouble) => troubleLine(trouble, trouble.lastWords));

Deno.test("a container that is not ready for 30 s is shown, and not before", () => {
  const troubles = new PodTroubles();
  const pods = [pod("a", [running]), pod("b", [{ ...running, ready: true }], true)];
  deepEqual(linesOf(pods, troubles, 1_000), []);
  deepEqual(linesOf(pods, troubles, 30_999), []);
  deepEqual(linesOf(pods, troubles, 31_000), [
    "  pod a, container main: running, not ready; no log",
  ]);
  deepEqual(linesOf([pod("a", [running], true)], troubles, 40_000), []);
  deepEqual(linesOf(pods, troubles, 41_000), [], "ready in between");
});

Deno.test("a container that has restarted once is shown at once, with its last log lines", () => {
  deepEqual(linesOf([pod("a", [crashed])], new PodTroubles(), 0), [
    "  pod a, container main: waiting: CrashLoopBackOff, 1 restart; last error: error: no such flag",
  ]);
  const ended = { ...crashed, state: { terminated: { reason: "OOMKilled", exitCode: 137 } } };
  deepEqual(linesOf([pod("a", [{ ...ended, lastState: {} }])], new PodTroubles(), 0), [
    "  pod a, container main: terminated: OOMKilled, exit code 137, 1 restart; no log",
  ]);
});

Deno.test("a terminating pod is not shown", () => {
  const ending = pod("a", [crashed]);
  const { metadata } = ending;
  deepEqual(
    new PodTroubles().look([{
      ...ending,
      metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    }], 0),
    [],
  );
});

Deno.test("the last error of a log is shown before later lines", () => {
  const table: [log: string, line: string][] = [
    ["", ""],
    ["a\nb\n\n", "b"],
    ['{"level":"ERROR","message":"x"}\n{"level":"INFO"}', '{"level":"ERROR","message":"x"}'],
    ["first error\nsecond Error: x\nend", "second Error: x"],
  ];
  for (const [log, line] of table) equal(lastErrorLine(log), line);
});
