/**
 * A folder's objects as the API server would hold them. In: parsed files in the order of their
 * names. Out: `Resources` for `translate`, a problem for what is not read, and where any field of
 * any object stands.
 */
import type {
  EndpointSlice,
  GatewayObject,
  Ingress,
  IngressClass,
  KubeConfigMap,
  KubeSecret,
  Namespace,
  Resources,
  Service,
} from "../../controller/kube/resources.ts";
import { GATEWAY_API } from "../../controller/kube/types.ts";
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";
import { type LocatedProblem, type ManifestFile, type ManifestObject } from "./file.ts";
import { formatPosition, type Position } from "./position.ts";

/** The kinds that are read, with the only version that is spoken. */
export const API_VERSIONS: Readonly<Record<string, string>> = {
  Ingress: "networking.k8s.io/v1",
  IngressClass: "networking.k8s.io/v1",
  Service: "v1",
  EndpointSlice: "discovery.k8s.io/v1",
  Secret: "v1",
  ConfigMap: "v1",
  Namespace: "v1",
};

/** Kinds of Gateway API that are read, with the versions in which they have the same fields, the newest first. */
export const GATEWAY_VERSIONS: Readonly<Record<string, readonly string[]>> = {
  GatewayClass: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1beta1`],
  Gateway: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1beta1`],
  HTTPRoute: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1beta1`],
  ReferenceGrant: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1beta1`],
  BackendTLSPolicy: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1alpha3`],
  ListenerSet: [`${GATEWAY_API}/v1`],
};

/** Kinds of Gateway API that route traffic, and are not served. */
const UNSERVED_KINDS: ReadonlySet<string> = new Set([
  "GRPCRoute",
  "TLSRoute",
  "TCPRoute",
  "UDPRoute",
]);

/** Groups in which older clusters had these kinds, so that a wrong version is told from another kind. */
const OLD_GROUPS: ReadonlySet<string> = new Set([
  "extensions",
  "networking.k8s.io",
  "discovery.k8s.io",
  "",
]);

/** The versions of a kind that are read; none for another kind, or one of another group. */
function versionsOf({ ref: { kind }, apiVersion }: ManifestObject): readonly string[] {
  const group = groupOf(apiVersion);
  if (Object.hasOwn(GATEWAY_VERSIONS, kind)) {
    return group === GATEWAY_API ? GATEWAY_VERSIONS[kind] : [];
  }
  const isKnown = Object.hasOwn(API_VERSIONS, kind);
  return isKnown && (OLD_GROUPS.has(group) || apiVersion === API_VERSIONS[kind])
    ? [API_VERSIONS[kind]]
    : [];
}

export class Manifests {
  readonly resources: Resources;
  readonly problems: readonly LocatedProblem[];
  readonly files: readonly ManifestFile[];
  #objects: ReadonlyMap<string, ManifestObject>;

  constructor(files: readonly ManifestFile[], unread: readonly LocatedProblem[] = []) {
    const problems = [...unread, ...files.flatMap((file) => file.problems)];
    const objects = new Map<string, ManifestObject>();
    const others = new Map<string, ManifestObject[]>();
    for (const object of files.flatMap((file) => file.objects)) {
      const versions = versionsOf(object);
      if (versions.includes(object.apiVersion)) {
        const key = formatObject(object.ref);
        const before = objects.get(key);
        if (before !== undefined) problems.push(duplicate(before, object));
        // Set anew, so that the order is that of the objects which count.
        objects.delete(key);
        objects.set(key, object);
      } else if (versions.length > 0) {
        problems.push(wrongVersion(object, versions[0]));
      } else {
        const key = `${groupOf(object.apiVersion)} ${object.ref.kind}`;
        const list = others.get(key);
        if (list === undefined) others.set(key, [object]);
        else list.push(object);
      }
    }
    for (const list of others.values()) problems.push(ignored(list));
    this.files = files;
    this.problems = problems;
    this.#objects = objects;
    this.resources = {
      ingresses: this.#values<Ingress>("Ingress"),
      ingressClasses: this.#values<IngressClass>("IngressClass"),
      services: this.#values<Service>("Service"),
      endpointSlices: this.#values<EndpointSlice>("EndpointSlice"),
      secrets: this.#values<KubeSecret>("Secret"),
      configMaps: this.#values<KubeConfigMap>("ConfigMap"),
      namespaces: this.#values<Namespace>("Namespace"),
      gatewayClasses: this.#values<GatewayObject>("GatewayClass"),
      gateways: this.#values<GatewayObject>("Gateway"),
      httpRoutes: this.#values<GatewayObject>("HTTPRoute"),
      referenceGrants: this.#values<GatewayObject>("ReferenceGrant"),
      backendTlsPolicies: this.#values<GatewayObject>("BackendTLSPolicy"),
      gatewayConfigMaps: this.#values<KubeConfigMap>("ConfigMap"),
      listenerSets: this.#values<GatewayObject>("ListenerSet"),
    };
  }

  /** Objects that are read, in the order of files. */
  get refs(): readonly ObjectRef[] {
    return [...this.#objects.values()].map(({ ref }) => ref);
  }

  /** Where a field of an object stands, or what is around it; null for an object not read here. */
  locate(object: ObjectRef | null, field: string): Position | null {
    if (object === null) return null;
    return this.#objects.get(formatObject(object))?.locate(field) ?? null;
  }

  /** Puts each problem to its place in the files. */
  locateAll(problems: readonly Problem[]): LocatedProblem[] {
    return problems.map((problem) => ({ problem, at: this.locate(problem.object, problem.field) }));
  }

  /** The objects of a kind, with the namespace that was left out filled in. */
  #values<T>(kind: string): T[] {
    return [...this.#objects.values()]
      .filter(({ ref }) => ref.kind === kind)
      .map(({ ref, value }) => {
        const metadata = value.metadata as Record<string, unknown>;
        if (ref.namespace === "" || metadata.namespace === ref.namespace) return value as T;
        return { ...value, metadata: { ...metadata, namespace: ref.namespace } } as T;
      });
  }
}

/** `networking.k8s.io` of `networking.k8s.io/v1`; "" for the core group's `v1`. */
function groupOf(apiVersion: string): string {
  const slash = apiVersion.lastIndexOf("/");
  return slash === -1 ? "" : apiVersion.slice(0, slash);
}

function duplicate(before: ManifestObject, object: ManifestObject): LocatedProblem {
  const at = before.locate("");
  return {
    at,
    problem: {
      object: before.ref,
      field: "",
      reason: "ObjectDuplicated",
      message:
        `it is written again at ${formatPosition(object.locate(""))}, which is used, as the ` +
        "last one does for kubectl apply",
      remedy: "Remove one of the two, or give it another name",
      severity: "error",
    },
  };
}

function wrongVersion(object: ManifestObject, version: string): LocatedProblem {
  return {
    at: object.locate("apiVersion"),
    leftOut: object.value,
    problem: {
      object: object.ref,
      field: "apiVersion",
      reason: "ApiVersionNotSupported",
      message:
        `apiVersion ${object.apiVersion} of ${object.ref.kind} is not read, so this object ` +
        "is left out",
      remedy: `Write it as ${version} (kubectl convert does so)`,
      severity: "error",
    },
  };
}

function ignored(objects: readonly ManifestObject[]): LocatedProblem {
  const [first] = objects;
  const { kind } = first.ref;
  if (groupOf(first.apiVersion) === GATEWAY_API && UNSERVED_KINDS.has(kind)) {
    return unserved(objects);
  }
  const meant = Object.keys(API_VERSIONS).find((known) =>
    ["", "s", "es"].some((plural) => (known + plural).toLowerCase() === kind.toLowerCase())
  );
  const group = groupOf(first.apiVersion);
  const named = group === "" ? kind : `${kind} (${group})`;
  return {
    at: first.locate("kind"),
    problem: {
      object: first.ref,
      field: "kind",
      reason: "KindIgnored",
      message: objects.length === 1
        ? `${named} is not a kind that Pingress reads, so it is ignored`
        : `${named} is not a kind that Pingress reads, so all ${objects.length} of them are ` +
          "ignored; this is the first",
      remedy: meant !== undefined && group === groupOf(API_VERSIONS[meant]) && meant !== kind
        ? `If you mean ${meant}, write it so`
        : `Nothing to do; it reads ${
          [...Object.keys(API_VERSIONS), ...Object.keys(GATEWAY_VERSIONS)].join(", ")
        }`,
      severity: "warning",
    },
  };
}

function unserved(objects: readonly ManifestObject[]): LocatedProblem {
  const [first] = objects;
  const { kind } = first.ref;
  return {
    at: first.locate("kind"),
    problem: {
      object: first.ref,
      field: "kind",
      reason: "KindNotServed",
      message: objects.length === 1
        ? `${kind} is not served yet, so it gets no traffic`
        : `${kind} is not served yet, so all ${objects.length} of them get no traffic; this is the first`,
      remedy: "Write an HTTPRoute if HTTP is enough",
      severity: "warning",
    },
  };
}
