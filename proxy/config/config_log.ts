/**
 * What is logged of the configuration. In: readings that were refused, are incomplete, or were
 * accepted. Out: lines of the log, as few as tell it: a file that is written slowly is many
 * half-written ones.
 */
import type { LogFields, Logger } from "../../shared/log.ts";
import type { ConfigProblem } from "../../shared/snapshot/parse.ts";

/** Problems of one reading that are logged; 10,000 lines help nobody. */
const MAX_LOGGED = 20;

const LAST_GOOD = ", keeping the active one";

export class ConfigLog {
  readonly #log: Logger;
  readonly #from: LogFields;
  readonly #interval: number;
  /** A refusal has been logged, and no good reading came since. */
  #refused = false;
  /** The same of an incomplete one. */
  #incomplete = false;
  /** What the last good reading had to say, so that it is said once. */
  #known = new Set<string>();
  /** Runs from one logged refusal to when the next may be. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The last refusal, until it may be logged. */
  #unsaid: (() => void) | null = null;

  /**
   * @param from Where readings come from, in each line.
   * @param interval in ms from one logged refusal to the next.
   */
  constructor(log: Logger, from: LogFields, interval: number) {
    this.#log = log;
    this.#from = from;
    this.#interval = interval;
  }

  /** @param hasGood Whether there is a last good one. */
  refused(problems: readonly ConfigProblem[], hasGood: boolean): void {
    if (this.#timer !== undefined) {
      this.#unsaid = () => this.refused(problems, hasGood);
      return;
    }
    this.#refused = true;
    this.#write(problems, `Configuration rejected${hasGood ? LAST_GOOD : ""}`);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const unsaid = this.#unsaid;
      this.#unsaid = null;
      unsaid?.();
    }, this.#interval);
  }

  /** What is wrong in a reading that is accepted all the same. */
  badParts(problems: readonly ConfigProblem[]): void {
    const keys = problems.map(({ path, message }) => `${path} ${message}`);
    const fresh = problems.filter((_, index) => !this.#known.has(keys[index]));
    this.#write(fresh, "Configuration has a bad part");
    this.#known = new Set(keys);
  }

  incomplete(lacks: string, hasGood: boolean): void {
    this.#incomplete = true;
    const message = hasGood
      ? `Configuration is not complete yet${LAST_GOOD}`
      : "Waiting for the configuration";
    this.#log.info(message, { ...this.#from, lacks });
  }

  overdue(lacks: string, hasGood: boolean): void {
    this.#log.error(`Configuration is still incomplete${hasGood ? LAST_GOOD : ""}`, {
      ...this.#from,
      lacks,
      remedy: "see the controller's log: it publishes changed ConfigMaps and Secrets again",
    });
  }

  accepted(): void {
    this.#unsaid = null;
    if (this.#refused) this.#log.info("Configuration is readable again", { ...this.#from });
    if (this.#incomplete) this.#log.info("Configuration is complete", { ...this.#from });
    this.#refused = false;
    this.#incomplete = false;
  }

  /** Nothing is written after it. */
  close(): void {
    clearTimeout(this.#timer);
    this.#unsaid = null;
  }

  /** @param line what errors amount to: the whole is refused, or a part of it is bad. */
  #write(problems: readonly ConfigProblem[], line: string): void {
    for (const { severity, path, message, remedy } of problems.slice(0, MAX_LOGGED)) {
      const fields = { ...this.#from, path, problem: message, remedy };
      if (severity === "warning") this.#log.warn("Configuration has a warning", fields);
      else this.#log.error(line, fields);
    }
    if (problems.length > MAX_LOGGED) {
      const count = problems.length - MAX_LOGGED;
      this.#log.warn("Configuration has more problems", { ...this.#from, count });
    }
  }
}
