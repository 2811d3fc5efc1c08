/**
 * Builds and fetches what these tests take from elsewhere, ahead of them. In: nothing. Out: a line
 * for each; exit code 1 where one is missing.
 *
 *     deno run -A tests/peers/build.ts
 */
import { goProgramOf } from "../../bench/go_programs.ts";
import {
  ACTIONLINT,
  findOwn,
  findProgram,
  findPublished,
  GRPC_CLIENT,
  GRPC_SERVER,
  GRPCURL,
  H2SPEC,
} from "./go_program.ts";
import { findStories, MISSING } from "./hpack_stories.ts";
import { findNodePackage, GRPC_JS } from "./npm_package.ts";

/** What is there, or why it is not. */
type Finding = readonly [name: string, missing: string | null];

async function* findings(): AsyncGenerator<Finding> {
  for (const program of [H2SPEC, GRPC_CLIENT, GRPC_SERVER, GRPCURL, ACTIONLINT]) {
    const found = await findPublished(program);
    yield [program.name, "missing" in found ? found.missing : null];
  }
  for (const name of ["origin", "http_client", "hpack", "grpc_server"]) {
    const found = await findOwn(name);
    yield [name, "missing" in found ? found.missing : null];
  }
  for (const name of ["backend", "event_load", "websocket_load"] as const) {
    const found = await findProgram(goProgramOf(name));
    yield [`the benchmark's ${name}`, "missing" in found ? found.missing : null];
  }
  yield ["HPACK's test cases", await findStories() === null ? MISSING : null];
  yield [GRPC_JS, await findNodePackage("grpc-js", GRPC_JS) === null ? "not installed" : null];
}

let isWhole = true;
for await (const [name, missing] of findings()) {
  console.log(missing === null ? name : `missing: ${missing}`);
  isWhole &&= missing === null;
}
if (!isWhole) Deno.exit(1);
