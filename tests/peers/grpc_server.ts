/**
 * A gRPC server that says which one it is: `programs/grpc_server`, by grpc-go. In: its name, and
 * whether it speaks TLS. Out: its port.
 */
import { withCertificate } from "./origin.ts";

export class GrpcServer {
  readonly port: number;
  readonly #process: Deno.ChildProcess;

  private constructor(process: Deno.ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  /** Starts `program`, as `findOwn("grpc_server")` gives it. */
  static async start(
    program: string,
    name: string,
    { tls }: { readonly tls: boolean },
  ): Promise<GrpcServer> {
    return await withCertificate(async (cert, key) => {
      const process = new Deno.Command(program, {
        args: ["-name", name, ...(tls ? ["-cert", cert, "-key", key] : [])],
        stdin: "piped",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      return new GrpcServer(process, await firstNumber(process.stdout));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It ends with its standard input.
    await this.#process.stdin.close();
    await this.#process.status;
  }
}

async function firstNumber(stream: ReadableStream<Uint8Array>): Promise<number> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.includes("\n")) break;
  }
  return Number(text);
}
