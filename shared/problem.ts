/**
 * A user's mistake, as data: what `translate`, the manifest reader and `snapshot/parse.ts` report
 * instead of throwing. Printed by `deno task dev`, and turned into Events and metrics by the
 * controller.
 */

/** The object that a problem is about. Namespace "" for cluster-wide kinds. */
export interface ObjectRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * `error`: broken or open, something is not served as written. `warning`: served, but it differs from
 * what is written. `info`: nothing to do. Worst first.
 */
export const SEVERITIES = ["error", "warning", "info"] as const;
export type Severity = typeof SEVERITIES[number];

export interface Problem {
  /** Null where no object could be read (YAML that does not parse, a configuration file). */
  readonly object: ObjectRef | null;
  /** JSON path in the object or file: `spec.rules[0].host`; "" for the whole. */
  readonly field: string;
  /** Stable, for Events and metrics, in CamelCase: `ServiceNotFound`. */
  readonly reason: string;
  /** What is wrong and what follows from it, one sentence without a full stop. */
  readonly message: string;
  /** What the user can do, one sentence without a full stop. */
  readonly remedy: string;
  readonly severity: Severity;
  /** What the message says, for programs that decide by it; no output has it. */
  readonly facts?: ProblemFacts;
}

export interface ProblemFacts {
  /** With which requests are answered: the message ends with `requests get 503`. */
  readonly status?: number;
  /** Whether what is wrong is that there is no such Secret. */
  readonly isSecretMissing?: true;
}

/** `Ingress default/web`, or `IngressClass pingress` for cluster-wide kinds. */
export function formatObject(ref: ObjectRef): string {
  return ref.namespace === ""
    ? `${ref.kind} ${ref.name}`
    : `${ref.kind} ${ref.namespace}/${ref.name}`;
}

/** A sentence such as a remedy, to be put behind a comma or semicolon: its first letter is lower case. */
export function clauseOf(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
