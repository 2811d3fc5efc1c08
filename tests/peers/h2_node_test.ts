/**
 * Node's HTTP/2 through the proxy. In: a client of node:http2, run by Node. Out: settings, pings,
 * streams, trailers and cancelled requests pass on one connection, whatever the backend speaks.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runChecks } from "./checks.ts";
import { isInstalled } from "./debian_program.ts";
import { NAME, startFront } from "./front.ts";
import { findPrograms } from "./go_program.ts";
import { Origin, WAYS, withAuthority } from "./origin.ts";

const CLIENT = join(import.meta.dirname!, "programs", "node_client.mjs");
/** As many as the client has. */
const CHECKS = 14;

Deno.test("Node's client gets complete responses, whatever the backend speaks", async (t) => {
  if (!await isInstalled(t.name, "node", "nodejs")) return;
  const found = await findPrograms(t.name, ["origin"]);
  if (found === null) return;
  await using origin = await Origin.start(found[0]);
  for (const { port, protocol, arrives } of WAYS) {
    await using front = await startFront({ protocol, ports: [origin.ports[port]] });
    const way = `${arrives} on ${port}`;

    await t.step(`prior knowledge to ${way}`, async () => {
      const checked = await runChecks(["node", CLIENT, `http://127.0.0.1:${front.port}`]);
      assert.deepEqual(checked, { count: CHECKS, failed: [] });
    });

    await t.step(`TLS to ${way}`, async () => {
      const checked = await withAuthority((ca) =>
        runChecks(["node", CLIENT, `https://127.0.0.1:${front.securePort}`, ca, NAME])
      );
      assert.deepEqual(checked, { count: CHECKS, failed: [] });
    });
  }
});
