import assert from "node:assert/strict";
import { isIPv4 } from "node:net";
import { endpointsOf } from "./endpoints.ts";

const BACKEND = { hostname: "127.0.0.1", port: 8080 };

Deno.test("a single endpoint is the backend itself", () => {
  assert.deepEqual(endpointsOf({ backend: BACKEND, endpoints: 1 }), [BACKEND]);
});

Deno.test("each of a thousand endpoints has its own address, all with the backend's port", () => {
  const endpoints = endpointsOf({ backend: BACKEND, endpoints: 1000 });
  assert.deepEqual(endpoints[0], BACKEND);
  assert.equal(new Set(endpoints.map(({ hostname }) => hostname)).size, 1000);
  for (const { hostname, port } of endpoints) {
    assert.ok(isIPv4(hostname) && /^127\.0\.\d+\.(?!0$|255$)\d+$/.test(hostname), hostname);
    assert.equal(port, BACKEND.port);
  }
});
