/**
 * External authentication. In: annotations of one Ingress. Out: the check of its routes, and the backend
 * that is asked; with a refusal for one that may not be, and a problem for a cache that would let one
 * client in for another.
 */
import { isCredentialVariable } from "../../../../shared/path/template_variables.ts";
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import { quote } from "../../../base/json.ts";
import type { Report } from "../../../base/problems.ts";
import { upstreamId } from "../../model/backend_ref.ts";
import type { Authenticator, Refusal } from "../../model/source.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { fieldOfAnnotation } from "./refusals.ts";
import type { AuthPlace, AuthUrl, CacheTime, Parts } from "./rows/auth_url.ts";
import { EXTERNAL_AUTHENTICATION as ROWS } from "./rows/authentication.ts";
import { NGINX_PREFIX } from "./table.ts";

export type ExternalSpec = NonNullable<
  Extract<FilterSpec, { readonly kind: "access" }>["external"]
>;

type Template = ExternalSpec["target"];

function field(): string {
  return fieldOfAnnotation("auth-url");
}

/** Null without auth-url. */
export function readExternal(
  annotations: NginxAnnotations,
  namespace: string,
): ExternalSpec | null {
  const url = annotations.valueOf(ROWS, "auth-url");
  if (url === null) return null;
  const template = (parts: Parts) => templateOf(parts, namespace);
  const authenticator = authenticatorOf(url, namespace);
  const method = annotations.valueOf(ROWS, "auth-method");
  const signin = annotations.valueOf(ROWS, "auth-signin");
  const requestRedirect = annotations.valueOf(ROWS, "auth-request-redirect");
  const responseHeaders = annotations.valueOf(ROWS, "auth-response-headers");
  const cache = readCache(annotations, namespace);
  return {
    scheme: url.scheme,
    authority: template(url.authority),
    target: template(url.target),
    namespace,
    ...(authenticator === null ? {} : { upstream: authenticator.backend.id }),
    ...(authenticator === null || authenticator.host === null ? {} : { ownHostsFirst: true }),
    ...(method === null ? {} : { method }),
    ...(signin === null ? {} : { signin: template(signinOf(signin, annotations)) }),
    ...(requestRedirect === null ? {} : { requestRedirect: template(requestRedirect) }),
    ...(responseHeaders === null ? {} : { responseHeaders: responseHeaders.toSorted() }),
    ...(annotations.valueOf(ROWS, "auth-always-set-cookie") === true
      ? { alwaysSetCookie: true as const }
      : {}),
    ...(cache === null ? {} : { cache }),
  };
}

/** Null without auth-url, and for hosts of our own alone. */
export function readAuthenticator(
  annotations: NginxAnnotations,
  namespace: string,
): Authenticator | null {
  const url = annotations.valueOf(ROWS, "auth-url");
  return url === null ? null : authenticatorOf(url, namespace);
}

/** Null where the Service is of the namespace, or there is none. */
export function refuseAuthenticator(
  annotations: NginxAnnotations,
  namespace: string,
): Refusal | null {
  const place = annotations.valueOf(ROWS, "auth-url")?.place ?? null;
  const service = place && serviceAt(place);
  if (service === null || service.namespace === namespace) return null;
  return {
    name: "auth-url",
    field: field(),
    isHostWide: false,
    fault: `names a Service of namespace ${service.namespace}, not of ${namespace} as the Ingress`,
    remedy: `Use a Service of namespace ${namespace}, or a host that an Ingress of ` +
      `${service.namespace} serves and shares`,
  };
}

/** Of valid values that have no effect. */
export function reportExternal(annotations: NginxAnnotations, report: Report): void {
  const key = annotations.valueOf(ROWS, "auth-cache-key");
  if (key === null || hasCredential(key)) return;
  if (annotations.valueOf(ROWS, "auth-url") === null) return;
  report.warning(fieldOfAnnotation("auth-cache-key"), {
    reason: "NginxAnnotation",
    message: `annotation ${quote(`${NGINX_PREFIX}auth-cache-key`)} has no effect: without a ` +
      "credential in the key, one client would be let in for another",
    remedy: "Add $http_authorization, or $cookie_ and the name of a cookie, to the key",
  });
}

function readCache(annotations: NginxAnnotations, namespace: string): ExternalSpec["cache"] | null {
  const key = annotations.valueOf(ROWS, "auth-cache-key");
  if (key === null || !hasCredential(key)) return null;
  const times = annotations.valueOf(ROWS, "auth-cache-duration") ?? DEFAULT_TIMES;
  const durations = times.flatMap(({ statuses, time }) => {
    const kept = statuses.filter((status) => status >= 200 && status < 500);
    return time === 0 || kept.length === 0 ? [] : { statuses: kept, time };
  });
  return durations.length === 0 ? null : { key: templateOf(key, namespace), durations };
}

/** As in ingress-nginx, in ms. */
const DEFAULT_TIMES: readonly CacheTime[] = [{ statuses: [200, 202, 401], time: 300_000 }];

function hasCredential(key: Parts): boolean {
  return key.some((part) => part.kind === "variable" && isCredentialVariable(part.name));
}

function authenticatorOf({ scheme, place }: AuthUrl, namespace: string): Authenticator | null {
  if (place === null) return null;
  const { host, port } = place;
  const service = serviceAt(place);
  const wish = { protocol: scheme, protocolField: field(), tls: null };
  const fields = { nameField: field(), portField: field(), keepsId: true } as const;
  if (service === null) {
    const id = `//${host}:${port}+${scheme}${KEY}`;
    const backend = { kind: "service" as const, namespace, name: host, port, id, wish, ...fields };
    return { host, backend: { ...backend, isName: true } };
  }
  const { name } = service;
  const id = upstreamId(service.namespace, name, port, wish) + KEY;
  return {
    host: null,
    backend: { kind: "service", namespace: service.namespace, name, port, id, wish, ...fields },
  };
}

/** Follows the wish in the id of the upstream, which no backend of a path has. */
const KEY = "+auth";

const SERVICE =
  /^([a-z\d](?:[-a-z\d]{0,61}[a-z\d])?)\.([a-z\d](?:[-a-z\d]{0,61}[a-z\d])?)\.svc(?:\.cluster\.local)?$/;

/** Null for a name that is not of a Service in the cluster. */
function serviceAt(
  { host }: AuthPlace,
): { readonly name: string; readonly namespace: string } | null {
  const match = SERVICE.exec(host);
  return match && { name: match[1], namespace: match[2] };
}

/** With the URL to return to, unless it is there. As `buildAuthSignURL` in ingress-nginx. */
function signinOf(url: Parts, annotations: NginxAnnotations): Parts {
  const name = annotations.valueOf(ROWS, "auth-signin-redirect-param") ?? "rd";
  const text = url.map((part) => part.kind === "literal" ? part.text : `$${part.name}`).join("");
  const question = text.indexOf("?");
  const query = question === -1 ? "" : text.slice(question + 1).split("#", 1)[0];
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.some((pair) => pair.startsWith(`${name}=`) && pair.length > name.length + 1)) {
    return url;
  }
  return [
    ...url,
    { kind: "literal", text: `${pairs.length === 0 ? "?" : "&"}${name}=` },
    { kind: "variable", name: "pass_access_scheme" },
    { kind: "literal", text: "://" },
    { kind: "variable", name: "http_host" },
    { kind: "variable", name: "escaped_request_uri" },
  ];
}

/** Texts that follow one another are one. */
function templateOf(parts: Parts, namespace: string): Template {
  const made: Template[number][] = [];
  for (const part of parts) {
    const text = part.kind === "literal" ? part.text : part.name === "namespace" ? namespace : null;
    const last = made.at(-1);
    if (text === null) made.push({ kind: "variable", name: (part as { name: string }).name });
    else if (last?.kind === "text") {
      made[made.length - 1] = { kind: "text", text: last.text + text };
    } else made.push({ kind: "text", text });
  }
  return made;
}
