/**
 * Rows of the table of ingress-nginx's ConfigMap. In: nothing. Out: what is known of one key: its
 * values, whether it protects, and what becomes of it here.
 */
import type { Group, Verdict } from "../annotations/nginx/rows/row.ts";
import type { ValueType } from "../annotations/nginx/rows/value.ts";

/** One key, by its name in a `KeyGroup`. */
export interface ConfigKey<T = unknown> {
  readonly value: ValueType<T>;
  /** Whether paths are less protected without it. */
  readonly protects: boolean;
  /** Those that it adds to; without one of them it has no effect in ingress-nginx either. */
  readonly beside?: readonly string[];
  readonly verdict: Verdict;
  /** The annotation whose value it is where an Ingress has none; else it is read by itself. */
  readonly annotation?: string;
  /** The annotation whose value it is where an Ingress has no auth-url. */
  readonly globalAuth?: string;
  /** Whether an empty value is one. */
  readonly takesEmpty?: true;
  /** How to do without it where it closes paths; else only removing it helps. */
  readonly closedRemedy?: string;
  /** The same by what other keys say, as a whole sentence; counts in place of it. */
  remedyFor?(isAccepted: boolean, textOf: (key: string) => string): string;
  /**
   * Of a key with an effect: what a valid value lacks for it, by what other keys say, as the predicate of
   * a sentence; then it closes paths as one that is not supported. Null for nothing.
   */
  lacks?(value: T, textOf: (key: string) => string): string | null;
  /** What it does in ingress-nginx; a clause. */
  readonly does: string;
  /** Whether the paths are served at least as strictly without it; for a value that is valid. */
  isHarmless?(value: T, textOf: (key: string) => string): boolean;
  /** Of a key without an effect: how a valid value differs from what is done here, a clause; null for not at all. */
  differenceOf?(value: T): string | null;
}

/** Keys of one subject, by name. */
export type KeyGroup = Readonly<Record<string, ConfigKey>>;

/** Gives a row the type of its values. */
export function key<T>(row: ConfigKey<T>): ConfigKey<T> {
  return row;
}

/** A key that protects nothing. */
export function plain<T>(value: ValueType<T>, verdict: Verdict, does: string): ConfigKey<T> {
  return { value, protects: false, verdict, does };
}

/** A key that protects, and closes the paths of the profile as long as it has no effect. */
export function guard<T>(
  value: ValueType<T>,
  verdict: Verdict,
  does: string,
  more: Pick<
    ConfigKey<T>,
    "beside" | "closedRemedy" | "remedyFor" | "isHarmless" | "lacks" | "differenceOf"
  > = {},
): ConfigKey<T> {
  return { value, protects: true, verdict, does, ...more };
}

/** A key that is the default of an annotation, and is honoured as that is. */
export function defaultOf(group: Group, annotation: string, does: string): ConfigKey {
  const { value, verdict, protects } = group[annotation];
  return { value, verdict, protects, annotation, does };
}

/** A key that says of all Ingresses without auth-url what an annotation beside that says of one. */
export function globalAuth(
  group: Group,
  annotation: string,
  does: string,
  more: Partial<Pick<ConfigKey, "verdict" | "beside">> = {},
): ConfigKey {
  const { value, verdict, protects } = group[annotation];
  return { value, verdict, protects, globalAuth: annotation, does, ...more };
}

/** Whether it has an effect here. */
export function hasEffect({ verdict }: Pick<ConfigKey, "verdict">): boolean {
  return verdict.kind === "honoured" || verdict.kind === "differs";
}

/** Whether it closes the paths of the profile, unless its value is harmless, or lacks nothing. */
export function keyCloses(row: ConfigKey): boolean {
  return row.protects && row.beside === undefined && (!hasEffect(row) || row.lacks !== undefined);
}

const OFF: ReadonlySet<string> = new Set(["false", "f", "off", "0"]);

/** Whether a value, trimmed, asks for nothing; it need not be valid. */
export function isKeyOff({ value, protects }: ConfigKey, text: string): boolean {
  return text === "" || ((value.hasOff || !protects) && OFF.has(text.toLowerCase()));
}

export const NGINX_ONLY: Verdict = {
  kind: "always",
  because: "it is about nginx itself, which does not run here",
};
