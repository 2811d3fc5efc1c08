/** The lines of `deno task dev --tap`. */
import assert from "node:assert/strict";
import { formatEntry, tapOutput } from "./tap.ts";

const BASE = {
  time: "2030-01-01T10:20:30.400Z",
  method: "GET",
  host: "app.test",
  path: "/api",
  durationMs: 3.21,
};
const TIME = new Date(BASE.time).toTimeString().slice(0, 8);

for (
  const [name, entry, expected] of [
    [
      "a response of a backend",
      { ...BASE, status: 200, route: "r", upstream: "default/api:80", endpoint: "127.0.0.1:3000" },
      "200 3.2 ms → default/api:80 (127.0.0.1:3000)",
    ],
    [
      "a host without a route",
      { ...BASE, status: 404, error: "no_route" },
      "404 3.2 ms no_route: No route for this host and path",
    ],
    [
      "a route that cannot be served",
      { ...BASE, status: 503, route: "closed", error: "no_endpoint" },
      "503 3.2 ms no_endpoint: the Service is gone",
    ],
    [
      "a backend that cannot be reached",
      {
        ...BASE,
        status: 502,
        route: "r",
        upstream: "default/api:80",
        endpoint: "127.0.0.1:3000",
        error: "connect_failed",
      },
      "502 3.2 ms → default/api:80 (127.0.0.1:3000) connect_failed: The backend cannot be reached",
    ],
    ["a redirect to HTTPS", { ...BASE, status: 308 }, "308 3.2 ms redirect of Pingress"],
    [
      "a client that left",
      { ...BASE, error: "client_gone", durationMs: 1200.4 },
      "client closed 1200 ms client_gone: The client went away",
    ],
  ] as const
) {
  Deno.test(`tap: ${name}`, () => {
    const reasonOf = (route: string) => route === "closed" ? "the Service is gone" : null;
    assert.equal(formatEntry(entry, reasonOf), `${TIME} GET app.test/api ${expected}`);
  });
}

Deno.test("tap writes a line for each of a batch, and says how many were dropped", async () => {
  const lines: string[] = [];
  const output = tapOutput({
    request: (entry) => lines.push(formatEntry(entry, () => null)),
    dropped: (message, count) => lines.push(`${message}: ${count}`),
  });
  const entry = JSON.stringify({ ...BASE, log: "access", status: 200 });
  const dropped = JSON.stringify({ time: BASE.time, message: "log lines dropped", count: 3 });
  output.writeBatch(new TextEncoder().encode(`${entry}\n${dropped}\n${entry}\n`), 3);
  await output.flush();
  const line = `${TIME} GET app.test/api 200 3.2 ms response of Pingress`;
  assert.deepEqual(lines, [line, "log lines dropped: 3", line]);
});
