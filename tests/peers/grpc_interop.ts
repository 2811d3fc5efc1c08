/**
 * gRPC's own interoperability suite, by grpc-go. In: its server's certificate, or none; a case and a
 * port. Out: a server to stand behind the proxy, and what the client says of a case.
 */
import { once } from "node:events";
import { connect } from "node:tls";
import { run } from "./debian_program.ts";
import { NAME } from "./front.ts";
import { withCertificate } from "./origin.ts";

/** Every case of the client that needs no cloud, but for one that grpc-go's own server fails. */
export const CASES = [
  "empty_unary",
  "large_unary",
  "client_streaming",
  "server_streaming",
  "ping_pong",
  "empty_stream",
  "timeout_on_sleeping_server",
  "cancel_after_begin",
  "cancel_after_first_response",
  "status_code_and_message",
  "special_status_message",
  "custom_metadata",
  "unimplemented_method",
  "unimplemented_service",
  "orca_per_rpc",
  "orca_oob",
  "rpc_soak",
  "channel_soak",
] as const;

/** How often a soak calls: `channel_soak` on a new connection each time. How long it takes is free. */
const SOAK = [
  ...["-soak_iterations=200", "-soak_num_threads=4", "-soak_overall_timeout_seconds=40"],
  "-soak_per_iteration_max_acceptable_latency_ms=30000",
];
/** What the client needs to look at load reports. */
const ORCA = [
  "-service_config_json",
  '{"loadBalancingConfig":[{"test_backend_metrics_load_balancer":{}}]}',
];

/** Runs one case against 127.0.0.1; "" where it has passed, else what the client says. */
export async function runCase(
  program: string,
  name: (typeof CASES)[number],
  { port, ca }: { readonly port: number; readonly ca: string | null },
): Promise<string> {
  const { code, stdout, stderr } = await run(program, [
    ...["-server_host=127.0.0.1", `-server_port=${port}`, `-test_case=${name}`],
    ...(ca === null
      ? []
      : ["-use_tls", "-use_test_ca", `-ca_file=${ca}`, `-server_host_override=${NAME}`]),
    ...(name.endsWith("_soak") ? SOAK : []),
    ...(name.startsWith("orca_") ? ORCA : []),
  ]);
  return code === 0 ? "" : `${name} ended with ${code}: ${stdout}${stderr}`.slice(-2_000);
}

/** The suite's server. */
export class InteropServer {
  readonly port: number;
  readonly #process: Deno.ChildProcess;
  readonly #reading: Promise<void>;

  private constructor(process: Deno.ChildProcess, port: number, reading: Promise<void>) {
    this.#process = process;
    this.#reading = reading;
    this.port = port;
  }

  /** Starts it with HTTP/2 over TLS, or with prior knowledge. */
  static async start(program: string, { tls }: { readonly tls: boolean }): Promise<InteropServer> {
    return await withCertificate(async (cert, key) => {
      const process = new Deno.Command(program, {
        args: [
          "-port=0",
          ...(tls ? ["-use_tls", `-tls_cert_file=${cert}`, `-tls_key_file=${key}`] : []),
        ],
        // It tells its port in its log alone.
        env: { GRPC_GO_LOG_SEVERITY_LEVEL: "info" },
        stdin: "null",
        stdout: "null",
        stderr: "piped",
      }).spawn();
      const [head, rest] = process.stderr.tee();
      const reading = rest.pipeTo(new WritableStream()).catch(() => {});
      const port = await announcedPort(head);
      // It announces its port first, and reads its certificate then.
      if (tls) await shakesHands(port);
      return new InteropServer(process, port, reading);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    await this.#reading;
  }
}

/** Settles once a handshake on `port` is done; rejects where it fails. */
async function shakesHands(port: number): Promise<void> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect");
  } finally {
    socket.destroy();
  }
}

async function announcedPort(log: ReadableStream<Uint8Array>): Promise<number> {
  let text = "";
  for await (const part of log.pipeThrough(new TextDecoderStream())) {
    text += part;
    const port = /listening on \S*:(\d+)\n/.exec(text)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error(`gRPC's server does not listen: ${text}`);
}
