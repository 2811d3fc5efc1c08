/**
 * Values that never change. In: a type. Out: the same with every field and element read-only; a
 * `Secret` stays one.
 */
import type { Secret } from "../redacted.ts";

export type Frozen<T> = T extends Secret ? T
  : T extends readonly (infer E)[] ? readonly Frozen<E>[]
  : T extends object ? { readonly [K in keyof T]: Frozen<T[K]> }
  : T;
