/**
 * TLS to pods as a cluster has it, though sample backends in their place speak plain text. In: problems of the
 * objects as they are written. Out: the Services whose settings close their paths, and the problems that a
 * translation with sample backends does not have. Pure.
 */
import type { Resources } from "../controller/kube/resources.ts";
import { isDnsName } from "../controller/base/names.ts";
import {
  fieldOfOwnAnnotation,
  UPSTREAM_TLS,
  UPSTREAM_TLS_ANNOTATIONS,
  UPSTREAM_TLS_PREFIX,
} from "../controller/translate/annotations/own_annotation_names.ts";
import { formatObject, type Problem } from "../shared/problem.ts";
import { isSecured } from "./sample/ports.ts";

/** Of a Service: its paths get 503. */
const CLOSES: ReadonlySet<string> = new Set([
  "ClientCertificateInvalid",
  "UpstreamCaInvalid",
  "UpstreamNameInvalid",
]);

/** The annotation with the name of the Secret that they are about, by reason. */
const NAMES_SECRET: ReadonlyMap<string, string> = new Map([
  ["ClientCertificateInvalid", UPSTREAM_TLS.clientCertificate],
  ["UpstreamCaInvalid", UPSTREAM_TLS.ca],
]);

/** Of a Service, whose paths stay. */
const OF_SETTINGS: ReadonlySet<string> = new Set([
  "CertificateExpired",
  "UpstreamCaMissing",
  "UpstreamTlsIgnored",
  "UpstreamUnverified",
  "UpstreamVerifyInvalid",
]);

/** Whether a Service says anything of TLS: without one, there is nothing to look for. */
export function hasBackendTls({ services }: Pick<Resources, "services">): boolean {
  return services.some(({ metadata, spec }) =>
    Object.keys(Object(metadata?.annotations)).some((name) =>
      name.startsWith(UPSTREAM_TLS_PREFIX)
    ) ||
    (Array.isArray(spec?.ports) && spec.ports.some(isSecured))
  );
}

/**
 * `default/web`: their ports with TLS get 503 here, too. Secrets are seldom in a folder: sample backends stand in
 * without them.
 */
export function closedServices(
  problems: readonly Problem[],
  { services, secrets }: Pick<Resources, "services" | "secrets">,
): ReadonlySet<string> {
  const annotations = new Map(
    services.map(({ metadata }) => [
      `${metadata?.namespace}/${metadata?.name}`,
      Object(metadata?.annotations) as Readonly<Record<string, unknown>>,
    ]),
  );
  const known = new Set(secrets.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`));
  return new Set(
    problems.flatMap(({ object, reason }) => {
      if (object?.kind !== "Service" || !CLOSES.has(reason)) return [];
      const { namespace, name } = object;
      const annotation = NAMES_SECRET.get(reason);
      const secret = annotation && annotations.get(`${namespace}/${name}`)?.[annotation];
      const isAbsent = typeof secret === "string" && isDnsName(secret) &&
        !known.has(`${namespace}/${secret}`);
      return isAbsent ? [] : [`${namespace}/${name}`];
    }),
  );
}

/** Whether a problem of a Service is about TLS to its pods. */
export function isAboutBackendTls({ reason }: Problem): boolean {
  return CLOSES.has(reason) || OF_SETTINGS.has(reason);
}

/** What is said of settings that sample backends do not need. */
export function settingProblems(
  written: readonly Problem[],
  local: readonly Problem[],
): Problem[] {
  const known = new Set(local.map(keyOf));
  return written
    .filter((problem) =>
      problem.object?.kind === "Service" && isAboutBackendTls(problem) && isKnown(problem) &&
      !known.has(keyOf(problem))
    )
    .map((problem) => ({
      ...problem,
      message: problem.facts?.status === undefined
        ? problem.message
        : `${problem.message} in a cluster`,
    }));
}

/** What is not known is reported as that alone. */
function isKnown({ field, reason }: Problem): boolean {
  return reason !== "UpstreamTlsIgnored" ||
    UPSTREAM_TLS_ANNOTATIONS.some((name) => field === fieldOfOwnAnnotation(name));
}

function keyOf({ object, field, reason }: Problem): string {
  return `${object === null ? "" : formatObject(object)} ${field} ${reason}`;
}
