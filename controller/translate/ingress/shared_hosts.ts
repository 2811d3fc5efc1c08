/**
 * The namespaces that an Ingress shares its hosts with. In: its annotations. Out: their names.
 */
import { fieldOf, isAbsent, quote } from "../../base/json.ts";
import { isDnsLabel } from "../../base/names.ts";
import type { Report } from "../../base/problems.ts";
import { CUT_FAULT, CUT_REMEDY, isCutText } from "../../kube/excess.ts";
import { SHARE_ANNOTATION } from "../annotations/own_annotation_names.ts";

const SHARE_FIELD = `metadata.annotations[${JSON.stringify(SHARE_ANNOTATION)}]`;

/** The namespaces of the annotation, sorted; a problem for each that is not the name of one. */
export function readSharesWith(annotations: unknown, report: Report): readonly string[] {
  const written = fieldOf(annotations, SHARE_ANNOTATION);
  if (isAbsent(written)) return [];
  if (isCutText(written)) {
    report.error(SHARE_FIELD, {
      reason: "ShareHostInvalid",
      message: `annotation ${quote(SHARE_ANNOTATION)} ${CUT_FAULT}, so hosts are not shared`,
      remedy: CUT_REMEDY,
    });
    return [];
  }
  const parts = typeof written === "string"
    ? written.split(/[,\s]/).filter((part) => part !== "")
    : [written];
  const names = new Set<string>();
  for (const part of parts) {
    if (typeof part === "string" && isDnsLabel(part)) {
      names.add(part);
      continue;
    }
    report.error(SHARE_FIELD, {
      reason: "ShareHostInvalid",
      message: `${quote(part)} is not the name of a namespace, so hosts are not shared with it`,
      remedy: "Write names of namespaces, separated by commas",
    });
  }
  return [...names].sort();
}
