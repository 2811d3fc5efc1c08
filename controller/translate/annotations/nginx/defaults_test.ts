import assert from "node:assert/strict";
import { withDefaults } from "./defaults.ts";

Deno.test("without annotations, the policy is that of ingress-nginx's defaults", () => {
  assert.deepEqual(withDefaults({}), {
    timeouts: {
      connect: 5_000,
      send: 60_000,
      responseHead: 60_000,
      responseBody: 60_000,
      tunnelIdle: 60_000,
    },
    tries: 3,
    retry: { on: ["error", "timeout"] },
    bodyLimit: 1_048_576,
  });
});

Deno.test("an annotation replaces one default, and leaves the others", () => {
  const policy = withDefaults({
    timeouts: { connect: 1_000 },
    retry: { on: [] },
    bodyLimit: 0,
    accessLog: false,
  });
  assert.deepEqual(policy, {
    ...withDefaults({}),
    timeouts: { ...withDefaults({}).timeouts, connect: 1_000 },
    retry: { on: [] },
    bodyLimit: 0,
    accessLog: false,
  });
});
