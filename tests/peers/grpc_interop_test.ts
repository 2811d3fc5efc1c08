/**
 * gRPC's own interoperability suite through the proxy. In: client and server of grpc-go. Out: every
 * case that needs no cloud passes, over TLS and with prior knowledge on either side.
 */
import assert from "node:assert/strict";
import { startFront } from "./front.ts";
import { findPrograms, GRPC_CLIENT, GRPC_SERVER } from "./go_program.ts";
import { CASES, InteropServer, runCase } from "./grpc_interop.ts";
import { withAuthority } from "./origin.ts";

Deno.test("gRPC's interoperability cases pass", async (t) => {
  const found = await findPrograms("gRPC's interoperability", [GRPC_CLIENT, GRPC_SERVER]);
  if (found === null) return;
  const [client, program] = found;
  await withAuthority(async (file) => {
    for (const behind of ["h2c", "h2"] as const) {
      await using server = await InteropServer.start(program, { tls: behind === "h2" });
      await using front = await startFront({ protocol: behind, ports: [server.port] });
      for (const way of ["prior knowledge", "TLS"]) {
        const [port, ca] = way === "TLS" ? [front.securePort, file] : [front.port, null];
        await t.step(`${way}, to ${behind}`, async (t) => {
          for (const name of CASES) {
            await t.step(name, async () => {
              assert.equal(await runCase(client, name, { port, ca }), "");
            });
          }
        });
      }
    }
  });
});
