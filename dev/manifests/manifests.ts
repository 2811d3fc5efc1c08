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
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";
import { type LocatedProblem, type ManifestFile, type ManifestObject } from "./file.ts";
import type { Excerpt } from "./excerpt.ts";
import { foreignFile } from "./foreign_document.ts";
import { GATEWAY_VERSIONS, groupOf, type KindReading, kindReading, READ_KINDS } from "./kinds.ts";
import { Kustomize } from "./kustomize.ts";
import { formatPosition, type Position } from "./position.ts";

/** One key or index of `Problem.field`. */
const STEP = /\["([^"]*)"\]|\[(\d+)\]|([^.[\]]+)/g;

export class Manifests {
  readonly resources: Resources;
  readonly problems: readonly LocatedProblem[];
  readonly files: readonly ManifestFile[];
  #objects: ReadonlyMap<string, ManifestObject>;
  #byName: ReadonlyMap<string, ManifestFile> | null = null;

  constructor(files: readonly ManifestFile[], unread: readonly LocatedProblem[] = []) {
    const kustomize = new Kustomize(files);
    const problems = [
      ...unread,
      ...kustomize.files.flatMap((file) => file.problems),
      ...kustomize.problems,
    ];
    const objects = new Map<string, ManifestObject>();
    const others = new Map<string, ManifestObject[]>();
    for (const object of kustomize.files.flatMap((file) => file.objects)) {
      const reading = kindReading(object.apiVersion, object.ref.kind);
      if (reading.kind === "read") {
        const key = formatObject(object.ref);
        const before = objects.get(key);
        if (before !== undefined) problems.push(duplicate(before, object, kustomize));
        // Set anew, so that the order is that of the objects which count.
        objects.delete(key);
        objects.set(key, object);
      } else if (reading.kind === "another-version") {
        problems.push(wrongVersion(object, reading.version));
      } else if (reading.kind === "misspelt") {
        problems.push(misspelt(object, reading));
      } else {
        const key = `${groupOf(object.apiVersion)} ${object.ref.kind}`;
        const list = others.get(key);
        if (list === undefined) others.set(key, [object]);
        else list.push(object);
      }
    }
    for (const list of others.values()) problems.push(ignored(list));
    this.files = kustomize.files;
    this.problems = problems.map((one) =>
      one.excerpt === undefined ? { ...one, excerpt: this.excerptAt(one.at) } : one
    );
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

  /** The value of a field (see `Problem.field`); undefined where there is none. */
  valueAt(object: ObjectRef | null, field: string): unknown {
    if (object === null) return undefined;
    let value: unknown = this.#objects.get(formatObject(object))?.value;
    for (const [, quoted, index, name] of field.matchAll(STEP)) {
      const key = quoted ?? index ?? name;
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) {
        return undefined;
      }
      value = (value as Record<string, unknown>)[key];
    }
    return value;
  }

  /** Puts each problem to its place in the files. */
  locateAll(problems: readonly Problem[]): LocatedProblem[] {
    return problems.map((problem) => {
      const at = this.locate(problem.object, problem.field);
      return { problem, at, excerpt: this.excerptAt(at) };
    });
  }

  /** The line of a place where a field of an object stands; null for one that must not be shown. */
  excerptAt(at: Position | null): Excerpt | null {
    if (at === null) return null;
    this.#byName ??= new Map(this.files.map((file) => [file.file, file]));
    return this.#byName.get(at.file)?.excerptAt(at) ?? null;
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

function duplicate(
  before: ManifestObject,
  object: ManifestObject,
  kustomize: Kustomize,
): LocatedProblem {
  const at = before.locate("");
  const again = object.locate("");
  const command = kustomize.commandFor([again.file, at.file]);
  return {
    at,
    problem: {
      object: before.ref,
      field: "",
      reason: "ObjectDuplicated",
      message: `it is written again at ${formatPosition(again)}, which is used, as the ` +
        "last one does for kubectl apply",
      remedy: command === null
        ? "Remove one of the two, or give it another name"
        : `Render what Kustomize makes of both, and name the file that comes out: ${command}`,
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
      // Of custom resources, kubectl convert knows no versions.
      remedy: isOlder(object.apiVersion, version) &&
          !Object.hasOwn(GATEWAY_VERSIONS, object.ref.kind)
        ? `Write it as ${version} (kubectl convert does so)`
        : `Write apiVersion: ${version}`,
      severity: "error",
    },
  };
}

/** Groups that had the kinds that are read before their present ones. */
const OLD_GROUPS: ReadonlySet<string> = new Set(["extensions", "networking.k8s.io"]);

function isOlder(apiVersion: string, version: string): boolean {
  const group = groupOf(apiVersion);
  return group === groupOf(version) || OLD_GROUPS.has(group);
}

/** Nothing is read of it, and nobody else would read it. */
function misspelt(
  { ref, apiVersion, value, locate }: ManifestObject,
  { field, meant }: Extract<KindReading, { readonly kind: "misspelt" }>,
): LocatedProblem {
  return {
    at: locate(field),
    leftOut: value,
    problem: {
      object: ref,
      field,
      reason: "KindUnknown",
      message: `there is no kind ${ref.kind} in ${apiVersion}, so this object is left out`,
      remedy: `Write "${meant}"`,
      severity: "error",
    },
  };
}

function ignored(objects: readonly ManifestObject[]): LocatedProblem {
  const [first] = objects;
  const { kind } = first.ref;
  if (kindReading(first.apiVersion, kind).kind === "unserved") return unserved(objects);
  const group = groupOf(first.apiVersion);
  const named = group === "" ? kind : `${kind} (${group})`;
  const hint = foreignFile(first.locate("").file)?.hint ?? null;
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
      remedy: hint === null
        ? `Nothing to do; it reads ${READ_KINDS.join(", ")}`
        : `Nothing to do; to serve it, ${hint}`,
      severity: "info",
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
