/**
 * Colours and marks. In: whether the output takes colours, which the environment may decide. Out:
 * functions that paint text, and the marks of checks.
 */
import { styleText } from "node:util";

type Paint = (text: string) => string;

export interface Style {
  readonly isColoured: boolean;
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
  /** `✔`, green. */
  readonly pass: string;
  /** `✘`, red. */
  readonly fail: string;
  /** `!`, yellow. */
  readonly warn: string;
}

/** Without colours every function returns its text unchanged. */
export function styleOf(isColoured: boolean): Style {
  const paint = (format: "bold" | "dim" | "red" | "green" | "yellow" | "cyan"): Paint => (text) =>
    isColoured && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  return {
    isColoured,
    bold: paint("bold"),
    dim: paint("dim"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
    pass: paint("green")("✔"),
    fail: paint("red")("✘"),
    warn: paint("yellow")("!"),
  };
}

/**
 * Whether to use colours. `NO_COLOR` with any value turns them off (https://no-color.org),
 * `FORCE_COLOR` other than 0 on; else a terminal that is not `dumb` has them.
 */
export function takesColours(
  isTerminal: boolean,
  environment: (name: string) => string | undefined,
): boolean {
  if ((environment("NO_COLOR") ?? "") !== "") return false;
  const forced = environment("FORCE_COLOR");
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTerminal && !isDumb(environment);
}

/** Whether the terminal knows no colours, and cannot erase what it shows. */
export function isDumb(environment: (name: string) => string | undefined): boolean {
  return environment("TERM") === "dumb";
}
