/**
 * A stream's port that runs out of descriptors, in a process that has few. In: a limit of the system's
 * (`ulimit -n`). Out: a line on standard output when the port answers again and the stream that was
 * there before has gone on; throws otherwise.
 */
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { silentLogger } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import { ControllerMetrics } from "../../controller/metrics.ts";
import { StreamServer } from "../../controller/stream.ts";
import { eventually } from "../cluster/support/condition.ts";
import { StreamClient } from "./stream_client.ts";

/** As many connections as there are not descriptors for. */
const CONNECTIONS = 200;

export async function silentProbe(): Promise<void> {
  const authority = await CertificateAuthority.create("silent");
  const { chain, key } = await authority.issue({ names: ["localhost"] });
  let reopened = 0;
  const server = new StreamServer({
    address: { hostname: "127.0.0.1", port: 0 },
    certificates: {
      current: {
        certPem: chain,
        keyPem: new Redacted(key.reveal()),
        authority: "",
        validTo: Infinity,
      },
      onChange: () => {},
    },
    reviews: {
      review: (token) =>
        Promise.resolve({
          kind: "good",
          identity: { pod: token.reveal(), podUid: null, node: null },
          expiresAt: Infinity,
        }),
      stop: () => {},
    },
    zoneOf: () => Promise.resolve(null),
    name: "controller",
    metrics: new ControllerMetrics(),
    log: { ...silentLogger, warn: () => void reopened++ },
    onClaim: () => {},
    onNews: () => {},
    limits: { watch: 200, head: 1000 },
  });
  await server.start();
  const { port } = server.address;
  const caPem = authority.certificate;
  const before = new StreamClient({ port, caPem, token: "before" });
  await before.line("hello");
  // Two processes with descriptors of their own, which close them when they end. They begin when all
  // of ours that their start needs are open.
  const connect = `for i in $(seq ${
    CONNECTIONS / 2
  }); do exec {fd}<>/dev/tcp/127.0.0.1/${port}; done`;
  await new Deno.Command("bash", {
    args: ["-c", `sleep 0.5; for i in 1 2; do (${connect}; sleep 1) & done; wait`],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn().status;
  await eventually("an open port", () => reopened > 0);
  const { pings } = before;
  const after = new StreamClient({ port, caPem, token: "after" });
  await after.line("hello");
  await before.until("pings", () => before.pings > pings);
  console.log("silent and open again");
  Deno.exit(0);
}
