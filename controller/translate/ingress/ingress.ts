/**
 * One Ingress, read. In: an object of class ours, of unknown shape. Out: its rules, default backend
 * and TLS entries as far as they can be read, with a problem for each field that cannot.
 *
 * Reading decides what may be left out: a path whose host or path cannot be read, and nothing else.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/service-resources/ingress-v1/
 */
import { formatObject, type ObjectRef } from "../../../shared/problem.ts";
import { type Excess, excessOf } from "../../kube/excess.ts";
import { ANY_HOST, explainHost, HOST_REMEDY, readHost, readRuleHost } from "../model/host.ts";
import { type Identity, keyOf } from "../../base/identity.ts";
import { readSharesWith } from "./shared_hosts.ts";
import { asList, asObject, asText, fieldOf, isAbsent, quote } from "../../base/json.ts";
import { isDying } from "../hosts/namespace_facts.ts";
import { reportNginxAnnotations, reportWrongPrefixes } from "../annotations/nginx/annotations.ts";
import { readAccepted, reportOwnAnnotations } from "../annotations/own_annotations.ts";
import {
  type PathReader,
  readPathEntry,
  readRewrittenRest,
  reportShape,
  unreadPath,
} from "./path_entry.ts";
import { recordProblems, type Report } from "../../base/problems.ts";
import { readBackend } from "./backend.ts";
import { HostPlaces, RegexPlaces } from "../model/route_place.ts";
import {
  readAccessRefusals,
  readCertificateRefusals,
  readRequiredSecret,
} from "../annotations/nginx/access.ts";
import { readBackendWish, readFallback } from "../annotations/nginx/backend_wish.ts";
import {
  readAuthenticator,
  refuseAuthenticator,
  refuseGlobalAuth,
  reportExternal,
} from "../annotations/nginx/external.ts";
import { regexLocation } from "../annotations/nginx/location.ts";
import { NginxAnnotations } from "../annotations/nginx/nginx_annotations.ts";
import { redirectFilters } from "../annotations/nginx/defaults.ts";
import { readAllRefusals } from "../annotations/nginx/global_refusals.ts";
import { isCanary, readProtocolWish } from "../annotations/nginx/refusals.ts";
import { readRegexWish, readRewriteWish } from "../annotations/nginx/rewrite.ts";
import { readSlashRedirect } from "../annotations/nginx/redirects.ts";
import { readRouteSettings } from "../annotations/nginx/route_settings.ts";
import { readOtherNames } from "../annotations/nginx/server_names.ts";
import { BY_NAME, NGINX_PREFIX } from "../annotations/nginx/table.ts";
import { type GlobalSettings, NO_GLOBALS } from "../model/global_settings.ts";
import type { Profile } from "../model/profile.ts";
import { writtenClass } from "./ingress_object.ts";
import { needsNoLogin, NO_SETTINGS, RouteSettingsPool } from "../model/route_settings.ts";
import { LastStatus, LastTlsStatus } from "../model/status.ts";
import { hostFields } from "../model/host_field.ts";
import { NO_WWW, wwwSettings } from "../model/other_name.ts";
import {
  closesWholeHosts,
  DEFAULT_BACKEND_FIELD,
  type RuleModel,
  type Source,
  type TlsHost,
  type TlsModel,
} from "../model/source.ts";

/** One Ingress while it is read. */
interface Reading extends PathReader {
  readonly hasDefaultBackend: boolean;
}

/** What the object says by itself; with a problem for each field that cannot be read. */
export function readIngress(
  identity: Identity,
  object: unknown,
  pool: RouteSettingsPool = new RouteSettingsPool(),
  profile: Profile = "pingress",
  globals: GlobalSettings = NO_GLOBALS,
): Source {
  const { value, problems } = recordProblems((list) =>
    readSpec(identity, object, list.about(identity.ref), pool, profile, globals)
  );
  const { className, classAnnotation } = writtenClass(object);
  return {
    ...value,
    ...{ identity, profile, problems },
    hasClass: !isAbsent(className) || classAnnotation !== null,
    hostPlaces: new HostPlaces(profile),
    regexPlaces: new RegexPlaces((path) => regexLocation(path, profile, pool.texts)),
    status: new LastStatus(),
  };
}

function readSpec(
  identity: Identity,
  object: unknown,
  report: Report,
  pool: RouteSettingsPool,
  profile: Profile,
  globals: GlobalSettings,
) {
  const { namespace } = identity.ref;
  const annotations = fieldOf(fieldOf(object, "metadata"), "annotations");
  reportOwnAnnotations(annotations, report);
  const spec = fieldOf(object, "spec");
  const nginx = new NginxAnnotations(annotations, spec, BY_NAME, pool.texts, globals.defaults);
  const certificates = readCertificateRefusals(nginx, namespace);
  const requiredSecret = readRequiredSecret(nginx, namespace);
  const excess = excessOf(object);
  if (isCanary(nginx)) {
    // Of what holds for whole hosts, ingress-nginx reads this one of canaries too.
    const refusals = [...readAllRefusals(nginx, globals, profile), ...certificates]
      .filter(({ name }) => name === "auth-tls-secret");
    const hosts = hostsOfRules(spec);
    return canary(closing(refusals, requiredSecret, excess, hosts), report);
  }
  const refusals = [
    ...readAllRefusals(nginx, globals, profile),
    ...certificates,
    ...[refuseAuthenticator(nginx, namespace), refuseGlobalAuth(nginx, profile)]
      .filter((refusal) => refusal !== null),
    ...readAccessRefusals(nginx, namespace),
  ];
  const reported = new Set(["backend-protocol", ...refusals.map(({ name }) => name)]);
  reportNginxAnnotations(nginx, reported, report, globals);
  reportWrongPrefixes(annotations, report);
  reportExternal(nginx, report);
  const backendWish = readBackendWish(nginx, namespace);
  const written = fieldOf(spec, "defaultBackend");
  const defaultBackend = isAbsent(written)
    ? null
    : readBackend(written, namespace, backendWish, DEFAULT_BACKEND_FIELD, report);
  const writtenRules = fieldOf(spec, "rules");
  const rules = readList(writtenRules, "spec.rules", report);
  const tls = readList(fieldOf(spec, "tls"), "spec.tls", report);
  if (isEmpty(writtenRules) && defaultBackend === null && excess === null) {
    report.error("spec", {
      reason: "IngressEmpty",
      message: "it has neither rules nor a defaultBackend, so it receives no requests",
      remedy: "Add spec.rules or spec.defaultBackend",
    });
  }
  const hasDefaultBackend = defaultBackend !== null;
  const noAuthLocations = profile === "nginx" ? globals.noAuthLocations : [];
  const ofAll = readRouteSettings(nginx, namespace, pool, profile, globals);
  // A default backend takes the path "/".
  const settings = needsNoLogin("/", noAuthLocations) ? pool.withoutLogin(ofAll) : ofAll;
  const regex = readRegexWish(nginx);
  const rewrite = readRewriteWish(nginx);
  const reading = {
    ...{
      identity,
      report,
      hasDefaultBackend,
      backendWish,
      profile,
      settings,
      noAuthLocations,
      regex,
      rewrite,
      slash: readSlashRedirect(nginx),
      pool,
    },
  };
  const read = Array.from(rules, (rule, i) => readRule(rule, `spec.rules[${i}]`, reading));
  const hosts = hostFields(read);
  // Of a stub those that it keeps: which names were published, its bounds decide.
  const named = excess === null ? hosts.map(({ host }) => host) : hostsOfStub(excess);
  const names = readOtherNames(nginx, named.filter((host) => host !== ANY_HOST), report);
  return {
    rules: read,
    hosts,
    otherNames: names,
    wwwSettings: wwwSettings(
      names,
      profile === "nginx" ? redirectFilters(globals) : [],
      pool,
    ),
    takesAnyHost: read.some(({ host }) => host === ANY_HOST) ||
      (isEmpty(writtenRules) && defaultBackend !== null),
    sharesWith: readSharesWith(annotations, report),
    isDying: isDying(object),
    hasRules: !isEmpty(writtenRules),
    defaultBackend,
    // ingress-nginx does not rewrite that of an Ingress without rules.
    rewrittenDefault: hasDefaultBackend && !isEmpty(writtenRules)
      ? readRewrittenRest(settings, reading)
      : null,
    tls: Array.from(tls, (entry, i) => readTls(entry, `spec.tls[${i}]`, reading)),
    ...closing(refusals, requiredSecret, excess, []),
    protocolWish: readProtocolWish(nginx),
    settings,
    regex,
    fallback: readFallback(nginx, namespace, backendWish),
    authenticator: readAuthenticator(nginx, namespace, globals),
    noAuthLocations,
    backendWish,
    accepted: readAccepted(annotations),
    closure: globals.closure,
    excess,
  };
}

type Closing = Pick<Source, "refusals" | "requiredSecret" | "closesHosts" | "closesNamespace">;

/** What closes paths. @param hosts Of rules that are no routes. */
function closing(
  refusals: Source["refusals"],
  requiredSecret: Source["requiredSecret"],
  excess: Excess | null,
  hosts: readonly string[],
): Closing {
  const closes = closesWholeHosts({ refusals, requiredSecret });
  const closesHosts = !closes ? [] : excess === null ? hosts : hostsOfStub(excess);
  const closesNamespace = closes && excess?.hasMoreHosts === true;
  return { refusals, requiredSecret, closesHosts, closesNamespace };
}

/**
 * No path of it is read: as a route of its own it would take all of production's requests.
 *
 * @param closing What closes whole hosts, of canaries too.
 */
function canary(closing: Closing, report: Report) {
  report.warning(`metadata.annotations["${NGINX_PREFIX}canary"]`, {
    reason: "NginxAnnotation",
    message: "canaries are not supported, so the whole Ingress is left out",
    remedy: "Remove the Ingress; removing the annotation alone makes it compete with production's",
  });
  return {
    ...{ rules: [], hasRules: true, defaultBackend: null, rewrittenDefault: null, tls: [] },
    ...{ hosts: [], otherNames: [], wwwSettings: NO_WWW },
    ...{ takesAnyHost: false, sharesWith: [], isDying: false },
    ...closing,
    ...{ protocolWish: null, backendWish: null, settings: NO_SETTINGS },
    ...{ fallback: null, authenticator: null, regex: null, accepted: null },
    noAuthLocations: [],
    ...{ closure: null, excess: null },
  };
}

/** Those that can be read. */
function hostsOfRules(spec: unknown): readonly string[] {
  return readable((asList(fieldOf(spec, "rules")) ?? []).map((rule) => fieldOf(rule, "host")));
}

/** Those that can be read, each once. */
function hostsOfStub({ hosts }: Excess): readonly string[] {
  return [...new Set(readable(hosts))];
}

function readable(hosts: readonly unknown[]): readonly string[] {
  return hosts.flatMap((written) => {
    const reading = readRuleHost(written);
    return reading.ok ? reading.host : [];
  });
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
