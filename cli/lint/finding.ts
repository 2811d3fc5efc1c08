/**
 * What lint says. In: nothing. Out: types of findings and results, the order of verdicts, and the
 * redaction that every text passes before it is shown.
 */
import type { Position } from "../../dev/manifests/position.ts";

/**
 * Worst first. OPENS: forwards what ingress-nginx refuses, or redirects to HTTPS. BREAKS: refuses what ingress-nginx
 * forwards. DIFFERS: serves it in another way. SAME: as ingress-nginx.
 */
export const VERDICTS = ["OPENS", "BREAKS", "DIFFERS", "SAME"] as const;
export type Verdict = typeof VERDICTS[number];

/** One line of a snippet. */
export interface SnippetLine {
  /** In the snippet, from 1. */
  readonly line: number;
  /** The name of the directive; never its arguments, which may be secret. */
  readonly directive: string;
  readonly remedy: string;
}

export interface Finding {
  readonly verdict: Verdict;
  /**
   * Stable: `annotation/limit-rps`, `problem/PathConflict`, `host/regular-expressions`,
   * `host/unsupported-regular-expression`, `gateway/BackendNotFound`.
   */
  readonly rule: string;
  /** What it does in ingress-nginx, a clause. */
  readonly effect: string;
  /** What is different here; null for nothing. */
  readonly difference: string | null;
  /** What to do; null for nothing. */
  readonly remedy: string | null;
  /** Of the object: `spec.tls[0]`; "" for the object itself. */
  readonly field: string;
  /** Null for what stands in no file. */
  readonly at: Position | null;
  readonly lines?: readonly SnippetLine[];
}

/** One Ingress. */
export interface LintedIngress {
  /** `default/web`. */
  readonly name: string;
  readonly verdict: Verdict;
  readonly at: Position | null;
  /** Worst first. */
  readonly findings: readonly Finding[];
}

/** An object of Gateway API, which ingress-nginx does not read. */
export interface LintedObject {
  /** `HTTPRoute default/web`. */
  readonly name: string;
  /** BREAKS where something is not served as it is written. */
  readonly verdict: Verdict;
  readonly at: Position | null;
  readonly findings: readonly Finding[];
}

/** What could not be read, or is not judged. */
export interface InputProblem {
  readonly message: string;
  readonly remedy: string;
  readonly at: Position | null;
}

export interface LintResult {
  /** Worst first, then by name. */
  readonly ingresses: readonly LintedIngress[];
  /** About no Ingress alone: the Deployment and the ConfigMap of ingress-nginx. */
  readonly cluster: readonly Finding[];
  /** Those with findings, worst first, then by name. */
  readonly gatewayApi: readonly LintedObject[];
  /** Input that could not be read: the result is not complete. */
  readonly unreadable: readonly InputProblem[];
  /** Ingresses of other classes, namespaces that are left out, and Secrets that are in no file. */
  readonly notChecked: readonly InputProblem[];
  /** What differs for every Ingress, whatever it says; it counts for no verdict. */
  readonly always: readonly string[];
}

export function rankOf(verdict: Verdict): number {
  return VERDICTS.indexOf(verdict);
}

/** The worst verdict; SAME for none. */
export function worst(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce<Verdict>((a, b) => rankOf(b) < rankOf(a) ? b : a, "SAME");
}

export function byVerdict(a: { readonly verdict: Verdict }, b: { readonly verdict: Verdict }) {
  return rankOf(a.verdict) - rankOf(b.verdict);
}

/** How many Ingresses have each verdict, and how many findings are about no Ingress. */
export function totalsOf({ ingresses, cluster, gatewayApi, unreadable, notChecked }: LintResult) {
  const of = (verdict: Verdict) => ingresses.filter((each) => each.verdict === verdict).length;
  return {
    ingresses: ingresses.length,
    opens: of("OPENS"),
    breaks: of("BREAKS"),
    differs: of("DIFFERS"),
    same: of("SAME"),
    cluster: cluster.length,
    gatewayApi: gatewayApi.length,
    unreadable: unreadable.length,
    notChecked: notChecked.length,
  };
}

/** `12 Ingresses: 1 OPENS, 2 BREAKS, 4 DIFFERS, 5 SAME`. */
export function totalsText(result: LintResult): string {
  const { ingresses, opens, breaks, differs, same, ...others } = totalsOf(result);
  const { cluster, gatewayApi, unreadable, notChecked } = others;
  return `${ingresses} ${ingresses === 1 ? "Ingress" : "Ingresses"}: ${opens} OPENS, ` +
    `${breaks} BREAKS, ${differs} DIFFERS, ${same} SAME` +
    (cluster === 0 ? "" : `; ${cluster} about the installation`) +
    (gatewayApi === 0 ? "" : `; ${gatewayApi} of Gateway API not served as written`) +
    (unreadable === 0 ? "" : `; ${unreadable} not readable`) +
    (notChecked === 0 ? "" : `; ${notChecked} not checked`);
}

/** Everything up to the last `@` before the path, as URLs are parsed. */
const USERINFO = /(:\/\/)[^\s/?#]*@/g;

/** The same text without the user and password of URLs. */
export function redact(text: string): string {
  return text.replace(USERINFO, "$1REDACTED@");
}

/** A finding whose texts are safe to show. */
export function redacted(finding: Finding): Finding {
  return {
    ...finding,
    effect: redact(finding.effect),
    difference: finding.difference === null ? null : redact(finding.difference),
    remedy: finding.remedy === null ? null : redact(finding.remedy),
  };
}
