/**
 * What commands write to. In: text, and values for JSON. Out: standard output and error, with the width
 * and the colours that they take; progress of what takes long. A closed pipe ends the program.
 */
import { type Style, styleOf, takesColours } from "./style.ts";

export interface Terminal {
  /** Of standard output. */
  readonly style: Style;
  /** Of standard error. */
  readonly errorStyle: Style;
  /** Characters a line; Infinity where the output is no terminal, so that nothing is cut or wrapped there. */
  readonly columns: number;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** To standard output, as it is. */
  write(text: string): void;
  /** One line or more to standard error. */
  error(text: string): void;
  /** `{"v":1,…}` with a line break to standard output. */
  json(value: Readonly<Record<string, unknown>>): void;
  /**
   * Says on standard error what goes on, when it takes over a second. On a terminal the line changes with
   * each call and goes away at the end; else each step is one line.
   */
  progress(step: string): Progress;
}

export interface Progress {
  step(text: string): void;
  end(): void;
}

/** Before the first word of progress, in ms: what is quicker needs none. */
const SILENT = 1000;
/** Between frames of the spinner, in ms. */
const FRAME = 120;
const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/** As shells report a program that a closed pipe has ended: 128 + SIGPIPE. */
export const CLOSED_PIPE = 141;

export interface Stream {
  writeSync(bytes: Uint8Array): number;
  isTerminal(): boolean;
}

export interface TerminalOptions {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly environment: (name: string) => string | undefined;
  /** Characters a line of the terminal. */
  readonly columns: () => number;
  /** Ends the program. */
  readonly exit: (code: number) => never;
}

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdout, stderr, environment } = options;
  const isTerminal = stdout.isTerminal();
  const isErrorTerminal = stderr.isTerminal();
  const toStdout = (text: string) => writeAll(stdout, text, options.exit);
  const toStderr = (text: string) => writeAll(stderr, text, options.exit);
  return {
    style: styleOf(takesColours(isTerminal, environment)),
    errorStyle: styleOf(takesColours(isErrorTerminal, environment)),
    get columns() {
      return isTerminal ? options.columns() : Infinity;
    },
    isTerminal,
    write: toStdout,
    error: (text) => toStderr(`${text}\n`),
    json: (value) => toStdout(`${JSON.stringify({ v: 1, ...value }, null, 2)}\n`),
    progress: (step) => startProgress(step, isErrorTerminal, toStderr),
  };
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return createTerminal({
    stdout: Deno.stdout,
    stderr: Deno.stderr,
    environment: (name) => Deno.env.get(name),
    columns: () => Deno.consoleSize().columns,
    exit: (code) => Deno.exit(code),
  });
}

function writeAll(stream: Stream, text: string, exit: (code: number) => never): void {
  let bytes = new TextEncoder().encode(text);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(stream.writeSync(bytes));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) exit(CLOSED_PIPE);
    throw error;
  }
}

function startProgress(
  first: string,
  isTerminal: boolean,
  write: (text: string) => void,
): Progress {
  let current = first;
  let isShown = false;
  let frame = 0;
  const show = () => {
    isShown = true;
    if (isTerminal) write(`\r\x1b[2K${FRAMES[frame++ % FRAMES.length]} ${current}`);
    else write(`${current}\n`);
  };
  let frames: ReturnType<typeof setInterval> | undefined;
  const start = setTimeout(() => {
    show();
    if (isTerminal) frames = setInterval(show, FRAME);
  }, SILENT);
  return {
    step(text) {
      if (text === current) return;
      current = text;
      if (isShown) show();
    },
    end() {
      clearTimeout(start);
      clearInterval(frames);
      if (isShown && isTerminal) write("\r\x1b[2K");
    },
  };
}
