/**
 * A stream's port that runs out of descriptors, in a process that has few. In: a limit of the system's
 * (`ulimit -n`). Out: a line on standard output when the port answers again and the stream that was
 * there before has gone on; throws otherwise.
 */
import { silentLogger } from "../../shared/log.ts";
import { eventually } from "../cluster/support/condition.ts";
import { startStream } from "./stream_server_scene.ts";

/** As many connections as there are not descriptors for. */
const CONNECTIONS = 200;

export async function silentProbe(): Promise<void> {
  let reopened = 0;
  const { server, connect } = await startStream({
    log: { ...silentLogger, warn: () => void reopened++ },
    limits: { watch: 200, head: 1000, strangersOfAddress: 1_000 },
  });
  const { port } = server.address;
  const before = connect("before");
  await before.line("hello");
  // Two processes with descriptors of their own, which close them when they end. They begin when all
  // of ours that their start needs are open.
  const dial = `for i in $(seq ${CONNECTIONS / 2}); do exec {fd}<>/dev/tcp/127.0.0.1/${port}; done`;
  await new Deno.Command("bash", {
    args: ["-c", `sleep 0.5; for i in 1 2; do (${dial}; sleep 1) & done; wait`],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn().status;
  await eventually("an open port", () => reopened > 0);
  const { pings } = before;
  const after = connect("after");
  await after.line("hello");
  await before.until("pings", () => before.pings > pings);
  console.log("silent and open again");
  Deno.exit(0);
}
