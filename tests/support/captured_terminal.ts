/** A terminal in memory. In: its width, whether it is one, the environment. Out: what was written to it. */
import { createTerminal, type Terminal } from "../../cli/terminal/terminal.ts";

export interface CapturedTerminal {
  readonly terminal: Terminal;
  /** Of standard output, so far. */
  stdout(): string;
  /** Of standard error, so far. */
  stderr(): string;
}

export interface CapturedOptions {
  readonly isTerminal?: boolean;
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export function capturedTerminal(options: CapturedOptions = {}): CapturedTerminal {
  const { isTerminal = false, columns = 80, environment = {} } = options;
  const stdout = new CapturedStream(isTerminal);
  const stderr = new CapturedStream(isTerminal);
  const terminal = createTerminal({
    stdout,
    stderr,
    environment: (name) => environment[name],
    columns: () => columns,
    exit: (code) => {
      throw new Error(`the program ended with ${code}`);
    },
  });
  return { terminal, stdout: () => stdout.text, stderr: () => stderr.text };
}

class CapturedStream {
  text = "";
  readonly #isTerminal: boolean;
  readonly #decoder = new TextDecoder();

  constructor(isTerminal: boolean) {
    this.#isTerminal = isTerminal;
  }

  writeSync(bytes: Uint8Array): number {
    this.text += this.#decoder.decode(bytes, { stream: true });
    return bytes.length;
  }

  isTerminal(): boolean {
    return this.#isTerminal;
  }
}
