/**
 * What the controller would make of a folder. In: its objects and what the cluster sets. Out: the
 * outcome and the problems of each Ingress, of the very translation that the controller runs. The
 * Services that no file has are assumed, and every backend has an endpoint. Pure.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { Ingress, KubeConfigMap, Resources } from "../../controller/kube/resources.ts";
import { NginxAnnotations } from "../../controller/translate/annotations/nginx/nginx_annotations.ts";
import { PROFILE_ANNOTATION } from "../../controller/translate/annotations/own_annotation_names.ts";
import {
  type Clock,
  type IngressStatus,
  type TranslateOptions,
  Translator,
} from "../../controller/translate/translator.ts";
import {
  closedServices,
  hasBackendTls,
  isAboutBackendTls,
  settingProblems,
} from "../../dev/backend_tls.ts";
import { authenticatorsOf, localEndpoints } from "../../dev/local_endpoints.ts";
import type { LocatedObject } from "./cluster_findings.ts";
import { refOf } from "../../dev/problems/class_problems.ts";
import { formatObject, type Problem } from "../../shared/problem.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { assumedServices } from "./assumed_services.ts";
import type { LintOptions } from "./options.ts";
import { withAssumedCertificates } from "./tls/assumed_certificates.ts";

/** Nothing is dialled: it only shows that there would be an endpoint. */
const ENDPOINTS = [{ address: "127.0.0.1", port: 1 }];

/** Whatever the name of the one that the user gave. */
const CONFIG_MAP = { namespace: "ingress-nginx", name: "ingress-nginx-controller" };

export interface JudgedIngress {
  readonly ingress: Ingress;
  /** `default/web`. */
  readonly name: string;
  readonly status: IngressStatus;
  readonly problems: readonly Problem[];
  /** What of the ConfigMap closes all paths; null where they are not closed. */
  readonly closedBy: string | null;
}

export interface Judgement {
  readonly judged: readonly JudgedIngress[];
  /** Of classes that are not served. */
  readonly others: readonly Ingress[];
  /** Of the ConfigMap. */
  readonly globalProblems: readonly Problem[];
  /** Secrets that are in no file have certificates for the hosts that their entries list. */
  readonly snapshot: Snapshot;
}

/** @param configMap Of ingress-nginx; null for none. */
export function judge(
  resources: Resources,
  configMap: LocatedObject | null,
  options: LintOptions,
  clock: Clock,
): Judgement {
  const configMaps = configMap === null ? null : [named(configMap)];
  const isRead = ({ namespace }: { readonly namespace: string }) =>
    options.watchNamespaces.length === 0 || options.watchNamespaces.includes(namespace);
  const assumed = assumedServices(
    resources,
    // Of another namespace they are not read, wherever they are.
    authenticatorsOf({ ...resources, configMaps }, CONFIG_MAP).filter(isRead),
  );
  const given = {
    ...translateOptions(resources, options),
    configMap: configMap === null ? null : CONFIG_MAP,
  };
  const translator = new Translator();
  const written = hasBackendTls(resources)
    ? translator.translate({ ...resources, configMaps }, null, given, clock).problems
    : [];
  const local = localEndpoints(
    { ...resources, services: [...resources.services, ...assumed.services], configMaps },
    {
      closed: closedServices(written, resources),
      mappings: [],
      samples: () => ENDPOINTS,
      defaultBackend: null,
      configMap: CONFIG_MAP,
      samplesAuthenticate: true,
    },
  );
  const translated = translator.translate(local.resources, null, given, clock);
  const { statuses } = translated;
  const published = withAssumedCertificates(translated.snapshot, resources);
  const { snapshot } = published === null
    ? translated
    : translator.translate(local.resources, published, given, clock);
  const problems = [
    ...translated.problems,
    ...settingProblems(written, translated.problems).map(asVerdict),
  ];
  const byObject = Map.groupBy(
    problems,
    ({ object }) => object === null ? "" : formatObject(object),
  );
  const statusOf = new Map(statuses.map((status) => [formatObject(status.object), status]));
  const globalProblems = configMap === null
    ? []
    : byObject.get(formatObject({ kind: "ConfigMap", ...CONFIG_MAP })) ?? [];
  const closedBy = globalProblems.find(({ severity }) => severity === "error")?.message ?? null;
  const judged: JudgedIngress[] = [];
  const others: Ingress[] = [];
  for (const ingress of resources.ingresses) {
    const key = formatObject(refOf(ingress));
    const status = statusOf.get(key);
    if (status === undefined) others.push(ingress);
    else {
      const ofServices = serviceProblems(ingress, byObject);
      const problems = (byObject.get(key) ?? []).filter(({ reason }) =>
        // The Service says why.
        reason !== "UpstreamTlsInvalid" || ofServices.length === 0
      );
      judged.push({
        ...{ ingress, name: nameOf(ingress), status, closedBy },
        problems: [...problems, ...ofServices],
      });
    }
  }
  return { judged, others, globalProblems, snapshot };
}

/** Settings of TLS that ingress-nginx does not know: an error only where requests get none here. */
function asVerdict(problem: Problem): Problem {
  return { ...problem, severity: KEEP_OPEN.has(problem.reason) ? "warning" : "error" };
}

const KEEP_OPEN: ReadonlySet<string> = new Set([
  "UpstreamTlsIgnored",
  "UpstreamUnverified",
  "UpstreamVerifyInvalid",
]);

/** What is wrong with TLS to the Services that an Ingress names, at the first place of each. */
function serviceProblems(
  ingress: Ingress,
  byObject: ReadonlyMap<string, readonly Problem[]>,
): Problem[] {
  const object = refOf(ingress);
  const places = new Map<string, string>();
  for (const { name, field } of namedServices(ingress)) {
    if (!places.has(name)) places.set(name, field);
  }
  return [...places].flatMap(([name, field]) =>
    (byObject.get(formatObject({ ...object, kind: "Service", name })) ?? [])
      .filter(isAboutBackendTls)
      .map((problem) => ({
        ...problem,
        ...{ object, field },
        message: `Service ${name}: ${problem.message}`,
      }))
  );
}

function namedServices({ spec }: Ingress): { readonly name: string; readonly field: string }[] {
  const backends = [
    { backend: fieldOf(spec, "defaultBackend"), field: "spec.defaultBackend" },
    ...(asList(fieldOf(spec, "rules")) ?? []).flatMap((rule, i) =>
      (asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []).map((path, j) => ({
        backend: fieldOf(path, "backend"),
        field: `spec.rules[${i}].http.paths[${j}].backend`,
      }))
    ),
  ];
  return backends.flatMap(({ backend, field }) => {
    const name = asText(fieldOf(fieldOf(backend, "service"), "name"));
    return name === null ? [] : [{ name, field: `${field}.service.name` }];
  });
}

/** Of the controller that the objects are linted for. */
export function translateOptions(resources: Resources, options: LintOptions): TranslateOptions {
  const nginxClasses = [...options.nginxClasses, ...classesWithProfile(resources)];
  return {
    ingressClasses: nginxClasses,
    nginxClasses,
    controllerNames: options.controllerNames,
    watchIngressWithoutClass: true,
    defaultBackend: null,
    allowExternalName: options.allowExternalName,
    allowLocalEndpoints: true,
    acceptUnsupported: options.acceptUnsupported,
    allowAcceptUnsupportedAnnotation: options.allowAcceptUnsupportedAnnotation,
    defaultCertificate: null,
    hostOwnership: options.hostOwnership,
    version: { epoch: "file", seen: {} },
  };
}

function named({ value }: LocatedObject): KubeConfigMap {
  return { ...value, metadata: CONFIG_MAP } as KubeConfigMap;
}

/** Of Ingresses that have moved already. */
function classesWithProfile({ ingressClasses }: Resources): string[] {
  return ingressClasses.flatMap(({ metadata }) =>
    metadata?.annotations?.[PROFILE_ANNOTATION] === "nginx" ? metadata.name ?? [] : []
  );
}

/** The annotations of an Ingress, read as the controller reads them. */
export function annotationsOf({ ingress }: Pick<JudgedIngress, "ingress">): NginxAnnotations {
  return new NginxAnnotations(ingress.metadata?.annotations, ingress.spec);
}

/** `metadata.creationTimestamp`; null in files that people wrote. */
export function createdAt({ metadata }: Ingress): string | null {
  return asText(fieldOf(metadata, "creationTimestamp"));
}

/** `default/web`. */
export function nameOf(ingress: Ingress): string {
  const { namespace, name } = refOf(ingress);
  return `${namespace}/${name}`;
}

/** The class that an Ingress names; null for none. */
export function classOf(ingress: Ingress): string | null {
  return asText(fieldOf(ingress.spec, "ingressClassName")) ??
    asText(fieldOf(ingress.metadata?.annotations, "kubernetes.io/ingress.class"));
}
