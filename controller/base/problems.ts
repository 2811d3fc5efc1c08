/**
 * The problems of one translation. In: what each pass finds, object by object. Out: every problem
 * once, sorted by object; those of one object stay in the order in which they were found.
 */
import {
  formatObject,
  type ObjectRef,
  type Problem,
  type ProblemFacts,
} from "../../shared/problem.ts";
import { compareText } from "./text_order.ts";
import { SortedList } from "./sorted_list.ts";

/** The parts of a problem beside its object, field and severity. */
export interface ProblemText {
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
  readonly facts?: ProblemFacts;
}

/** Takes the problems of one object. */
export interface Report {
  /** Something is not served as written. */
  error(field: string, text: ProblemText): void;
  /** Served, but worth a look. */
  warning(field: string, text: ProblemText): void;
}

/** A problem that is about an object. */
export type ObjectProblem = Problem & { readonly object: ObjectRef };

export class ProblemList {
  /** By label of the object. */
  #byObject = new Map<string, ObjectProblem[]>();
  /** By label, for objects with several problems. */
  #seen = new Map<string, Set<string>>();

  about(object: ObjectRef): Report {
    return {
      error: (field, text) => this.#add({ object, field, ...text, severity: "error" }),
      warning: (field, text) => this.#add({ object, field, ...text, severity: "warning" }),
    };
  }

  /** Problems that were found before and still hold. */
  addAll(problems: readonly ObjectProblem[]): void {
    for (const problem of problems) this.#add(problem);
  }

  /** @param label `formatObject` of the object. */
  hasErrors(label: string): boolean {
    return this.#byObject.get(label)?.some(({ severity }) => severity === "error") ?? false;
  }

  /** @param labels Remembers the order of the labels from one list to the next. */
  sorted(labels = labelOrder()): ObjectProblem[] {
    return labels.of([...this.#byObject.keys()]).flatMap((label) =>
      this.#byObject.get(label) ?? []
    );
  }

  /** Those of each object together, the objects as they first came. */
  inOrder(): ObjectProblem[] {
    return [...this.#byObject.values()].flat();
  }

  #add(problem: ObjectProblem): void {
    const label = formatObject(problem.object);
    const others = this.#byObject.get(label);
    if (others === undefined) {
      this.#byObject.set(label, [problem]);
      return;
    }
    let seen = this.#seen.get(label);
    if (seen === undefined) {
      seen = new Set(others.map(keyOfProblem));
      this.#seen.set(label, seen);
    }
    const key = keyOfProblem(problem);
    if (seen.has(key)) return;
    seen.add(key);
    others.push(problem);
  }
}

/** For `ProblemList.sorted`. */
export function labelOrder(): SortedList<string> {
  return new SortedList<string>(compareText);
}

/** A result with the problems that were found on the way. */
export interface Recorded<T> {
  readonly value: T;
  readonly problems: readonly ObjectProblem[];
}

/** What `read` reports, in its order, to be added to a list later. */
export function recordProblems<T>(read: (problems: ProblemList) => T): Recorded<T> {
  const list = new ProblemList();
  const value = read(list);
  return { value, problems: list.inOrder() };
}

function keyOfProblem({ field, reason, message }: Problem): string {
  return JSON.stringify([field, reason, message]);
}
