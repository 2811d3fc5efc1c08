/**
 * What a folder of manifests comes to on this machine. In: manifests, options and where sample
 * backends listen. Out: the snapshot for the proxy, and every problem with its place in the files,
 * those of Ingresses that are not served included.
 */
import type { Ingress } from "../controller/kube/resources.ts";
import {
  type Clock,
  DEFAULT_GATEWAY_OPTIONS,
  type DefaultBackend,
  type GatewayTranslation,
  type HostOwner,
  type HostOwnershipMode,
  type IngressStatus,
  type RefusalOptions,
  type TranslateOptions,
  Translator,
} from "../controller/translate/translator.ts";
import { BY_NAME, NGINX_PREFIX } from "../controller/translate/annotations/nginx/table.ts";
import type { ConfigMapName } from "../controller/translate/model/global_settings.ts";
import { isDnsName } from "../controller/base/names.ts";
import type { PortRange } from "../shared/net/port_range.ts";
import { nearestName } from "../shared/nearest_name.ts";
import { formatObject, type ObjectRef, type Problem } from "../shared/problem.ts";
import type { Snapshot } from "../shared/snapshot/types.ts";
import { withAssumedObjects } from "./gateway/assumed_objects.ts";
import { gatewayProblems } from "./gateway/gateway_problems.ts";
import { localEndpoints, type SampleEndpoints, type StandIn } from "./local_endpoints.ts";
import type { LocatedProblem } from "./manifests/file.ts";
import type { Manifests } from "./manifests/manifests.ts";
import { withSampleProtocols } from "./sample_upstreams.ts";
import type { ServiceMapping } from "./service_mapping.ts";
import { START_WITH_NETWORK, WITHOUT_DENO } from "./start_command.ts";

const CLASS = "pingress";
/** Of ingress-nginx's own manifests. */
const NGINX_CLASS = "nginx";
const CONTROLLER = "pingress.io/ingress-controller";

/** By which Ingresses named their class before `spec.ingressClassName`. */
const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

export interface PlanOptions extends RefusalOptions {
  /** Classes beside our own. */
  readonly ingressClasses: readonly string[];
  /** Classes that are served in the profile nginx. */
  readonly nginxClasses: readonly string[];
  /** Of ingress-nginx; missing or null for none. */
  readonly configMap?: ConfigMapName | null;
  /** `namespace` where it is missing. */
  readonly hostOwnership?: HostOwnershipMode;
  readonly mappings: readonly ServiceMapping[];
  readonly defaultBackend: DefaultBackend | null;
  readonly allowExternalName: boolean;
  /** Of ports for listeners of Gateways; missing for the default. */
  readonly listenRange?: PortRange;
}

export interface Plan {
  readonly snapshot: Snapshot;
  readonly statuses: readonly IngressStatus[];
  /** Null where the folder has no Gateway. */
  readonly gateway: GatewayTranslation | null;
  /** In the order of files and lines; what stands in no file comes last. */
  readonly problems: readonly LocatedProblem[];
  /** See `LocalEndpoints.standIns`. */
  readonly standIns: ReadonlyMap<string, StandIn>;
  readonly hostOwnership: HostOwnershipMode;
  /** By host pattern; none where hosts are shared. */
  readonly hostOwners: ReadonlyMap<string, HostOwner>;
}

/** Pure but for `samples`. `published` is the snapshot before, null at first. */
export function makePlan(
  manifests: Manifests,
  options: PlanOptions,
  samples: SampleEndpoints,
  published: Snapshot | null,
  clock: Clock,
): Plan {
  const translateOptions = toTranslateOptions(options);
  const resources = withAssumedObjects(manifests.resources);
  const local = localEndpoints(resources, { ...options, samples });
  // Of both translations below, so that what they have in common is read once.
  const translator = new Translator();
  const translated = translator.translate(local.resources, published, translateOptions, clock);
  const problems = [
    ...local.problems,
    ...translated.problems
      .filter((problem) => !isOfSlice(problem))
      .map(inWordsOfDev),
    ...translator.translate(resources, published, translateOptions, clock).problems
      .filter(isOfSlice),
    ...classProblems(manifests, translated.statuses),
    ...(translated.gateway === null
      ? []
      : gatewayProblems(resources, translated.gateway).map(inWordsOfDev)),
  ];
  return {
    snapshot: withSampleProtocols(translated.snapshot, local.standIns, samples),
    statuses: translated.statuses,
    gateway: (resources.gateways ?? []).length === 0 ? null : translated.gateway,
    problems: [...manifests.problems, ...manifests.locateAll(problems)].sort(byPlace),
    standIns: local.standIns,
    hostOwnership: translateOptions.hostOwnership,
    hostOwners: translated.hostOwners,
  };
}

export function toTranslateOptions(options: PlanOptions): TranslateOptions {
  return {
    ingressClasses: [CLASS, ...options.ingressClasses, ...options.nginxClasses],
    nginxClasses: options.nginxClasses,
    controllerNames: [CONTROLLER],
    watchIngressWithoutClass: true,
    defaultBackend: options.defaultBackend,
    allowExternalName: options.allowExternalName,
    configMap: options.configMap,
    acceptUnsupported: options.acceptUnsupported,
    allowAcceptUnsupportedAnnotation: options.allowAcceptUnsupportedAnnotation,
    defaultCertificate: null,
    allowLocalEndpoints: true,
    hostOwnership: options.hostOwnership ?? "namespace",
    gateway: {
      ...DEFAULT_GATEWAY_OPTIONS,
      ...(options.listenRange === undefined ? {} : { listenRange: options.listenRange }),
    },
    version: { epoch: "file", seen: {} },
  };
}

/** What `translate` says of a cluster is otherwise here. */
function inWordsOfDev(problem: Problem): Problem {
  switch (problem.reason) {
    case "ExternalNameNotAllowed":
      return {
        ...problem,
        remedy: `Use another type of Service, or start with ${START_WITH_NETWORK} ` +
          `--allow-external-name${WITHOUT_DENO}`,
      };
    case "NginxAnnotation": {
      const meant = meantAnnotation(problem.field);
      return meant === null ? problem : {
        ...problem,
        remedy: `Write ${meant} if you mean that, or remove the annotation`,
      };
    }
    case "HostNotOwned":
      return {
        ...problem,
        remedy: `${problem.remedy}, or start with --host-ownership=shared, as ingress-nginx does`,
      };
    case "InvalidCertificateRef":
      return {
        ...problem,
        remedy:
          `${problem.remedy}; until then clients are shown a certificate that this program generates`,
      };
    case "SecretNotFound":
    case "SecretInvalid":
      // Those with passwords have none in their place.
      return !isAboutCertificate(problem) ? problem : {
        ...problem,
        remedy:
          `${problem.remedy}; until then clients of hosts of rules are shown one that this program generates`,
      };
    default:
      return problem;
  }
}

/** The annotation of ingress-nginx whose name is misspelt in a field; null for one that is known. */
function meantAnnotation(field: string): string | null {
  const [, name] = field.split(NGINX_PREFIX);
  const written = name?.slice(0, -'"]'.length) ?? "";
  return BY_NAME.has(written) ? null : nearestName(written, BY_NAME.keys());
}

/** Of a host: of an entry of an Ingress, or of a Secret, be it used by several. */
function isAboutCertificate({ object, field }: Problem): boolean {
  return object?.kind === "Secret" || field.startsWith("spec.tls");
}

/** They are reported as they were written: slices with local addresses have other fields. */
function isOfSlice({ object }: Problem): boolean {
  return object?.kind === "EndpointSlice";
}

/** Ingresses of classes that are not served. */
function classProblems(manifests: Manifests, statuses: readonly IngressStatus[]): Problem[] {
  const served = new Set(statuses.map(({ object }) => formatObject(object)));
  return manifests.resources.ingresses.flatMap((ingress) => {
    const object = refOf(ingress);
    return served.has(formatObject(object)) ? [] : notServed(object, ingress);
  });
}

function notServed(object: ObjectRef, ingress: Ingress): Problem[] {
  const written: unknown = ingress.spec?.ingressClassName;
  const annotated: unknown = ingress.metadata?.annotations?.[CLASS_ANNOTATION];
  const name = written ?? annotated;
  if (name === undefined) return [];
  const isClass = typeof name === "string" && isDnsName(name);
  return [{
    object,
    field: written === undefined || written === null
      ? `metadata.annotations["${CLASS_ANNOTATION}"]`
      : "spec.ingressClassName",
    reason: "ClassNotServed",
    message: `not served: class ${isClass ? name : JSON.stringify(name)}`,
    remedy: !isClass
      ? `write the name of a class, such as ${CLASS}`
      : `add ${isOfNginx(ingress, name) ? "--nginx-class" : "--ingress-class"} ${name}`,
    severity: "warning",
  }];
}

/** Whether it was most likely written for ingress-nginx. */
function isOfNginx({ metadata }: Ingress, name: string): boolean {
  return name === NGINX_CLASS ||
    Object.keys(metadata?.annotations ?? {}).some((key) => key.startsWith(NGINX_PREFIX));
}

export function refOf(ingress: Ingress): ObjectRef {
  const { namespace, name } = ingress.metadata ?? {};
  return { kind: "Ingress", namespace: namespace ?? "default", name: name ?? "" };
}

function byPlace(a: LocatedProblem, b: LocatedProblem): number {
  if (a.at === null || b.at === null) return Number(a.at === null) - Number(b.at === null);
  return (a.at.file < b.at.file ? -1 : a.at.file > b.at.file ? 1 : 0) ||
    a.at.line - b.at.line || a.at.column - b.at.column;
}
