/**
 * A terminal, as people see it, which tmux is for a test. In: its size, a command, keys. Out: what is on its screen,
 * with colours, once a condition holds.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually } from "../cluster/support/condition.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

export interface TmuxOptions {
  readonly columns: number;
  readonly rows: number;
  /** Of the command, beside that of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The command, and at its end a line that says so: `[exit 0]`. An interrupt ends the command, not the shell. */
const SHELL = `trap : INT; "$@"; printf '[exit %s]' $?; exec sleep 1000000`;

export class Tmux {
  readonly #socket: string;

  private constructor(socket: string) {
    this.#socket = socket;
  }

  /** Null where tmux is not installed, which is said. */
  static async start(command: readonly string[], options: TmuxOptions): Promise<Tmux | null> {
    const { columns, rows, environment = {} } = options;
    const tmux = new Tmux(`pingress-${crypto.randomUUID()}`);
    const variables = { NO_COLOR: "", ...environment };
    try {
      await tmux.#run(
        ...["-f", "/dev/null", "new-session", "-d", "-x", String(columns), "-y", String(rows)],
        ...Object.entries(variables).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
        ...["-c", ROOT, "sh", "-c", SHELL, "sh", ...command],
      );
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      console.log("skipped: a terminal: tmux is not installed (remedy: apt-get install tmux)");
      return null;
    }
    return tmux;
  }

  /** The screen, once it is as wanted; without the empty lines at its end. */
  async until(holds: (screen: string) => boolean): Promise<string> {
    let last = "";
    try {
      return await eventually("such screen", async () => {
        last = await this.screen();
        return holds(last) ? last : null;
      });
    } catch (error) {
      throw new Error(`The screen is:\n${last}`, { cause: error });
    }
  }

  /** As it is, in words: `<red>error</>`; see `styledText`. */
  async screen(): Promise<string> {
    return styledText(await this.#run("capture-pane", "-e", "-p")).trimEnd();
  }

  /** `C-c`. */
  async key(name: string): Promise<void> {
    await this.#run("send-keys", name);
  }

  /** Whether the cursor is shown. */
  async hasCursor(): Promise<boolean> {
    return (await this.#run("display-message", "-p", "#{cursor_flag}")).trim() === "1";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#run("kill-server");
  }

  async #run(...args: readonly string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("tmux", {
      args: ["-L", this.#socket, ...args],
      // Without it, tmux draws other characters in place of ✔ and the like.
      env: { LC_ALL: "C.UTF-8", TERM: "xterm-256color" },
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  }
}

const NAMES: Readonly<Record<string, string>> = {
  1: "bold",
  2: "dim",
  7: "reverse",
  31: "red",
  32: "green",
  33: "yellow",
  36: "cyan",
};

/** What takes an attribute back, and which it takes. */
const ENDS: Readonly<Record<string, RegExp>> = {
  0: /./,
  22: /^(?:bold|dim)$/,
  27: /^reverse$/,
  39: /^(?:red|green|yellow|cyan|\d+)$/,
  // The background, which is never another one.
  49: /^$/,
};

/**
 * Colours as words, whichever escapes a version of tmux has for them: before each text its attributes, `</>` for
 * none.
 */
export function styledText(text: string): string {
  let attributes: readonly string[] = [];
  let shown = "";
  let written = "</>";
  // deno-lint-ignore no-control-regex
  for (const part of text.split(/(\x1b\[[\d;]*m)/)) {
    // deno-lint-ignore no-control-regex
    const [, codes] = /^\x1b\[([\d;]*)m$/.exec(part) ?? [];
    if (codes === undefined) {
      if (part === "") continue;
      const wanted = attributes.length === 0 ? "</>" : `<${attributes.join(" ")}>`;
      // White space has no colour that is seen.
      if (wanted !== written && part.trim() !== "") {
        shown += wanted;
        written = wanted;
      }
      shown += part;
      continue;
    }
    for (const code of (codes === "" ? "0" : codes).split(";")) {
      const end = ENDS[code];
      attributes = end === undefined
        ? [...attributes, NAMES[code] ?? code].sort()
        : attributes.filter((one) => !end.test(one));
    }
  }
  return shown;
}
