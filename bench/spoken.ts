/**
 * A program of our own that says a few lines and ends with its standard input. In: its command line.
 * Out: each line when it is said.
 */
export class SpokenProgram {
  readonly #process: Deno.ChildProcess;
  readonly #complaint: Promise<string>;
  readonly #parts: AsyncIterator<string>;
  #text = "";

  /** Throws where it cannot be started. */
  constructor(
    [program, ...args]: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#process = new Deno.Command(program, {
      args,
      env: environment,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#complaint = new Response(this.#process.stderr).text();
    const text = this.#process.stdout.pipeThrough(new TextDecoderStream());
    this.#parts = text[Symbol.asyncIterator]();
  }

  /** The next line; throws with what it said otherwise where it ends before. */
  async line(): Promise<string> {
    while (!this.#text.includes("\n")) {
      const { value, done } = await this.#parts.next();
      if (done) throw new Error(`${this.#text}${await this.#complaint}`);
      this.#text += value;
    }
    const end = this.#text.indexOf("\n");
    const line = this.#text.slice(0, end);
    this.#text = this.#text.slice(end + 1);
    return line;
  }

  /** A byte on its standard input. */
  async nudge(): Promise<void> {
    const input = this.#process.stdin.getWriter();
    await input.write(Uint8Array.of(10));
    input.releaseLock();
  }

  /** Ends its standard input. */
  async hush(): Promise<void> {
    await this.#process.stdin.close();
  }

  /** Resolves when it is gone. */
  async gone(): Promise<void> {
    await this.#process.status;
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}
