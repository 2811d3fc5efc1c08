/**
 * Go's HPACK (golang.org/x/net/http2/hpack) in a process of its own: `programs/hpack`. In: blocks to
 * decode and heads to encode, in order. Out: what it makes of each.
 */
import type { Field } from "../support/hpack_heads.ts";

export interface HpackQuestion {
  /** A block in hex to decode, or fields to encode. */
  readonly decode?: string;
  readonly encode?: readonly Field[];
  /** A new connection begins with it. */
  readonly fresh?: boolean;
  /** What the decoder's side announces before it; null or absent where nothing changes. */
  readonly limit?: number | null;
  /** Each so manieth field is never to be indexed; 0 or absent for none. */
  readonly sensitive?: number;
}

export interface HpackAnswer {
  readonly fields?: readonly Field[];
  readonly wire?: string;
  readonly error?: string;
}

export class HpackPeer {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #lines: AsyncGenerator<string>;

  private constructor(process: Deno.ChildProcess) {
    this.#process = process;
    this.#input = process.stdin.getWriter();
    this.#lines = linesOf(process.stdout);
  }

  /** Starts `program`, as `findOwn("hpack")` gives it. */
  static start(program: string): HpackPeer {
    return new HpackPeer(
      new Deno.Command(program, { stdin: "piped", stdout: "piped", stderr: "inherit" }).spawn(),
    );
  }

  /** Answers in the order of the questions. One call at a time. */
  async askAll(questions: readonly HpackQuestion[]): Promise<HpackAnswer[]> {
    const text = questions.map((question) => JSON.stringify(question) + "\n").join("");
    // Without waiting: a program that answers while it is asked must be read.
    const sent = this.#input.write(new TextEncoder().encode(text));
    const answers: HpackAnswer[] = [];
    while (answers.length < questions.length) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error("hpack ended in the middle of its work");
      answers.push(JSON.parse(value));
    }
    await sent;
    return answers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close();
    await this.#lines.next();
    await this.#process.status;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
