import assert from "node:assert/strict";
import { readLabelSelector } from "./label_selector.ts";

const LABELS = { team: "shop", stage: "prod" };

Deno.test("a label selector selects what meets all of its requirements", () => {
  const cases: readonly [selector: unknown, isSelected: boolean][] = [
    [{}, true],
    [{ matchLabels: { team: "shop" } }, true],
    [{ matchLabels: { team: "web" } }, false],
    [{ matchLabels: { constructor: "x" } }, false],
    [{ matchLabels: { team: "shop", stage: "test" } }, false],
    [{ matchExpressions: [{ key: "team", operator: "In", values: ["web", "shop"] }] }, true],
    [{ matchExpressions: [{ key: "other", operator: "In", values: ["web"] }] }, false],
    [{ matchExpressions: [{ key: "team", operator: "NotIn", values: ["shop"] }] }, false],
    // As in Kubernetes, also where the label is missing.
    [{ matchExpressions: [{ key: "other", operator: "NotIn", values: ["shop"] }] }, true],
    [{ matchExpressions: [{ key: "team", operator: "Exists" }] }, true],
    [{ matchExpressions: [{ key: "toString", operator: "Exists" }] }, false],
    [{ matchExpressions: [{ key: "team", operator: "DoesNotExist" }] }, false],
    [{ matchExpressions: [{ key: "other", operator: "DoesNotExist" }] }, true],
    [
      { matchLabels: { team: "shop" }, matchExpressions: [{ key: "x", operator: "Exists" }] },
      false,
    ],
  ];
  for (const [selector, isSelected] of cases) {
    assert.equal(readLabelSelector(selector)?.(LABELS), isSelected, JSON.stringify(selector));
  }
});

Deno.test("a label selector that cannot be read selects nothing", () => {
  const cases = [
    ...[null, undefined, 7, "team=shop", [], { matchLabels: 7 }, { matchLabels: { team: 7 } }],
    ...[{ matchExpressions: 7 }, { matchExpressions: [7] }],
    { matchExpressions: [{ key: "team", operator: "Near" }] },
    { matchExpressions: [{ operator: "Exists" }] },
  ];
  for (const selector of cases) {
    assert.equal(readLabelSelector(selector), null, JSON.stringify(selector));
  }
});

Deno.test("a label selector looks at its values and at labels once, for any number of routes", () => {
  let reads = 0;
  const values = new Proxy(Array.from({ length: 1000 }, (_, i) => `value-${i}`), {
    get(target, property, receiver) {
      reads++;
      return Reflect.get(target, property, receiver);
    },
  });
  const selects = readLabelSelector({
    matchExpressions: [
      { key: "team", operator: "NotIn", values },
      { key: "stage", operator: "In", values: ["prod"] },
    ],
  });
  const ofReading = reads;
  let looks = 0;
  const labels = new Proxy(LABELS, {
    get(target, property, receiver) {
      looks++;
      return Reflect.get(target, property, receiver);
    },
  });
  const answers = Array.from({ length: 100 }, () => selects?.(labels));
  assert.deepEqual(new Set(answers), new Set([true]));
  assert.equal(reads, ofReading);
  assert.equal(looks, 2);
});
