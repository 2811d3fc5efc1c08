/**
 * The problems of one translation. In: what each pass finds, object by object. Out: every problem
 * once, sorted by object; those of one object stay in the order in which they were found.
 */
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";

/** The parts of a problem beside its object, field and severity. */
export interface ProblemText {
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
}

/** Takes the problems of one object. */
export interface Report {
  /** Whether an error was reported for the object, here or by another report about it. */
  hasErrors(): boolean;
  /** Something is not served as written. */
  error(field: string, text: ProblemText): void;
  /** Served, but worth a look. */
  warning(field: string, text: ProblemText): void;
}

export class ProblemList {
  #byObject = new Map<string, Problem[]>();
  #seen = new Set<string>();

  about(object: ObjectRef): Report {
    return {
      hasErrors: () =>
        this.#byObject.get(formatObject(object))?.some(({ severity }) => severity === "error") ??
          false,
      error: (field, text) => this.#add({ object, field, ...text, severity: "error" }),
      warning: (field, text) => this.#add({ object, field, ...text, severity: "warning" }),
    };
  }

  sorted(): Problem[] {
    return [...this.#byObject]
      .sort(([a], [b]) => a < b ? -1 : 1)
      .flatMap(([, problems]) => problems);
  }

  #add(problem: Problem & { readonly object: ObjectRef }): void {
    const object = formatObject(problem.object);
    const key = JSON.stringify([object, problem.field, problem.reason, problem.message]);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const others = this.#byObject.get(object);
    if (others === undefined) this.#byObject.set(object, [problem]);
    else others.push(problem);
  }
}
