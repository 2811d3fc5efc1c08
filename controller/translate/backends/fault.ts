/** What is to be said of a backend to whoever names it. In: nothing. Out: the types. */
import type { ProblemFacts } from "../../../shared/problem.ts";
import type { ReplyAction } from "../../../shared/snapshot/types.ts";
import type { ProblemText } from "../../base/problems.ts";

export interface Note extends ProblemText {
  /** Of the object that names the backend. */
  readonly field: string;
}

export interface Fault {
  /** Which field of the backend is to blame; or another field of the object that names it. */
  readonly at: "name" | "port" | { readonly field: string };
  readonly status: ReplyAction["status"];
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
  readonly facts?: ProblemFacts;
  /** The paths that name the backend do nothing else either: they do not redirect. */
  readonly closes?: true;
}
