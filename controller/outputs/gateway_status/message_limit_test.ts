import { equal, ok } from "node:assert/strict";
import { falseCondition } from "../../translate/gateway/objects/condition.ts";
import { routeChange } from "./route_status.ts";
import { shortened } from "../../base/json.ts";
import { messageLimit } from "./message_limit.ts";

const of = (...lengths: number[]) => [
  lengths.map((length) => falseCondition("Accepted", "Invalid", "x".repeat(length))),
];

/** Lengths of all messages, and how long each may be. */
const LIMITS: readonly (readonly [what: string, lengths: readonly number[], limit: number])[] = [
  ["a status without messages", [], 32_768],
  ["messages that fit together", [16_384, 16_384], 32_768],
  ["one message that is longer than the API takes", [40_000], 32_768],
  ["long messages alike", [20_000, 30_000], 16_384],
  ["the long ones what short ones leave", [768, 0, 40_000, 40_000], 16_000],
  ["96 long messages", Array<number>(96).fill(30_000), 341],
];

for (const [what, lengths, limit] of LIMITS) {
  Deno.test(`a status shows of ${what} ${limit} characters at most`, () => {
    equal(messageLimit(of(...lengths)), limit);
  });
}

Deno.test("a message that is too long ends with an ellipsis", () => {
  equal(shortened("spec.rules[0] is wrong", 14), "spec.rules[0]…");
  equal(shortened("spec.rules[0]", 13), "spec.rules[0]");
});

Deno.test("a route of 32 parents, for each of which much is wrong, has a status of 80 KiB at most", () => {
  const name = "n".repeat(253);
  const conditions = ["Accepted", "PartiallyInvalid", "ResolvedRefs"].map((type) =>
    falseCondition(type, "UnsupportedValue", "x".repeat(30_000))
  );
  const parents = Array.from({ length: 32 }, (_, index) => ({
    ...{ index, conditions },
    parentRef: {
      ...{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "s".repeat(63) },
      ...{ name, sectionName: `${index}${name}`.slice(0, 253) },
    },
  }));
  const change = routeChange(undefined, { generation: 1, parents }, "apps", 0);
  const bytes = new TextEncoder().encode(JSON.stringify(change!.fields)).length;
  ok(bytes < 80 << 10, `${bytes} bytes`);
});
