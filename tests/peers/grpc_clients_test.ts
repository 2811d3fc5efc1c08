/**
 * gRPC as applications and people call it. In: grpc-js of Node, and grpcurl, which asks for a
 * server's services first. Out: every kind of call, spread by request over the endpoints, and our own
 * failures as gRPC knows them.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runChecks } from "./checks.ts";
import { run } from "./debian_program.ts";
import { type Front, NAME, startFront } from "./front.ts";
import { findPrograms, GRPCURL } from "./go_program.ts";
import { GrpcServer } from "./grpc_server.ts";
import { findNodePackage, GRPC_JS } from "./npm_package.ts";
import { withAuthority } from "./origin.ts";

const CLIENT = join(import.meta.dirname!, "programs", "grpc_client.mjs");
/** As many as the client has. */
const CHECKS = 10;

Deno.test("grpc-js makes every kind of call, and both servers get their share", async (t) => {
  const folder = await findNodePackage(t.name, GRPC_JS);
  const found = await findPrograms(t.name, ["grpc_server"]);
  if (folder === null || found === null) return;
  for (const behind of ["h2c", "h2"] as const) {
    const tls = behind === "h2";
    await using one = await GrpcServer.start(found[0], "one", { tls });
    await using two = await GrpcServer.start(found[0], "two", { tls });
    await using front = await startFront({ protocol: behind, ports: [one.port, two.port] });

    await t.step(`prior knowledge, to ${behind}`, async () => {
      const checked = await runChecks(["node", CLIENT, folder, `127.0.0.1:${front.port}`]);
      assert.deepEqual(checked, { count: CHECKS, failed: [] });
    });

    await t.step(`TLS, to ${behind}`, async () => {
      const checked = await withAuthority((ca) =>
        runChecks(["node", CLIENT, folder, `127.0.0.1:${front.securePort}`, ca, NAME])
      );
      assert.deepEqual(checked, { count: CHECKS, failed: [] });
    });
  }
});

Deno.test("grpcurl lists services by reflection, describes and calls them", async (t) => {
  const found = await findPrograms(t.name, [GRPCURL, "grpc_server"]);
  if (found === null) return;
  const [grpcurl, program] = found;
  await using server = await GrpcServer.start(program, "one", { tls: false });
  await using front = await startFront({ protocol: "h2c", ports: [server.port] });
  await eachWay(front, async (way, options, address) => {
    const ask = async (before: string[], ...after: string[]) => {
      const { code, stdout, stderr } = await run(grpcurl, [
        ...options,
        ...before,
        address,
        ...after,
      ]);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    await t.step(way, async () => {
      assert.deepEqual((await ask([], "list")).trim().split("\n"), [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "grpc.testing.TestService",
      ]);
      assert.match(
        await ask([], "describe", "grpc.testing.TestService.UnaryCall"),
        /^rpc UnaryCall \( \.grpc\.testing\.SimpleRequest \)/m,
      );
      const health = await ask([], "grpc.health.v1.Health/Check");
      assert.deepEqual(JSON.parse(health), { status: "SERVING" });
      const request = '{"responseParameters":[{"size":3},{"size":5}]}';
      const sizes = await ask(["-d", request], "grpc.testing.TestService/StreamingOutputCall");
      assert.equal(sizes.match(/"body"/g)?.length, 2, sizes);
    });
  });
});

Deno.test("grpc-go gets local replies as gRPC statuses", async (t) => {
  const found = await findPrograms(t.name, [GRPCURL, "grpc_server"]);
  if (found === null) return;
  const [grpcurl, program] = found;
  await using server = await GrpcServer.start(program, "one", { tls: false });
  await using slow = await startFront(
    { protocol: "h2c", ports: [server.port] },
    { responseHeadTimeout: 300 },
  );
  const late = '{"responseParameters":[{"size":1,"intervalUs":60000000}]}';
  await eachWay(slow, async (way, options, address) => {
    await t.step(`${way}: a server that does not respond in time`, async () => {
      const method = "grpc.testing.TestService/StreamingOutputCall";
      const { code, stderr } = await run(grpcurl, [...options, "-d", late, address, method]);
      // It ends with 64 and the status.
      assert.equal(code, 64 + 4, stderr);
      assert.match(stderr, /Code: DeadlineExceeded/);
    });
  });
  await using empty = await startFront({ protocol: "h2c", ports: [] });
  await eachWay(empty, async (way, options, address) => {
    await t.step(`${way}: no endpoint`, async () => {
      const { code, stderr } = await run(grpcurl, [...options, address, "list"]);
      assert.equal(code, 1);
      assert.match(stderr, /code = Unavailable/);
    });
  });
});

/** With prior knowledge and over TLS: what to call it, grpcurl's options and the address. */
async function eachWay(
  { port, securePort }: Front,
  use: (way: string, options: readonly string[], address: string) => Promise<void>,
): Promise<void> {
  await use("prior knowledge", ["-plaintext"], `127.0.0.1:${port}`);
  await withAuthority(async (ca) => {
    const options = ["-cacert", ca, "-servername", NAME, "-authority", NAME];
    await use("TLS", options, `127.0.0.1:${securePort}`);
  });
}
