import { deepEqual, equal } from "node:assert/strict";
import { falseCondition, trueCondition } from "../../translate/gateway/objects/condition.ts";
import { mergeConditions } from "./conditions.ts";

const THEN = "2026-01-01T00:00:00Z";
const NOW = Date.parse("2026-02-02T00:00:00.900Z");

const stood = (type: string, status: string, fields = {}) => ({
  ...{ type, status, reason: type, message: "", observedGeneration: 1, lastTransitionTime: THEN },
  ...fields,
});

const merge = (standing: unknown, ...wanted: ReturnType<typeof trueCondition>[]) =>
  mergeConditions(standing, { wanted, generation: 2, now: NOW });

Deno.test("a new condition has the time of now, in seconds", () => {
  deepEqual(merge(undefined, trueCondition("Accepted")), [
    stood("Accepted", "True", {
      observedGeneration: 2,
      lastTransitionTime: "2026-02-02T00:00:00Z",
    }),
  ]);
});

Deno.test("the time of a condition changes with its status, and with nothing else", () => {
  const standing = [stood("Accepted", "True"), stood("ResolvedRefs", "True")];
  deepEqual(
    merge(
      standing,
      trueCondition("Accepted", "ListenersNotValid", "some"),
      falseCondition("ResolvedRefs", "BackendNotFound", "none"),
    ),
    [
      stood("Accepted", "True", {
        observedGeneration: 2,
        reason: "ListenersNotValid",
        message: "some",
      }),
      stood("ResolvedRefs", "False", {
        observedGeneration: 2,
        reason: "BackendNotFound",
        message: "none",
        lastTransitionTime: "2026-02-02T00:00:00Z",
      }),
    ],
  );
});

Deno.test("conditions keep their order, and types of others stay as they are", () => {
  const foreign = { type: "example.com/Checked", status: "True", extra: [1] };
  const merged = merge(
    [stood("ResolvedRefs", "True"), foreign, stood("Accepted", "True")],
    ...["Accepted", "Programmed", "ResolvedRefs"].map((type) => trueCondition(type)),
  );
  deepEqual(merged.map((condition) => (condition as { type: string }).type), [
    ...["ResolvedRefs", "example.com/Checked", "Accepted", "Programmed"],
  ]);
  equal(merged[1], foreign);
});

Deno.test("a type that is not wanted stays, unless it is an optional one of ours", () => {
  const standing = [stood("Programmed", "True"), stood("PartiallyInvalid", "True")];
  deepEqual(
    mergeConditions(standing, {
      wanted: [],
      generation: 2,
      optional: new Set(["PartiallyInvalid"]),
      now: NOW,
    }),
    [stood("Programmed", "True")],
  );
});

Deno.test("a condition without a usable time gets one", () => {
  for (const lastTransitionTime of [undefined, "", 7]) {
    const [merged] = merge(
      [stood("Accepted", "True", { lastTransitionTime })],
      trueCondition("Accepted"),
    );
    equal((merged as { lastTransitionTime: string }).lastTransitionTime, "2026-02-02T00:00:00Z");
  }
});

Deno.test("a message is as long as the API takes", () => {
  const [merged] = merge([], falseCondition("Accepted", "Invalid", "x".repeat(40_000)));
  equal((merged as { message: string }).message.length, 32_768);
});

Deno.test("a list of another shape counts as empty", () => {
  for (const standing of [null, "conditions", { type: "Accepted" }]) {
    equal(merge(standing, trueCondition("Accepted")).length, 1);
  }
});
