/**
 * Annotations of ours that stand where nothing reads them. In: the annotations of an Ingress. Out: a
 * problem for each `pingress.io/…` that an Ingress does not have (`docs/annotations.md`): one that is
 * misspelt, or belongs on a Service, must not go unnoticed.
 */
import { asObject, quote } from "../../base/json.ts";
import type { Report } from "../../base/problems.ts";
import {
  BALANCE_ANNOTATION,
  GRPC_WEB_ANNOTATION,
  SHARE_ANNOTATION,
  UPSTREAM_TLS_ANNOTATIONS,
} from "./own_annotation_names.ts";

/** Of a Service, in the order of the table in docs/annotations.md. */
export const SERVICE_ANNOTATIONS: readonly string[] = [
  BALANCE_ANNOTATION,
  GRPC_WEB_ANNOTATION,
  ...UPSTREAM_TLS_ANNOTATIONS,
];

const PREFIX = "pingress.io/";

/** Of an Ingress; counts where the operator allows it. */
export const ACCEPT_ANNOTATION = "pingress.io/accept-unsupported";

const OF_INGRESS: readonly string[] = [ACCEPT_ANNOTATION, SHARE_ANNOTATION];

/** The names that an Ingress accepts as unsupported, null without the annotation. */
export function readAccepted(annotations: unknown): readonly string[] | null {
  const value = asObject(annotations)?.[ACCEPT_ANNOTATION];
  if (value === undefined) return null;
  return typeof value === "string" ? value.split(",").map((name) => name.trim()) : [];
}

/** What an installation accepts as unsupported, and whether Ingresses may. */
export interface AcceptOptions {
  readonly acceptUnsupported: readonly string[];
  readonly allowAcceptUnsupportedAnnotation: boolean;
}

/** Who accepts the annotation as unsupported; null for nobody. @param accepted What the Ingress itself accepts. */
export function accepterOf(
  name: string,
  accepted: readonly string[] | null,
  { acceptUnsupported, allowAcceptUnsupportedAnnotation }: AcceptOptions,
): "operator" | "owner" | null {
  if (acceptUnsupported.includes(name)) return "operator";
  return allowAcceptUnsupportedAnnotation && accepted?.includes(name) === true ? "owner" : null;
}

/** Reports each in the order of their names. */
export function reportOwnAnnotations(annotations: unknown, report: Report): void {
  for (const name of Object.keys(asObject(annotations) ?? {}).sort()) {
    if (!name.startsWith(PREFIX) || OF_INGRESS.includes(name)) continue;
    const isOfService = SERVICE_ANNOTATIONS.includes(name);
    report.warning(`metadata.annotations[${JSON.stringify(name)}]`, {
      reason: "AnnotationUnknown",
      message: isOfService
        ? `annotation ${quote(name)} has no effect on an Ingress`
        : `there is no annotation ${quote(name)}, so it has no effect`,
      remedy: isOfService
        ? "Write it on the Service that the Ingress names"
        : "Remove the annotation, or use a name from docs/annotations.md",
    });
  }
}
