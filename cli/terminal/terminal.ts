/**
 * What commands write to. In: text, and values for JSON. Out: standard output and error, with the width
 * and the colours that they take; progress of what takes long. A closed pipe ends the program.
 */
import { escapeUnsafe } from "../../shared/log.ts";
import { Output, type Stream } from "./output.ts";
import { type Progress, ProgressLine } from "./progress.ts";
import { isDumb, type Style, styleOf, takesColours } from "./style.ts";

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
   * each call and goes away at the end; else each step is one line. There is one at a time.
   */
  progress(step: string): Progress;
}

/** Version of the JSON that commands write: fields are added to it, none is removed or changes its meaning. */
export const JSON_VERSION = 1;

/** Of a terminal that does not know its size, such as one in a container without `-t`. */
const USUAL_COLUMNS = 80;

export interface TerminalOptions {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly environment: (name: string) => string | undefined;
  /** Characters a line of the terminal; 0 where it does not know. */
  readonly columns: () => number;
  /** Ends the program. */
  readonly exit: (code: number) => never;
}

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdout, stderr, environment, exit } = options;
  const isTerminal = stdout.isTerminal();
  const isErrorTerminal = stderr.isTerminal();
  const errors = new Output({ stream: stderr, isLineBuffered: false, exit });
  const complain = (text: string) => errors.write(`${text}\n`);
  const output = new Output({ stream: stdout, isLineBuffered: true, exit, complain });
  const columns = () => options.columns() || USUAL_COLUMNS;
  let progress: ProgressLine | null = null;
  const write = (text: string) => {
    if (isTerminal) progress?.erase();
    output.write(text);
  };
  return {
    style: styleOf(takesColours(isTerminal, environment)),
    errorStyle: styleOf(takesColours(isErrorTerminal, environment)),
    get columns() {
      return isTerminal ? columns() : Infinity;
    },
    isTerminal,
    write,
    error(text) {
      progress?.erase();
      errors.write(`${text}\n`);
    },
    json: (value) => write(`${jsonText({ v: JSON_VERSION, ...value })}\n`),
    progress(step) {
      progress?.end();
      return progress = new ProgressLine(step, {
        isTerminal: isErrorTerminal && !isDumb(environment),
        columns,
        write: (text) => errors.write(text),
      });
    },
  };
}

/** The terminal of this process. Only a main reads the environment, so it comes from there. */
export function processTerminal(environment: TerminalOptions["environment"]): Terminal {
  return createTerminal({
    stdout: Deno.stdout,
    stderr: Deno.stderr,
    environment,
    columns: () => Deno.consoleSize().columns,
    exit: (code) => Deno.exit(code),
  });
}

/** What a terminal acts on is escaped, as JSON may have any character. */
function jsonText(value: Readonly<Record<string, unknown>>): string {
  return escapeUnsafe(JSON.stringify(value, null, 2));
}
