/**
 * The comparison of two states. In: both sides. Out: what is served otherwise, which routes are lost and which
 * protected paths open, and the exit code. Pure.
 */
import { type Exposure, exposureOf } from "../../dev/compare/exposure.ts";
import { EXIT } from "../command.ts";
import { type ServedChanges, servedChanges } from "./route_changes.ts";
import type { Side } from "./side.ts";

export interface Comparison {
  readonly before: Side;
  readonly after: Side;
  /** What could not be read, a sentence each: the comparison is not complete. */
  readonly notes: readonly string[];
  readonly changes: ServedChanges;
  readonly exposure: Exposure;
}

export function compare(before: Side, after: Side, notes: readonly string[] = []): Comparison {
  return {
    ...{ before, after, notes },
    changes: servedChanges(before, after),
    exposure: exposureOf(before.snapshot, after.snapshot),
  };
}

/** 1 if a route is lost or a protected path opens. */
export function exitCode({ exposure: { lost, opened } }: Comparison): number {
  return lost.length + opened.length > 0 ? EXIT.found : EXIT.fine;
}
