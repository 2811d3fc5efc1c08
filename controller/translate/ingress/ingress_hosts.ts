/**
 * What one Ingress says of hosts as a whole. In: its rules as read, and its annotations. Out: each
 * host with the first field that names it, and the namespaces that its owner shares them with.
 */
import { ANY_HOST } from "./host.ts";
import { fieldOf, isAbsent, quote } from "../../base/json.ts";
import { isDnsLabel } from "../../base/names.ts";
import type { Report } from "../../base/problems.ts";
import { SHARE_ANNOTATION } from "../annotations/own_annotation_names.ts";

export interface HostField {
  readonly host: string;
  /** `spec.rules[0].host`. */
  readonly field: string;
}

/** What is read of a rule's host. */
interface RuleHost {
  /** Null where it cannot be read. */
  readonly host: string | null;
  /** `spec.rules[0]`. */
  readonly field: string;
}

/** Each host once; not that of rules without one, which nobody owns. */
export function hostFields(rules: readonly RuleHost[]): readonly HostField[] {
  const fields = new Map<string, HostField>();
  for (const { host, field } of rules) {
    if (host === null || host === ANY_HOST || fields.has(host)) continue;
    fields.set(host, { host, field: `${field}.host` });
  }
  return [...fields.values()];
}

/** The namespaces of the annotation, sorted; a problem for each that is not the name of one. */
export function readSharesWith(annotations: unknown, report: Report): readonly string[] {
  const written = fieldOf(annotations, SHARE_ANNOTATION);
  if (isAbsent(written)) return [];
  const parts = typeof written === "string"
    ? written.split(/[,\s]/).filter((part) => part !== "")
    : [written];
  const names = new Set<string>();
  for (const part of parts) {
    if (typeof part === "string" && isDnsLabel(part)) {
      names.add(part);
      continue;
    }
    report.error(`metadata.annotations[${JSON.stringify(SHARE_ANNOTATION)}]`, {
      reason: "ShareHostInvalid",
      message: `${quote(part)} is not the name of a namespace, so hosts are not shared with it`,
      remedy: "Write names of namespaces, separated by commas",
    });
  }
  return [...names].sort();
}
