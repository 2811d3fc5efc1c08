/**
 * CRDs of Gateway API. In: the objects of a release, and the CRDs of a cluster. Out: what is to be applied,
 * or why nothing may be, by object and field. Pure.
 *
 * https://gateway-api.sigs.k8s.io/concepts/versioning/
 */
import { asList, asObject, fieldOf, isAbsent, quote, showSome } from "../controller/base/json.ts";
import {
  BUNDLE_VERSION,
  GATEWAY_API,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
} from "../controller/kube/types.ts";
import type { KubeObject } from "../controller/kube/types.ts";
import { isSupportedBundle } from "../controller/outputs/gateway_status/class_status.ts";

/** The release that the conformance suite is of. */
export const CRD_RELEASE =
  "https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.6.3/standard-install.yaml";

/** Of server-side apply. */
export const CRD_MANAGER = "pingress-deploy";

export const CRD_KIND = "CustomResourceDefinition";

const CHANNEL = `${GATEWAY_API}/channel`;
const STANDARD = "standard";

/** The name of the policy of the release that rejects older CRDs and other channels. */
const SAFE_UPGRADES = `safe-upgrades.${GATEWAY_API}`;
const CRD_API = "apiextensions.k8s.io";
const ADMISSION = "admissionregistration.k8s.io/v1";

/** Without them nothing is served. */
const NEEDED = [GATEWAY_CLASSES, GATEWAYS, HTTP_ROUTES].map(({ plural }) =>
  `${plural}.${GATEWAY_API}`
);

export interface CrdBundle {
  /** `v1.6.3`. */
  readonly version: string;
  /** CRDs, and the admission policy of the release with its binding. */
  readonly objects: readonly KubeObject[];
}

/** The bundle, or the first object and field that must not be applied. */
export function readBundle(
  objects: readonly unknown[],
): CrdBundle | { readonly fault: string } {
  const present = objects.filter((object) => !isAbsent(object));
  if (present.length === 0) return { fault: "it has no objects" };
  const version = annotationOf(present[0], BUNDLE_VERSION);
  for (const object of present) {
    const fault = objectFault(object) ?? annotationFault(object, version);
    if (fault !== null) return { fault: `${titleOf(object)}: ${fault}` };
  }
  const bundle = { version: String(version), objects: present as KubeObject[] };
  if (!isSupportedBundle(bundle.version)) {
    return {
      fault: `${titleOf(present[0])}: the annotation ${BUNDLE_VERSION} is ${quote(version)}, and ` +
        "v1.0 to v1.6 are supported",
    };
  }
  const names = crdsOf(bundle).map(({ metadata }) => metadata.name);
  const missing = NEEDED.filter((name) => !names.includes(name));
  return missing.length === 0 ? bundle : { fault: `it has no ${CRD_KIND} ${showSome(missing)}` };
}

export function crdsOf({ objects }: CrdBundle): KubeObject[] {
  return objects.filter(({ kind }) => kind === CRD_KIND);
}

/** Why an object is none that a release has; null for one that is. */
function objectFault(object: unknown): string | null {
  const [apiVersion, kind] = [fieldOf(object, "apiVersion"), fieldOf(object, "kind")];
  const [metadata, spec] = [fieldOf(object, "metadata"), fieldOf(object, "spec")];
  const name = fieldOf(metadata, "name");
  switch (`${kind} ${apiVersion}`) {
    case `${CRD_KIND} ${CRD_API}/v1`: {
      const group = fieldOf(spec, "group");
      if (group !== GATEWAY_API) return unlike("spec.group", group, GATEWAY_API);
      const wanted = `${fieldOf(fieldOf(spec, "names"), "plural")}.${GATEWAY_API}`;
      return name === wanted ? null : unlike("metadata.name", name, wanted);
    }
    case `ValidatingAdmissionPolicy ${ADMISSION}`: {
      if (name !== SAFE_UPGRADES) return unlike("metadata.name", name, SAFE_UPGRADES);
      // It may reject CRDs, and nothing else.
      const rules = asList(fieldOf(fieldOf(spec, "matchConstraints"), "resourceRules")) ?? [];
      const groups = rules.flatMap((rule) => asList(fieldOf(rule, "apiGroups")) ?? []);
      const other = groups.find((group) => group !== CRD_API);
      return other === undefined
        ? null
        : unlike("spec.matchConstraints.resourceRules.apiGroups", other, CRD_API);
    }
    case `ValidatingAdmissionPolicyBinding ${ADMISSION}`: {
      if (name !== SAFE_UPGRADES) return unlike("metadata.name", name, SAFE_UPGRADES);
      const policy = fieldOf(spec, "policyName");
      return policy === SAFE_UPGRADES ? null : unlike("spec.policyName", policy, SAFE_UPGRADES);
    }
    default:
      return `kind ${quote(kind)} of ${quote(apiVersion)} is not part of the CRDs of Gateway API`;
  }
}

function annotationFault(object: unknown, version: unknown): string | null {
  const [own, channel] = [annotationOf(object, BUNDLE_VERSION), annotationOf(object, CHANNEL)];
  if (typeof own !== "string") return `the annotation ${BUNDLE_VERSION} is missing`;
  if (own !== version) return unlike(`the annotation ${BUNDLE_VERSION}`, own, String(version));
  return channel === STANDARD ? null : unlike(`the annotation ${CHANNEL}`, channel, STANDARD);
}

function unlike(field: string, value: unknown, wanted: string): string {
  return isAbsent(value)
    ? `${field} is missing`
    : `${field} is ${quote(value)} instead of ${quote(wanted)}`;
}

function titleOf(object: unknown): string {
  const kind = fieldOf(object, "kind");
  const name = fieldOf(fieldOf(object, "metadata"), "name");
  return typeof kind === "string" && typeof name === "string" ? `${kind} ${name}` : "an object";
}

function annotationOf(object: unknown, name: string): unknown {
  return fieldOf(fieldOf(fieldOf(object, "metadata"), "annotations"), name);
}

/** What is to be done in a cluster. */
export type CrdPlan =
  | { readonly kind: "apply" }
  /** All CRDs of the bundle are there in its version. */
  | { readonly kind: "present" }
  /** One line for each CRD that stands against it. */
  | { readonly kind: "refused"; readonly reasons: readonly string[]; readonly remedy: string };

/** @param standing The cluster's CRDs, with managed fields. */
export function planCrds(bundle: CrdBundle, standing: readonly KubeObject[]): CrdPlan {
  const own = standing.filter((crd) => fieldOf(fieldOf(crd, "spec"), "group") === GATEWAY_API);
  const reasons = own.flatMap((crd) => standingFault(crd, bundle.version) ?? []);
  if (reasons.length > 0) {
    return {
      kind: "refused",
      reasons,
      remedy: "Keep the CRDs that are there: use --gateway instead of --gateway-crds",
    };
  }
  const present = new Map(own.map((crd) => [crd.metadata.name, annotationOf(crd, BUNDLE_VERSION)]));
  const differing = crdsOf(bundle).filter(({ metadata: { name } }) =>
    present.get(name) !== bundle.version
  );
  if (differing.length === 0) return { kind: "present" };
  const managed = own.filter(({ metadata: { name } }) =>
    differing.some(({ metadata }) => metadata.name === name)
  ).flatMap((crd) => {
    const managers = foreignManagers(crd);
    return managers.length === 0
      ? []
      : [`${titleOf(crd)} is managed by ${managers.map(quote).join(", ")}`];
  });
  return managed.length === 0 ? { kind: "apply" } : {
    kind: "refused",
    reasons: managed,
    remedy: "Upgrade the CRDs with what manages them, and use --gateway instead of --gateway-crds",
  };
}

/** Why a CRD must stay as it is; null where it may be replaced. */
function standingFault(crd: KubeObject, wanted: string): string | null {
  const [version, channel] = [annotationOf(crd, BUNDLE_VERSION), annotationOf(crd, CHANNEL)];
  if (channel !== STANDARD) {
    return `${titleOf(crd)} is of the channel ${quote(channel)}, not of ${STANDARD}`;
  }
  const order = typeof version === "string" ? compareBundles(version, wanted) : null;
  if (order === null) {
    return `${titleOf(crd)} is of the version ${quote(version)}, which cannot be compared with ` +
      wanted;
  }
  return order > 0
    ? `${titleOf(crd)} is of the version ${quote(version)}, newer than ${wanted}`
    : null;
}

const BUNDLE = /^v(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-([\w.-]{1,40}))?$/;

/** Below 0 where the first is older; a release candidate is older than its release. Null: not comparable. */
export function compareBundles(first: string, second: string): number | null {
  const [a, b] = [BUNDLE.exec(first), BUNDLE.exec(second)];
  if (a === null || b === null) return null;
  for (const part of [1, 2, 3]) {
    const difference = Number(a[part]) - Number(b[part]);
    if (difference !== 0) return difference;
  }
  if (a[4] === b[4]) return 0;
  if (a[4] === undefined || b[4] === undefined) return a[4] === undefined ? 1 : -1;
  return a[4].localeCompare(b[4], "en", { numeric: true });
}

/** Who else has written it, by hand with kubectl aside: they would put their version back. */
function foreignManagers(crd: KubeObject): string[] {
  const managers = (crd.metadata.managedFields ?? []).flatMap((entry) => {
    const manager = fieldOf(entry, "manager");
    const isOurs = manager === CRD_MANAGER || /^kubectl\b/.test(String(manager));
    const writesSpec = asObject(fieldOf(fieldOf(entry, "fieldsV1"), "f:spec")) !== null;
    return isOurs || !writesSpec || typeof manager !== "string" ? [] : [manager];
  });
  return [...new Set(managers)];
}
