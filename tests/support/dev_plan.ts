/**
 * A folder of manifests in memory. In: texts by file name. Out: what `deno task dev` makes of them.
 */
import { ManualClock } from "../../shared/clock.ts";
import type { SampleEndpoints } from "../../dev/local_endpoints.ts";
import { parseManifestFile } from "../../dev/manifests/file.ts";
import { Manifests } from "../../dev/manifests/manifests.ts";
import { makePlan, type Plan, type PlanOptions } from "../../dev/plan.ts";
import { parseServiceMapping } from "../../dev/service_mapping.ts";

/** Where the two sample backends would listen. */
export const SAMPLE_ENDPOINTS = [
  { address: "127.0.0.1", port: 4001 },
  { address: "127.0.0.1", port: 4002 },
];

/** Where those would that speak HTTP/2. */
export const HTTP2_SAMPLE_ENDPOINTS = [
  { address: "127.0.0.1", port: 4003 },
  { address: "127.0.0.1", port: 4004 },
];

export interface PlanInput extends Partial<Omit<PlanOptions, "mappings">> {
  /** As after `--map`. */
  readonly map?: readonly string[];
  /** The time; `NOW` where it is missing. */
  readonly now?: string;
}

/** The class `pingress` with the profile nginx. */
export const NGINX_PROFILE = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: { name: pingress, annotations: { pingress.io/profile: nginx } }
spec: { controller: pingress.io/ingress-controller }
`;

export const NOW = "2030-01-01T00:00:00Z";

export function readTexts(files: Readonly<Record<string, string>>): Manifests {
  return new Manifests(
    Object.entries(files).map(([file, text]) => parseManifestFile(file, text)),
  );
}

export function planOptions(input: PlanInput = {}): PlanOptions {
  const mappings = (input.map ?? []).map((text) => {
    const mapping = parseServiceMapping(text);
    if (typeof mapping === "string") throw new Error(`${text} is not ${mapping}`);
    return mapping;
  });
  return {
    ingressClasses: input.ingressClasses ?? [],
    nginxClasses: input.nginxClasses ?? [],
    mappings,
    defaultBackend: input.defaultBackend ?? null,
    allowExternalName: input.allowExternalName ?? false,
    hostOwnership: input.hostOwnership,
    backend: input.backend,
    configMap: input.configMap,
    acceptUnsupported: input.acceptUnsupported ?? [],
    allowAcceptUnsupportedAnnotation: input.allowAcceptUnsupportedAnnotation ?? false,
  };
}

export function planFor(files: Readonly<Record<string, string>>, input: PlanInput = {}): Plan {
  return planOf(readTexts(files), input);
}

export function planOf(manifests: Manifests, input: PlanInput = {}): Plan {
  const clock = new ManualClock(input.now ?? NOW);
  const samples: SampleEndpoints = (_namespace, _name, version) =>
    version === "HTTP/2" ? HTTP2_SAMPLE_ENDPOINTS : SAMPLE_ENDPOINTS;
  return makePlan(manifests, planOptions(input), samples, null, () => clock.now());
}

/** `file:line  object  field  reason` of each problem. */
export function problemLines(plan: Plan): string[] {
  return plan.problems.map(({ problem, at }) =>
    [
      at === null ? "-" : `${at.file}:${at.line}`,
      problem.object === null
        ? "-"
        : [problem.object.kind, problem.object.namespace, problem.object.name].join("/"),
      problem.field || "-",
      problem.reason,
    ].join("  ")
  );
}
