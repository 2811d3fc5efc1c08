import { deepEqual, equal } from "node:assert/strict";
import { falseCondition } from "../../translate/gateway/objects/condition.ts";
import { listenerSetChange } from "./listener_set_status.ts";

const NOW = Date.UTC(2026, 0, 1);
const WANTED = {
  generation: 3,
  conditions: ["Accepted", "Programmed"].map((type) =>
    falseCondition(type, "NotAllowed", "ListenerSets are not supported.")
  ),
};
/** As the API server fills in a new object. */
const NEW = ["Accepted", "Programmed"].map((type) => ({
  ...{ type, status: "Unknown", reason: "Pending", message: "Waiting for controller" },
  lastTransitionTime: "1970-01-01T00:00:00Z",
}));

Deno.test("a ListenerSet is refused for its generation, and conditions of others are kept", () => {
  const foreign = { ...NEW[0], type: "example.com/Seen" };
  const change = listenerSetChange({ conditions: [NEW[0], foreign, NEW[1]] }, WANTED, NOW);
  const refused = (type: string) => ({
    ...{ type, status: "False", reason: "NotAllowed", message: "ListenerSets are not supported." },
    observedGeneration: 3,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });
  const conditions = [refused("Accepted"), foreign, refused("Programmed")];
  deepEqual(change?.fields, { conditions });
  equal(listenerSetChange({ conditions, listeners: [] }, WANTED, NOW + 60_000), null);
});
