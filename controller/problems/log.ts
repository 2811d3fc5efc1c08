/**
 * Problems in the log. In: all problems of a moment, again and again. Out: one line for each that is
 * new, and one for each that is gone; nothing for those that stay.
 */
import type { Logger } from "../../shared/log.ts";
import { formatObject, type Problem } from "../../shared/problem.ts";

/** Lines at a time; the rest is counted in one more. */
const MAX_LINES = 100;

export class ProblemLog {
  readonly #log: Logger;
  #known = new Map<string, Problem>();

  constructor(log: Logger) {
    this.#log = log;
  }

  update(problems: readonly Problem[]): void {
    const next = new Map(problems.map((problem) => [keyOf(problem), problem]));
    const came = [...next].filter(([key]) => !this.#known.has(key));
    const went = [...this.#known].filter(([key]) => !next.has(key));
    this.#known = next;
    for (const [, problem] of came.slice(0, MAX_LINES)) {
      const { field, reason, message, remedy } = problem;
      const fields = { object: nameOf(problem), field, reason, problem: message, remedy };
      if (problem.severity === "error") {
        this.#log.error("Configuration error", fields);
      } else this.#log.warn("Configuration warning", fields);
    }
    for (const [, problem] of went.slice(0, MAX_LINES)) {
      const { field, reason } = problem;
      this.#log.info("Problem resolved", { object: nameOf(problem), field, reason });
    }
    const more = Math.max(0, came.length - MAX_LINES) + Math.max(0, went.length - MAX_LINES);
    if (more > 0) {
      this.#log.warn("More problems came up or were resolved; /problems lists all", {
        count: more,
      });
    }
  }
}

function keyOf(problem: Problem): string {
  return JSON.stringify([nameOf(problem), problem.field, problem.reason, problem.message]);
}

function nameOf({ object }: Problem): string {
  return object === null ? "" : formatObject(object);
}
