/** Alerts as the generators see them. In: nothing. Out: a rule with its runbook, and groups of them. */
import type { Scope } from "./scope.ts";

/** `critical`: somebody must look now. `warning`: somebody must look in the next working hours. */
export type Severity = "critical" | "warning";

/** Sentences in Markdown, with their full stops. Links are relative to `docs/`. */
export interface Runbook {
  /** Of the state that the expression finds. */
  readonly meaning: string;
  readonly impact: string;
  /** One step each, in order. */
  readonly diagnosis: readonly string[];
  readonly remedy: readonly string[];
}

export interface Alert {
  /** Its label `alertname`, and the heading of its runbook. */
  readonly name: string;
  readonly severity: Severity;
  /** How long the expression must hold: `5m`; `0s` fires at the first evaluation. */
  readonly hold: string;
  /** PromQL; `${NAME}` stands for a threshold. */
  readonly expression: (scope: Scope) => string;
  /** Templates of Prometheus, which may have thresholds too. */
  readonly summary: string;
  readonly description: string;
  readonly runbook: Runbook;
}

/** A series that alerts read in place of many. */
export interface Recording {
  readonly record: string;
  readonly expression: (scope: Scope) => string;
}

/** One file of rules. */
export interface AlertGroup {
  /** `requests`: of the file, and behind `pingress-` of the group. */
  readonly name: string;
  readonly title: string;
  readonly recordings?: readonly Recording[];
  readonly alerts: readonly Alert[];
}
