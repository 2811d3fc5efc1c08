/**
 * One Ingress, read. In: an object of class ours, of unknown shape. Out: its rules, default backend
 * and TLS entries as far as they can be read, with a problem for each field that cannot.
 *
 * Reading decides what may be left out: a path whose host or path cannot be read, and nothing else.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/service-resources/ingress-v1/
 */
import { formatObject, type ObjectRef } from "../../../shared/problem.ts";
import type { PathMatch, ReplyAction } from "../../../shared/snapshot/types.ts";
import { excessOf } from "../../kube/excess.ts";
import { ANY_HOST, explainHost, HOST_REMEDY, readHost, readRuleHost } from "../model/host.ts";
import { type Identity, keyOf } from "../../base/identity.ts";
import { readSharesWith } from "./shared_hosts.ts";
import { asList, asObject, asText, describe, fieldOf, isAbsent, quote } from "../../base/json.ts";
import { isDying } from "../hosts/namespace_facts.ts";
import { reportNginxAnnotations } from "../annotations/nginx/annotations.ts";
import { readAccepted, reportOwnAnnotations } from "../annotations/own_annotations.ts";
import { explainPath, looksLikePattern, readPath, readPathType } from "./path.ts";
import { recordProblems, type Report } from "../../base/problems.ts";
import { readBackend } from "./backend.ts";
import { HostPlaces, RoutePlace, WHOLE_HOST } from "../model/route_place.ts";
import { readBackendWish, readFallback } from "../annotations/nginx/backend_wish.ts";
import { NginxAnnotations } from "../annotations/nginx/nginx_annotations.ts";
import { isCanary, readProtocolWish, readRefusals } from "../annotations/nginx/refusals.ts";
import { readRouteSettings } from "../annotations/nginx/route_settings.ts";
import { NGINX_PREFIX } from "../annotations/nginx/table.ts";
import { NO_SETTINGS, RouteSettingsPool } from "../model/route_settings.ts";
import { LastStatus, LastTlsStatus } from "../model/status.ts";
import type { BackendRef } from "../model/backend_ref.ts";
import type { BackendWish } from "../model/backend_wish.ts";
import { hostFields } from "../model/host_field.ts";
import {
  DEFAULT_BACKEND_FIELD,
  type PathModel,
  type RuleModel,
  type Source,
  type TlsHost,
  type TlsModel,
} from "../model/source.ts";

/** One Ingress while it is read. */
interface Reading {
  readonly identity: Identity;
  readonly report: Report;
  readonly hasDefaultBackend: boolean;
  readonly backendWish: BackendWish | null;
}

/** What the object says by itself; with a problem for each field that cannot be read. */
export function readIngress(
  identity: Identity,
  object: unknown,
  pool: RouteSettingsPool = new RouteSettingsPool(),
): Source {
  const { value, problems } = recordProblems((list) =>
    readSpec(identity, object, list.about(identity.ref), pool)
  );
  return { ...value, identity, problems, hostPlaces: new HostPlaces(), status: new LastStatus() };
}

function readSpec(
  identity: Identity,
  object: unknown,
  report: Report,
  pool: RouteSettingsPool,
) {
  const { namespace } = identity.ref;
  const annotations = fieldOf(fieldOf(object, "metadata"), "annotations");
  reportOwnAnnotations(annotations, report);
  const spec = fieldOf(object, "spec");
  const nginx = new NginxAnnotations(annotations, spec);
  if (isCanary(nginx)) return canary(report);
  const refusals = readRefusals(nginx);
  const reported = new Set(["backend-protocol", ...refusals.map(({ name }) => name)]);
  reportNginxAnnotations(nginx, reported, report);
  const backendWish = readBackendWish(nginx, namespace);
  const written = fieldOf(spec, "defaultBackend");
  const defaultBackend = isAbsent(written)
    ? null
    : readBackend(written, namespace, backendWish, DEFAULT_BACKEND_FIELD, report);
  const writtenRules = fieldOf(spec, "rules");
  const rules = readList(writtenRules, "spec.rules", report);
  const tls = readList(fieldOf(spec, "tls"), "spec.tls", report);
  const excess = excessOf(object);
  if (isEmpty(writtenRules) && defaultBackend === null && excess === null) {
    report.error("spec", {
      reason: "IngressEmpty",
      message: "it has neither rules nor a defaultBackend, so it takes no request",
      remedy: "Add spec.rules or spec.defaultBackend",
    });
  }
  const reading = { identity, report, hasDefaultBackend: defaultBackend !== null, backendWish };
  const read = Array.from(rules, (rule, i) => readRule(rule, `spec.rules[${i}]`, reading));
  return {
    rules: read,
    hosts: hostFields(read),
    takesAnyHost: read.some(({ host }) => host === ANY_HOST) ||
      (isEmpty(writtenRules) && defaultBackend !== null),
    sharesWith: readSharesWith(annotations, report),
    isDying: isDying(object),
    hasRules: !isEmpty(writtenRules),
    defaultBackend,
    tls: Array.from(tls, (entry, i) => readTls(entry, `spec.tls[${i}]`, reading)),
    refusals,
    protocolWish: readProtocolWish(nginx),
    settings: readRouteSettings(nginx, namespace, pool),
    fallback: readFallback(nginx, namespace, backendWish),
    backendWish,
    accepted: readAccepted(annotations),
    excess,
  };
}

/** Nothing of it is read: as a route of its own it would take all of production's requests. */
function canary(report: Report) {
  report.warning(`metadata.annotations["${NGINX_PREFIX}canary"]`, {
    reason: "NginxAnnotation",
    message: "canaries are not supported, so the whole Ingress is left out",
    remedy: "Remove the Ingress; removing the annotation alone makes it compete with production's",
  });
  return {
    ...{ rules: [], hasRules: true, defaultBackend: null, tls: [] },
    ...{ hosts: [], takesAnyHost: false, sharesWith: [], isDying: false },
    ...{ refusals: [], protocolWish: null, backendWish: null, settings: NO_SETTINGS },
    ...{ fallback: null, accepted: null, excess: null },
  };
}

function readRule(rule: unknown, field: string, reading: Reading): RuleModel {
  const { report } = reading;
  if (asObject(rule) === null) {
    reportShape(rule, field, "an object with host and http", report);
    return { field, host: null, paths: [] };
  }
  const host = readHostOfRule(fieldOf(rule, "host"), `${field}.host`, report);
  const http = fieldOf(rule, "http");
  // The API calls this a catch-all to the default backend, which a host without paths is anyway.
  if (isAbsent(http)) {
    if (!reading.hasDefaultBackend) {
      report.warning(`${field}.http`, {
        reason: "PathsMissing",
        message: "the rule has no paths and the Ingress no defaultBackend, so its host gets the " +
          "default backend of the process, or 404",
        remedy: "Add http.paths to the rule, or spec.defaultBackend to the Ingress",
      });
    }
    return { field, host, paths: [] };
  }
  if (asObject(http) === null) {
    reportShape(http, `${field}.http`, "an object with paths", report);
    return { field, host, paths: [unreadPath(field)] };
  }
  const pathsField = `${field}.http.paths`;
  const written = fieldOf(http, "paths");
  const paths = readList(written, pathsField, report);
  if (isEmpty(written)) {
    report.error(pathsField, {
      reason: "PathsMissing",
      message: "the rule has no paths, so its host gets the default backend, or 404",
      remedy: "Add a path such as {path: /, pathType: Prefix, backend: …}",
    });
  }
  if (paths.length === 0) return { field, host, paths: [unreadPath(field)] };
  return {
    field,
    host,
    paths: Array.from(
      paths,
      (path, i) => readPathEntry(path, `${pathsField}[${i}]`, host, reading),
    ),
  };
}

function readHostOfRule(value: unknown, field: string, report: Report): string | null {
  const reading = readRuleHost(value);
  if (!reading.ok) {
    report.error(field, {
      reason: "HostInvalid",
      message: `${explainHost(value, reading.reason)}, so the rule is left out`,
      remedy: HOST_REMEDY,
    });
    return null;
  }
  if (reading.normalised) {
    report.warning(field, {
      reason: "HostNotCanonical",
      message: `host ${quote(value)} is served as ${reading.host}; the API server refuses it`,
      remedy: `Write ${reading.host}`,
    });
  }
  return reading.host;
}

function readPathEntry(
  entry: unknown,
  field: string,
  host: string | null,
  { identity, report, backendWish }: Reading,
): PathModel {
  if (asObject(entry) === null) {
    reportShape(entry, field, "an object with path, pathType and backend", report);
    return unreadPath(field);
  }
  const writtenType = fieldOf(entry, "pathType");
  const type = readPathType(writtenType);
  const match = readMatch(entry, type ?? "Prefix", field, report);
  if (type === null) {
    report.error(`${field}.pathType`, {
      reason: "PathTypeUnknown",
      message: `pathType ${
        isAbsent(writtenType) ? "is missing" : `${quote(writtenType)} is not known`
      }, so ${match === null ? "the path is left out" : "requests to the path get 500"}`,
      remedy: "Write Prefix (whole segments), Exact or ImplementationSpecific (as Prefix)",
    });
  }
  // Without a host or a path there is no route, and so nothing to say about its backend.
  if (match === null || host === null) return unreadPath(field);
  return {
    ...unreadPath(field),
    place: new RoutePlace(host, match, identity, field),
    backend: type === null ? broken(500, "the pathType is not known") : readBackend(
      fieldOf(entry, "backend"),
      identity.ref.namespace,
      backendWish,
      `${field}.backend`,
      report,
    ),
  };
}

function readMatch(
  entry: unknown,
  type: "Exact" | "Prefix",
  field: string,
  report: Report,
): PathMatch | null {
  const written = fieldOf(entry, "path");
  const isSpecific = fieldOf(entry, "pathType") === "ImplementationSpecific";
  if (isSpecific && (isAbsent(written) || written === "")) return WHOLE_HOST;
  const reading = readPath(written, type);
  if (!reading.ok) {
    report.error(`${field}.path`, {
      reason: "PathInvalid",
      message: `${explainPath(written, reading.reason)}, so it is left out`,
      remedy: "Write an absolute path such as /api, escaped as in a URL",
    });
    return null;
  }
  if (reading.normalised) {
    report.warning(`${field}.path`, {
      reason: "PathNotCanonical",
      message: `path ${quote(written)} is served as ${quote(reading.match.value)}, the form in ` +
        "which requests are compared with it",
      remedy: `Write ${quote(reading.match.value)}`,
    });
  }
  if (type === "Prefix" && looksLikePattern(reading.match.value)) {
    report.warning(`${field}.path`, {
      reason: "PathTakenLiterally",
      message: `path ${quote(written)} looks like a pattern, but is taken as it stands`,
      remedy: "Write the path up to the pattern; a Prefix takes everything below it",
    });
  }
  return reading.match;
}

function readTls(entry: unknown, field: string, { identity, report }: Reading): TlsModel {
  const status = new LastTlsStatus(field);
  if (asObject(entry) === null) {
    reportShape(entry, field, "an object with hosts and secretName", report);
    return { field, hosts: [], secret: null, status };
  }
  const hosts = readTlsHosts(fieldOf(entry, "hosts"), `${field}.hosts`, report);
  const name = readSecretName(fieldOf(entry, "secretName"), `${field}.secretName`, report);
  if (name === null) return { field, hosts, secret: null, status };
  const ref: ObjectRef = { kind: "Secret", namespace: identity.ref.namespace, name };
  return { field, hosts, secret: { ref, key: keyOf(ref), label: formatObject(ref) }, status };
}

function readTlsHosts(value: unknown, field: string, report: Report): readonly TlsHost[] | null {
  if (isAbsent(value)) return null;
  const list = asList(value);
  if (list === null) {
    reportShape(value, field, "a list of host names", report);
    return [];
  }
  if (list.length === 0) return null;
  const hosts: TlsHost[] = [];
  for (const [i, written] of list.entries()) {
    const reading = readHost(written);
    if (reading.ok) {
      hosts.push({ field: `${field}[${i}]`, host: reading.host });
      continue;
    }
    report.error(`${field}[${i}]`, {
      reason: "HostInvalid",
      message: `${explainHost(written, reading.reason)}, so it gets no certificate`,
      // The API server refuses it too. What all other names are shown is the operator's choice.
      remedy: written === ANY_HOST
        ? "List the hosts, or leave hosts out for the names of the certificate; the certificate for " +
          "all other names is --default-ssl-certificate of the controller"
        : HOST_REMEDY,
    });
  }
  return hosts;
}

function readSecretName(value: unknown, field: string, report: Report): string | null {
  const name = asText(value);
  if (name !== null) return name;
  if (isAbsent(value) || value === "") {
    report.warning(field, {
      reason: "SecretNameMissing",
      message: "the TLS entry names no Secret, so its hosts get no certificate of their own",
      remedy: "Add the name of a Secret of type kubernetes.io/tls",
    });
    return null;
  }
  reportShape(value, field, "the name of a Secret", report);
  return "";
}

function isEmpty(list: unknown): boolean {
  return isAbsent(list) || asList(list)?.length === 0;
}

/** The elements, or none with a problem where there is no list. */
function readList(value: unknown, field: string, report: Report): readonly unknown[] {
  if (isAbsent(value)) return [];
  const list = asList(value);
  if (list === null) reportShape(value, field, "a list", report);
  return list ?? [];
}

function reportShape(value: unknown, field: string, wanted: string, report: Report): void {
  report.error(field, {
    reason: "FieldInvalid",
    message: `${describe(value)} stands where ${wanted} is meant, so it is left out`,
    remedy: `Write ${wanted}`,
  });
}

function broken(status: ReplyAction["status"], reason: string): BackendRef {
  return { kind: "broken", action: { kind: "reply", status, reason } };
}

/** A path that becomes no route. */
function unreadPath(field: string): PathModel {
  return {
    field,
    place: null,
    backend: broken(500, "the path is left out"),
    dropped: { field, routes: [], outcome: "dropped" },
  };
}
