/**
 * Rows of the table of ingress-nginx's annotations. In: nothing. Out: what is known of one annotation:
 * its values, whether it protects, and what becomes of it here.
 */
import type { ValueType } from "./value.ts";

/** One annotation, by its name without the prefix in a `Group`. */
export interface Row<T = unknown> {
  /** Read where the annotation itself is missing or empty. */
  readonly aliases?: readonly string[];
  /** As in ingress-nginx's own list; null for what it had dropped before it was archived. */
  readonly risk: "Low" | "Medium" | "High" | "Critical" | null;
  /** What one value applies to in ingress-nginx. */
  readonly scope: "path" | "ingress" | "host" | "service";
  readonly value: ValueType<T>;
  /** What becomes of the paths of a value that is invalid. */
  readonly invalid: "close" | "default";
  /** Whether paths are less protected without it. */
  readonly protects: boolean;
  /** Whether an empty value is invalid, too. */
  readonly needsValue?: true;
  /** Those that it adds to; without one of them it has no effect in ingress-nginx either. */
  readonly beside?: readonly string[];
  /**
   * Of one that protects nothing alone: those that protect by themselves, beside one of which its paths are closed,
   * too. Empty where it is enough to close theirs.
   */
  readonly protectsBeside?: readonly string[];
  /** Whether its paths are closed although it protects nothing: without it they mean something else. */
  readonly breaks?: boolean;
  readonly verdict: Verdict;
  /** How to do without it where its paths are closed; else only removing it helps. */
  readonly closedRemedy?: string;
  /** What it does in ingress-nginx; a clause. */
  readonly does: string;
  /** Whether the paths are served at least as strictly without it; for a value that is valid. */
  isHarmless?(value: T, beside: Surroundings): boolean;
  /**
   * Of a row that differs: whether the difference does not concern this value, or has a problem of its own. Of one that
   * has no effect here: whether ingress-nginx does nothing with this value, too.
   */
  isSame?(value: T, beside: Surroundings): boolean;
  /** What ingress-nginx does with a text that is not valid here and closes nothing, a clause; null for the default. */
  effectThere?(text: string): string | null;
}

/** What else one Ingress says. */
export interface Surroundings {
  /** The text of another annotation, trimmed as its type says; null where it is missing, or not text. */
  readonly textOf: (name: string) => string | null;
  readonly spec: unknown;
}

/** What becomes of an annotation. */
export type Verdict =
  /** As in ingress-nginx. */
  | { readonly kind: "honoured" }
  /** As in ingress-nginx, but for `difference`. */
  | { readonly kind: "differs"; readonly difference: string }
  /** It is so without the annotation. */
  | { readonly kind: "always"; readonly because: string }
  /** Never. */
  | { readonly kind: "refused"; readonly because: string; readonly remedy: string }
  /** Not yet; `flag` says which flag of the proxies has the effect for all hosts. */
  | { readonly kind: "not-yet"; readonly remedy: string | null; readonly flag: boolean };

/** Annotations of one subject, by name. */
export type Group = Readonly<Record<string, Row>>;

/** Gives a row the type of its values. */
export function row<T>(row: Row<T>): Row<T> {
  return row;
}

export const NOT_YET: Verdict = { kind: "not-yet", remedy: null, flag: false };

/** Not yet, but another setting has its effect. */
export function instead(remedy: string): Verdict {
  return { kind: "not-yet", remedy, flag: false };
}

/** Not yet by route, but by a flag for all that the proxies serve. */
export function flag(remedy: string): Verdict {
  return { kind: "not-yet", remedy, flag: true };
}

/** As in ingress-nginx, but for this; a clause. */
export function differs(difference: string): Verdict {
  return { kind: "differs", difference };
}

/** Of a switch that is off by default. */
export const OFF_BY_DEFAULT = { isSame: (isOn: boolean): boolean => !isOn } as const;

export const HONOURED: Verdict = { kind: "honoured" };

export function always(because: string): Verdict {
  return { kind: "always", because };
}

export const STREAMED: Readonly<Verdict> = always(
  "requests and answers are streamed, never gathered in memory or files",
);

/** The text of nginx's configuration is no data. */
export const NEVER_TEXT: Verdict = {
  kind: "refused",
  because: "configuration is never text that is run",
  remedy: "There is no replacement; remove the annotation",
};
