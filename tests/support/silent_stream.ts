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
    // However long the connections take to be made, none of them may end before all are there.
    limits: { watch: 200, head: 600_000, strangersOfAddress: 1_000 },
  });
  const { port } = server.address;
  const before = connect("before");
  await before.line("hello");
  // Two processes with descriptors of their own, which close them when they end. They begin when they
  // are told to: until then their start may need descriptors of ours.
  const dial = `for i in $(seq ${CONNECTIONS / 2}); do exec {fd}<>/dev/tcp/127.0.0.1/${port}; done`;
  // Deno panics where it has no descriptor for its handling of signals, which it begins at need.
  Deno.addSignalListener("SIGUSR2", () => {});
  const dialler = new Deno.Command("bash", {
    args: ["-c", `read; for i in 1 2; do (${dial}; sleep 1) & done; wait`],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const ended = dialler.status;
  const stdin = dialler.stdin.getWriter();
  await stdin.write(new TextEncoder().encode("\n"));
  await stdin.close();
  await ended;
  await eventually("an open port", () => reopened > 0);
  const { pings } = before;
  const after = connect("after");
  await after.line("hello");
  await before.until("pings", () => before.pings > pings);
  console.log("silent and open again");
  Deno.exit(0);
}
