/**
 * Problems of the translation as they are shown at a terminal. In: problems, and the files that they are about.
 * Out: the same with remedies that fit here: what was most likely meant, where it is, and which flag
 * helps; severities by what a client sees; and without what only follows from another problem. Pure.
 */
import { asObject } from "../../controller/base/json.ts";
import { BY_NAME, NGINX_PREFIX } from "../../controller/translate/annotations/nginx/table.ts";
import { KEYS } from "../../controller/translate/config_map/table.ts";
import { nearestName } from "../../shared/nearest_name.ts";
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";
import type { LocatedProblem } from "../manifests/file.ts";
import type { Manifests } from "../manifests/manifests.ts";
import { formatPosition } from "../manifests/position.ts";
import { keyRemedy, nginxRemedy, ownRemedy } from "./annotation_suggestion.ts";
import { START_WITH_NETWORK, WITHOUT_DENO } from "../start_command.ts";
import { followsFromProtocol, withMeant } from "./meant_values.ts";
import { BROKEN, NEEDLESS } from "./severities.ts";

const ALLOW_EXTERNAL_NAME =
  `Use a Service with a selector or EndpointSlices, or start with ${START_WITH_NETWORK} ` +
  `--allow-external-name${WITHOUT_DENO}`;

/** Of ports for listeners of Gateways. */
const CONTROLLER_RANGE = "start the controller with a larger range";
const DEV_RANGE = "start with a larger --listen-range";

/** What `translate` says of a cluster is otherwise here. */
export function inWordsOfDev(problems: readonly Problem[], manifests: Manifests): Problem[] {
  const known = new KnownObjects(manifests);
  return problems.filter((problem) => !followsFromProtocol(problem, manifests))
    .map((problem) => withMeant(inWords(problem, known), manifests));
}

function inWords(problem: Problem, known: KnownObjects): Problem {
  switch (problem.reason) {
    case "ExternalNameNotAllowed":
      return {
        ...problem,
        remedy: ALLOW_EXTERNAL_NAME,
      };
    case "HostNotOwned":
      return {
        ...problem,
        remedy: `${problem.remedy}, or start with --host-ownership=shared, as ingress-nginx does`,
      };
    case "BackendNotFound":
      // The condition of a route has one reason for all that leads to no backend.
      return problem.remedy.endsWith(" --allow-external-name")
        ? { ...problem, remedy: ALLOW_EXTERNAL_NAME }
        : {
          ...problem,
          remedy: remedyOf("Service", named(problem), known) ?? problem.remedy,
        };
    case "InvalidCertificateRef":
      return {
        ...problem,
        remedy: `${
          remedyOf("Secret", named(problem), known) ?? problem.remedy
        }; until then clients are shown a certificate that this program generates`,
      };
    case "PortUnavailable":
      return { ...problem, remedy: problem.remedy.replace(CONTROLLER_RANGE, DEV_RANGE) };
    case "SecretNotFound":
      return missingSecret(problem, known);
    case "SecretInvalid":
      return isAboutCertificate(problem) ? withGenerated(problem) : problem;
    case "ServiceNotFound":
      return { ...problem, remedy: remedyOf("Service", problem, known) ?? problem.remedy };
    case "ServicePortNotFound":
      return { ...problem, remedy: portRemedy(problem, known) ?? problem.remedy };
    case "AnnotationUnknown":
      return problem.object === null || annotationOf(problem) === ""
        ? problem
        : { ...problem, remedy: ownRemedy(problem.object.kind, annotationOf(problem)) };
    case "NginxAnnotation":
      return inWordsOfNginx(problem);
    case "NginxConfigMap": {
      const key = /^data\["(.*)"\]$/.exec(problem.field)?.[1] ?? "";
      return key === "" || KEYS.has(key) ? problem : { ...problem, remedy: keyRemedy(key) };
    }
    default:
      if (NEEDLESS.has(problem.reason)) return { ...problem, severity: "info" };
      return BROKEN.has(problem.reason) ? { ...problem, severity: "error" } : problem;
  }
}

/** Of an annotation of ingress-nginx: a misspelt one, and one that asks for what is always so. */
function inWordsOfNginx(problem: Problem): Problem {
  const annotation = annotationOf(problem);
  if (!annotation.startsWith(NGINX_PREFIX)) return problem;
  const name = annotation.slice(NGINX_PREFIX.length);
  const known = BY_NAME.get(name);
  if (known === undefined) return { ...problem, remedy: nginxRemedy(name) };
  return problem.severity === "warning" && known.row.verdict.kind === "always"
    ? { ...problem, remedy: "Nothing to do", severity: "info" }
    : problem;
}

/** The name of the annotation that a problem is about; "" for another field. */
function annotationOf({ field }: Problem): string {
  return /^metadata\.annotations\["(.*)"\]$/.exec(field)?.[1] ?? "";
}

/**
 * Without problems of fields of which the reading says more, without those that only follow from a
 * misspelt field, and without those of Ingresses that their Secret has as well.
 */
export function withoutRepetitions(
  problems: readonly Problem[],
  read: readonly LocatedProblem[],
): Problem[] {
  const ofSecrets = problems.filter(({ object }) => object?.kind === "Secret");
  const readOf = Map.groupBy(read, ({ problem: { object } }) => labelOf(object));
  return problems.filter((problem) =>
    // Those of all Services are looked at, also where a sample backend needs no TLS.
    problem.reason !== "UpstreamAnnotationUnknown" &&
    !(readOf.get(labelOf(problem.object)) ?? []).some((one) => explains(one, problem)) &&
    !ofSecrets.some((one) => repeats(problem, one))
  );
}

/** Problems of the whole of which a part is missing. */
const OF_WHOLE: ReadonlySet<string> = new Set(["IngressEmpty", "PathsMissing"]);

const OF_READING: ReadonlySet<string> = new Set([
  "FieldUnknown",
  "ValueNotString",
  "ValueTypeWrong",
]);

/** Whether a problem of an object follows from what was found when it was read. */
export function explains(
  { problem: read, meant = null }: LocatedProblem,
  problem: Pick<Problem, "field" | "reason">,
): boolean {
  if (OF_READING.has(read.reason) && read.field === problem.field) return true;
  return meant !== null && (
    problem.field === meant || problem.field.startsWith(`${meant}.`) ||
    (OF_WHOLE.has(problem.reason) && meant.startsWith(`${problem.field}.`))
  );
}

/** Whether an Ingress says of its certificate what the Secret says. */
function repeats({ object, reason, message }: Problem, secret: Problem): boolean {
  return object?.kind === "Ingress" && reason === secret.reason &&
    object.namespace === secret.object?.namespace &&
    message.startsWith(`the certificate of Secret ${secret.object.name} `);
}

function labelOf(object: ObjectRef | null): string {
  return object === null ? "" : formatObject(object);
}

/** Of a certificate or of passwords; cert-manager makes certificates after the Ingress. */
function missingSecret(problem: Problem, known: KnownObjects): Problem {
  const isCertificate = isAboutCertificate(problem);
  if (isCertificate && isMadeByIssuer(problem.object, known.manifests)) {
    return {
      ...problem,
      message: `${problem.message}; in a cluster, the issuer that the Ingress names makes it`,
      remedy: "Nothing to do; clients are shown a certificate that this program generates",
      severity: "info",
    };
  }
  const found = {
    ...problem,
    remedy: remedyOf("Secret", problem, known) ?? problem.remedy,
  };
  return isCertificate ? withGenerated(found) : found;
}

function withGenerated(problem: Problem): Problem {
  return {
    ...problem,
    remedy:
      `${problem.remedy}; until then clients of hosts of rules are shown one that this program generates`,
  };
}

/** Of a host: of an entry of an Ingress, or of a Secret, be it used by several. */
function isAboutCertificate({ object, field }: Problem): boolean {
  return object?.kind === "Secret" || field.startsWith("spec.tls");
}

/** https://cert-manager.io/docs/usage/ingress/#supported-annotations */
const ISSUERS: ReadonlySet<string> = new Set([
  "cert-manager.io/cluster-issuer",
  "cert-manager.io/issuer",
]);

function isMadeByIssuer(object: ObjectRef | null, manifests: Manifests): boolean {
  const annotations = asObject(manifests.valueAt(object, "metadata.annotations"));
  return Object.entries(annotations ?? {}).some(([name, value]) =>
    ISSUERS.has(name) || (name === "kubernetes.io/tls-acme" && value === "true")
  );
}

/** Of a reference, its name. */
function named(problem: Problem): Problem {
  return { ...problem, field: `${problem.field}.name` };
}

/**
 * Where an object of that name is, or which was most likely meant; null where nothing is like it, and where
 * that was looked for often enough.
 */
function remedyOf(
  kind: "Secret" | "Service",
  { object, field }: Problem,
  known: KnownObjects,
): string | null {
  const { manifests } = known;
  const name = manifests.valueAt(object, field);
  const namespace = field.endsWith(".name")
    ? manifests.valueAt(object, `${field.slice(0, -"name".length)}namespace`)
    : undefined;
  if (object === null || typeof name !== "string" || namespace !== undefined) return null;
  const elsewhere = known.named(kind, name).find((ref) => ref.namespace !== object.namespace);
  if (elsewhere !== undefined) {
    return `Create it in namespace ${object.namespace}; ${formatObject(elsewhere)} (${
      placeIn(manifests, elsewhere)
    }) is in another namespace, and not used from here`;
  }
  const ref = known.nearest(kind, object.namespace, name);
  return ref === null
    ? null
    : `Write "${ref.name}" if you mean ${formatObject(ref)} (${placeIn(manifests, ref)}), or ` +
      `create the ${kind}`;
}

/** A Service whose ports cannot be read has none. */
function portRemedy({ object, field }: Problem, known: KnownObjects): string | null {
  const service = field.replace(/\.port(?:\.\w+)?$/, ".name");
  const name = known.manifests.valueAt(object, service);
  if (object === null || typeof name !== "string") return null;
  const ref = { kind: "Service", namespace: object.namespace, name };
  const fault = known.portFault(ref);
  return fault?.at == null
    ? null
    : `Correct the port of ${formatObject(ref)} at ${formatPosition(fault.at)}`;
}

/** Searches for the nearest name that one reading is worth: each looks at all names of a namespace. */
const MAX_SEARCHES = 100;

/** The objects of a folder, by what problems name. */
class KnownObjects {
  readonly manifests: Manifests;
  #byName: ReadonlyMap<string, readonly ObjectRef[]>;
  #byNamespace: ReadonlyMap<string, readonly ObjectRef[]>;
  #portFaults = new Map<string, LocatedProblem>();
  #searches = 0;

  constructor(manifests: Manifests) {
    this.manifests = manifests;
    const { refs } = manifests;
    this.#byName = Map.groupBy(refs, ({ kind, name }) => `${kind} ${name}`);
    this.#byNamespace = Map.groupBy(refs, ({ kind, namespace }) => `${kind} ${namespace}`);
    for (const one of manifests.problems) {
      const { object, field, severity } = one.problem;
      if (object?.kind !== "Service" || severity !== "error") continue;
      if (field.startsWith("spec.ports")) this.#portFaults.set(formatObject(object), one);
    }
  }

  /** Of any namespace. */
  named(kind: string, name: string): readonly ObjectRef[] {
    return this.#byName.get(`${kind} ${name}`) ?? [];
  }

  nearest(kind: string, namespace: string, name: string): ObjectRef | null {
    if (this.#searches++ >= MAX_SEARCHES) return null;
    const own = (this.#byNamespace.get(`${kind} ${namespace}`) ?? []).filter((ref) =>
      ref.name !== name
    );
    const meant = nearestName(name, own.map((ref) => ref.name));
    return own.find((ref) => ref.name === meant) ?? null;
  }

  /** What is wrong with the ports of a Service as it is written. */
  portFault(service: ObjectRef): LocatedProblem | null {
    return this.#portFaults.get(formatObject(service)) ?? null;
  }
}

function placeIn(manifests: Manifests, ref: ObjectRef): string {
  const at = manifests.locate(ref, "");
  return at === null ? "" : formatPosition(at);
}
