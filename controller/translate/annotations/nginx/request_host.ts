/**
 * The Host that backends get. In: annotations of one Ingress. Out: the filter of its routes that sets
 * it; null where backends get the client's.
 */
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { PATHS } from "./rows/paths.ts";
import type { TemplatePart } from "./rows/template.ts";

type HostPart = Extract<FilterSpec, { readonly kind: "request-host" }>["parts"][number];

/** @param namespace Of the Ingress. */
export function readRequestHost(
  annotations: NginxAnnotations,
  namespace: string,
): FilterSpec | null {
  const parts = annotations.valueOf(PATHS, "upstream-vhost");
  return parts === null
    ? null
    : { kind: "request-host", parts: parts.map((part) => hostPart(part, namespace)) };
}

function hostPart(part: TemplatePart, namespace: string): HostPart {
  if (part.kind === "literal") return { kind: "text", text: part.text };
  if (part.name === "namespace") return { kind: "text", text: namespace };
  // In ingress-nginx $best_http_host is Host, or the name of the server where there is none.
  return { kind: part.name === "host" ? "host" : "authority" };
}
