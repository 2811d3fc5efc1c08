/**
 * What schemas of a snapshot say besides JSON Schema. In: nothing. Out: their types, makers of
 * schemas with them, and the type of values that are never changed.
 */
import Type, { type TProperties } from "typebox";
import type { Secret } from "../redacted.ts";
import type { Leaf } from "./leaves.ts";

/** What a schema says besides JSON Schema; `node_reader.ts` reads it. */
export interface Hints {
  /** The form of a text. */
  readonly leaf?: Leaf;
  /** A text that is held as a `Secret`, and written only where keys may be. */
  readonly secret?: true;
  /** An unknown field refuses the object; elsewhere it costs a warning and has no effect. */
  readonly strict?: true;
  /** What a value is that is left out; `path` is where it would be. */
  readonly missing?: (path: string) => unknown;
  /** An unknown choice costs a warning and the field, not the file: `what` it is, and the remedy. */
  readonly lenient?: { readonly what: string; readonly remedy: string };
  /** What to write in place of a value that is not the constant. */
  readonly remedy?: string;
  /** The key of an element; one with the key of an earlier one is left out with a warning. */
  readonly uniqueBy?: readonly string[];
  /** The one form of an object whose fields are right each. */
  readonly form?: Form;
}

export type FormReading =
  | { readonly ok: true; readonly value: object }
  | {
    readonly ok: false;
    /** Of the wrong field. */
    readonly field: string;
    readonly message: string;
    readonly remedy: string;
    /** The object is left out of its list, and the file goes on. */
    readonly isLeftOut: boolean;
  };

export type Form = (value: never) => FormReading;

/** A field that says something by being there. */
export const TRUE_OR_MISSING = Type.Optional(
  Type.Literal(true, { remedy: "remove it: it is true or missing" }),
);

export function object<P extends TProperties>(properties: P, hints: Hints = {}) {
  return Type.Object(properties, { additionalProperties: false, ...hints });
}

/** A text of a form that compiled checks and readers share. */
export function formed(leaf: Leaf) {
  return Type.Refine(Type.String({ leaf }), leaf.isCanonical);
}

/** The same with every field and element read-only; a `Secret` stays one. */
export type Frozen<T> = T extends Secret ? T
  : T extends readonly (infer E)[] ? readonly Frozen<E>[]
  : T extends object ? { readonly [K in keyof T]: Frozen<T[K]> }
  : T;
