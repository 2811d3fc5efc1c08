/**
 * Text on standard output or error. In: text. Out: all of it, in order, also where the output is a
 * pipe that takes nothing at the moment; where nobody reads it any more, the program ends.
 */

/** The part of `Deno.stdout` and `Deno.stderr` that is used here. */
export interface Stream {
  writeSync(bytes: Uint8Array): number;
  isTerminal(): boolean;
}

export interface OutputOptions {
  readonly stream: Stream;
  /** Whether the end of a line without its line break waits in Deno, as for standard output. */
  readonly isLineBuffered: boolean;
  /** Ends the program. */
  readonly exit: (code: number) => never;
  /** Says why, before the program ends; missing where there is nowhere to say it. */
  readonly complain?: (text: string) => void;
}

/** As shells report a program that a closed pipe has ended: 128 + SIGPIPE. */
export const CLOSED_PIPE = 141;

/** The output cannot be had, as on a full disk: `EXIT.unusable` of commands. */
const UNUSABLE = 2;

/** Up to here a pipe takes all of a write, or nothing: PIPE_BUF of Linux. */
const ATOMIC = 4096;

/** Bytes of an incomplete line that Deno keeps, and flushes: `LineWriter` of Rust's standard library. */
const LINE_BUFFER = 1024;

const NEWLINE = 0x0a;
const NOTHING = new Uint8Array();

/** Between two tries of a pipe that is full, in ms. */
const PAUSE = 5;

export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  write(text: string): void {
    let bytes = new TextEncoder().encode(text);
    while (bytes.length > 0) {
      const written = this.#writeChunk(bytes.subarray(0, chunkLength(bytes)));
      bytes = bytes.subarray(written);
    }
  }

  /**
   * Returns how much of it is written. A pipe that does not block (a terminal that another program has
   * made so) may be full: what was not taken then is written once there is room.
   */
  #writeChunk(chunk: Uint8Array): number {
    const { stream, isLineBuffered, exit, complain } = this.#options;
    const isKept = isLineBuffered && chunk.length < LINE_BUFFER && chunk.at(-1) !== NEWLINE;
    let next = chunk;
    for (;;) {
      try {
        const written = stream.writeSync(next);
        return next === chunk ? written : chunk.length;
      } catch (error) {
        if (error instanceof Deno.errors.BrokenPipe) exit(CLOSED_PIPE);
        if (!(error instanceof Deno.errors.WouldBlock)) {
          complain?.(`Cannot write the output: ${messageOf(error)}`);
          exit(UNUSABLE);
        }
        // Deno has what it keeps, and could not flush it; once more, and it would be there twice.
        if (isKept) next = NOTHING;
        pause();
      }
    }
  }
}

/** Whole lines as long as they are written as one; else as much as that. */
function chunkLength(bytes: Uint8Array): number {
  const most = bytes.subarray(0, ATOMIC);
  const newline = most.lastIndexOf(NEWLINE);
  return newline < 0 ? most.length : newline + 1;
}

/** The output of a command is its work: there is nothing else to do meanwhile. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
