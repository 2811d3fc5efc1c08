/**
 * The server behind the proxy: `programs/origin`, by Go. In: nothing. Out: a port for each way of
 * speaking to it.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Protocol } from "./front.ts";
import { authority, BACKEND_NAME } from "./front.ts";
import { certificateFor } from "../support/tls_proxy.ts";

/**
 * What a port speaks: HTTP/1.1 or HTTP/2 with prior knowledge; over TLS both (`https`), HTTP/1.1
 * (`https1`) or HTTP/2 (`h2`) alone.
 */
export type OriginPort = "http" | "h2c" | "https" | "https1" | "h2";

/** How the proxy is told to speak to each of the ports, and what comes there. */
export const WAYS: readonly { port: OriginPort; protocol: Protocol; arrives: string }[] = [
  { port: "http", protocol: "http", arrives: "HTTP/1.1" },
  { port: "h2c", protocol: "h2c", arrives: "HTTP/2.0" },
  { port: "h2", protocol: "h2", arrives: "HTTP/2.0" },
  { port: "https", protocol: "https", arrives: "HTTP/2.0" },
  { port: "https1", protocol: "https", arrives: "HTTP/1.1" },
];

/** What the origin's `/what` tells of the request that came to it. */
export interface Received {
  readonly proto: string;
  readonly method: string;
  readonly target: string;
  readonly host: string;
  /** Bytes of body that came, and that were announced; -1 for none. */
  readonly length: number;
  readonly declared: number;
  /** SHA-256 of the body. */
  readonly sum: string;
  /** By name in lower case. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  readonly trailers: Readonly<Record<string, readonly string[]>>;
}

/** So many bytes of what the origin's `/bytes` sends. */
export function patternOf(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, i) => i % 251);
}

/** SHA-256 in hex, as `Received.sum`. */
export function sumOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export class Origin {
  readonly ports: Readonly<Record<OriginPort, number>>;
  readonly #process: Deno.ChildProcess;

  private constructor(process: Deno.ChildProcess, ports: Record<OriginPort, number>) {
    this.#process = process;
    this.ports = ports;
  }

  /** Starts `program`, as `findOwn("origin")` gives it. */
  static async start(program: string): Promise<Origin> {
    return await withCertificate(async (cert, key) => {
      const process = new Deno.Command(program, {
        args: ["-cert", cert, "-key", key],
        stdin: "piped",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      return new Origin(process, JSON.parse(await firstLine(process.stdout)));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It ends with its standard input.
    await this.#process.stdin.close();
    await this.#process.status;
  }
}

/** Writes a backend's certificate and key for as long as `use` runs. */
export async function withCertificate<Result>(
  use: (cert: string, key: string) => Promise<Result>,
): Promise<Result> {
  const { chain, key } = await certificateFor("backend", { names: [BACKEND_NAME, "127.0.0.1"] });
  return await withFiles(
    { "cert.pem": chain, "key.pem": key.reveal() },
    (folder) => use(join(folder, "cert.pem"), join(folder, "key.pem")),
  );
}

/** Writes the authority that clients trust, into a folder that is there as long as `use` runs. */
export async function withAuthority<Result>(
  use: (file: string, folder: string) => Promise<Result>,
): Promise<Result> {
  return await withFiles(
    { "ca.pem": authority.certificate },
    (folder) => use(join(folder, "ca.pem"), folder),
  );
}

/** Writes these files, by name, into a folder that is there as long as `use` runs. */
export async function withFiles<Result>(
  files: Readonly<Record<string, string | Uint8Array>>,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await Deno.makeTempDir({ prefix: "peers-" });
  try {
    for (const [name, content] of Object.entries(files)) {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      await Deno.writeFile(join(folder, name), bytes);
    }
    return await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What a program says first; it says no more, and the stream is given up. */
async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.includes("\n")) break;
  }
  return text;
}
