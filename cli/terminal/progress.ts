/**
 * What goes on while a command works. In: steps. Out: on standard error, once it takes over a second:
 * a line of a terminal that changes and goes away at the end, elsewhere one line a step.
 */

export interface Progress {
  /** Names what is done now. */
  step(text: string): void;
  /** Leaves the terminal to another program until `resume`. */
  pause(): void;
  resume(): void;
  end(): void;
}

export interface ProgressOptions {
  /** Whether lines can be erased. */
  readonly isTerminal: boolean;
  /** Characters a line of the terminal. */
  readonly columns: () => number;
  readonly write: (text: string) => void;
}

/** Before the first word, in ms: what is quicker needs none. */
const SILENT = 1000;
/** Between frames of the spinner, in ms. */
const FRAME = 120;
const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const ERASE = "\r\x1b[2K";

/** Characters of `^C`. */
const ECHO = 2;

export class ProgressLine implements Progress {
  readonly #options: ProgressOptions;
  readonly #started = performance.now();
  readonly #start: ReturnType<typeof setTimeout>;
  #frames: ReturnType<typeof setInterval> | undefined;
  #step: string;
  #frame = 0;
  #isShown = false;
  #isPaused = false;

  constructor(step: string, options: ProgressOptions) {
    this.#step = step;
    this.#options = options;
    this.#start = setTimeout(() => this.#show(), SILENT);
    Deno.unrefTimer(this.#start);
  }

  step(text: string): void {
    if (text === this.#step) return;
    this.#step = text;
    // The timer does not run while the thread computes.
    if (this.#isShown || performance.now() - this.#started >= SILENT) this.#show();
  }

  pause(): void {
    this.erase();
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Makes room for other text; on a terminal the line comes back with the next frame. */
  erase(): void {
    if (this.#isShown && !this.#isPaused && this.#options.isTerminal) this.#options.write(ERASE);
  }

  end(): void {
    clearTimeout(this.#start);
    clearInterval(this.#frames);
    this.erase();
    this.#isShown = false;
  }

  #show(): void {
    const { isTerminal, columns, write } = this.#options;
    if (!isTerminal) {
      if (this.#isPaused) return;
      this.#isShown = true;
      clearTimeout(this.#start);
      write(`${this.#step}\n`);
      return;
    }
    if (!this.#isShown) {
      this.#isShown = true;
      clearTimeout(this.#start);
      this.#frames = setInterval(() => this.#show(), FRAME);
      Deno.unrefTimer(this.#frames);
    }
    if (this.#isPaused) return;
    // A line that wraps, be it for what the terminal echoes of Ctrl-C, could not be erased as a whole.
    const line = `${FRAMES[this.#frame++ % FRAMES.length]} ${this.#step}`;
    write(`${ERASE}${line.slice(0, columns() - 1 - ECHO)}`);
  }
}
