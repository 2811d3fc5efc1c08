/**
 * Another HTTP/1.1 parser, in a process of its own. In: clients' streams. Out: what it makes of each.
 *
 * A peer reads frames on standard input (32-bit little-endian length, bytes) and answers each with a
 * line of JSON: a `ParsedStream` whose strings have one character a byte.
 */
import { BUILD_FLAGS } from "../peers/go_program.ts";
import type { ParsedStream } from "./parsed.ts";

const HERE = new URL("peers/", import.meta.url).pathname;
/** Where packages for peers go; git ignores it. */
const CACHE = new URL("../../.cache/fuzz/", import.meta.url).pathname;

export type PeerName = "llhttp" | "h11" | "go";

/** What reads streams beside us. */
export interface PeerParser {
  readonly name: PeerName;
  /** What it makes of each stream. One call at a time. */
  parse(streams: readonly Uint8Array[]): Promise<ParsedStream[]>;
}

export interface PeerKind {
  readonly name: PeerName;
  /** What it is made with, by `PROGRAM ARGUMENTS`; it says its version. */
  readonly version: readonly [string, ...string[]];
  /** The Debian packages that have the program. */
  readonly packages: string;
  /** Makes what is lacking. Throws with what the program says. */
  readonly prepare?: () => Promise<void>;
  readonly command: readonly [string, ...string[]];
  /** Of `command`, beside what this process has. */
  readonly env?: Readonly<Record<string, string>>;
}

export const PEER_KINDS: readonly PeerKind[] = [
  {
    name: "llhttp",
    version: ["node", "--version"],
    packages: "nodejs",
    command: ["node", "--no-deprecation", `${HERE}llhttp_peer.mjs`],
  },
  {
    name: "h11",
    version: ["python3", "-m", "pip", "--version"],
    packages: "python3-pip",
    prepare: installH11,
    command: ["python3", `${HERE}h11_peer.py`, `${CACHE}h11`],
  },
  {
    name: "go",
    version: ["go", "version"],
    packages: "golang-go",
    command: ["go", "run", ...BUILD_FLAGS, `${HERE}go_peer/main.go`],
    env: { CGO_ENABLED: "0" },
  },
];

async function installH11(): Promise<void> {
  await run([
    ...["python3", "-m", "pip", "install", "--quiet", "--upgrade", "--disable-pip-version-check"],
    ...["--require-hashes", "--target", `${CACHE}h11`, "--requirement", `${HERE}requirements.txt`],
  ]);
}

/** The first line that a peer's program says of its version; null where it is missing. */
export async function versionOf(kind: PeerKind): Promise<string | null> {
  try {
    return (await run(kind.version)).split("\n")[0];
  } catch {
    return null;
  }
}

async function run(command: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command[0], {
    args: command.slice(1),
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${command.join(" ")}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout).trim();
}

export class Peer implements PeerParser {
  readonly name: PeerName;
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #lines: AsyncGenerator<string>;

  private constructor(kind: PeerKind) {
    this.name = kind.name;
    this.#process = new Deno.Command(kind.command[0], {
      args: kind.command.slice(1),
      env: kind.env,
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = this.#process.stdin.getWriter();
    this.#lines = linesOf(this.#process.stdout);
  }

  static async start(kind: PeerKind): Promise<Peer> {
    await kind.prepare?.();
    return new Peer(kind);
  }

  async parse(streams: readonly Uint8Array[]): Promise<ParsedStream[]> {
    // Without waiting: a peer that answers while it is sent to must be read.
    const sent = this.#input.write(framesOf(streams));
    const results: ParsedStream[] = [];
    while (results.length < streams.length) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`${this.name} ended in the middle of its work`);
      results.push(JSON.parse(value));
    }
    await sent;
    return results;
  }

  async stop(): Promise<void> {
    await this.#input.close();
    await this.#lines.next();
    await this.#process.status;
  }
}

function framesOf(streams: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const frames = new Uint8Array(streams.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(frames.buffer);
  let at = 0;
  for (const stream of streams) {
    view.setUint32(at, stream.length, true);
    frames.set(stream, at + 4);
    at += 4 + stream.length;
  }
  return frames;
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
