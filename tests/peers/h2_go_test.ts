/**
 * Go's HTTP/2 through the proxy, as a client and as a backend. In: programs of Go's net/http. Out:
 * bodies of any size, trailers, interim answers, streams both ways and cancelled requests pass in
 * each combination of versions.
 */
import assert from "node:assert/strict";
import { runChecks } from "./checks.ts";
import { NAME, startFront } from "./front.ts";
import { findPrograms } from "./go_program.ts";
import { Origin, WAYS, withAuthority } from "./origin.ts";

/** As many as the client has. */
const CHECKS = 19;

Deno.test("Go's client gets complete responses, whatever the backend speaks", async (t) => {
  const found = await findPrograms("Go's client", ["origin", "http_client"]);
  if (found === null) return;
  const [server, client] = found;
  await using origin = await Origin.start(server);
  for (const { port, protocol, arrives } of WAYS) {
    await using front = await startFront({ protocol, ports: [origin.ports[port]] });
    const way = `${arrives} on ${port}`;

    await t.step(`h2c to ${way}`, async () => {
      const checked = await runChecks([client, "-url", `http://127.0.0.1:${front.port}`]);
      assert.deepEqual(checked, { count: CHECKS, failed: [] });
    });

    await t.step(`TLS to ${way}`, async () => {
      const checked = await withAuthority((ca) => {
        const url = `https://127.0.0.1:${front.securePort}`;
        return runChecks([client, "-url", url, "-ca", ca, "-name", NAME]);
      });
      assert.deepEqual(checked, { count: CHECKS, failed: [] });
    });
  }
});

Deno.test("a connection that the proxy closes after 50 requests fails none of Go's client", async (t) => {
  const found = await findPrograms(t.name, ["origin", "http_client"]);
  if (found === null) return;
  const [server, client] = found;
  await using origin = await Origin.start(server);
  await using front = await startFront(
    { protocol: "h2c", ports: [origin.ports.h2c] },
    { requestsPerConnection: 50 },
  );
  const only = ["-only", "a thousand requests, a hundred at a time"];
  const checked = await runChecks([client, "-url", `http://127.0.0.1:${front.port}`, ...only]);
  assert.deepEqual(checked, { count: 1, failed: [] });
});
