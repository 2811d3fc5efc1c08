/** What a check came to. In: nothing. Out: the types that groups, outputs and the exit code share. */
import type { Unread } from "../cluster/unread.ts";

/**
 * `failed`: something does not work. `warning`: it works, but look at it. `skipped`: it could not be checked, or
 * is not there to be checked.
 */
export type Level = "ok" | "warning" | "failed" | "skipped";

export interface CheckResult {
  /** Stable, for programs: `proxies-ready`. */
  readonly id: string;
  readonly level: Level;
  /** One sentence without a full stop. */
  readonly message: string;
  /** What helps, an imperative without a full stop; null for what needs nothing. */
  readonly remedy: string | null;
}

export interface CheckGroup {
  /** Stable, for programs: `workload`. */
  readonly id: string;
  readonly title: string;
  readonly results: readonly CheckResult[];
}

export function ok(id: string, message: string): CheckResult {
  return { id, level: "ok", message, remedy: null };
}

export function warning(id: string, message: string, remedy: string): CheckResult {
  return { id, level: "warning", message, remedy };
}

export function failed(id: string, message: string, remedy: string): CheckResult {
  return { id, level: "failed", message, remedy };
}

export function skipped(id: string, message: string, remedy: string | null = null): CheckResult {
  return { id, level: "skipped", message, remedy };
}

/** What could not be read, and so not be checked. */
export function unchecked(id: string, { message, remedy }: Unread): CheckResult {
  return skipped(id, `not checked: ${message}`, remedy);
}

export function countOf(groups: readonly CheckGroup[]): Readonly<Record<Level, number>> {
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for (const { results } of groups) for (const { level } of results) counts[level]++;
  return counts;
}
