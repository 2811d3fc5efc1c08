/**
 * External authentication. In: annotations of one Ingress, and what the ConfigMap says of all. Out: the
 * check of its routes, and the backend that is asked; with a refusal for one that may not be, and a
 * problem for a cache that would let one client in for another.
 *
 * As in ingress-nginx, an Ingress with an auth-url has nothing of what the ConfigMap says; one without
 * has all of it, unless enable-global-auth is false, and nothing of its own annotations beside auth-url.
 */
import { isCredentialVariable } from "../../../../shared/path/template_variables.ts";
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import { quote } from "../../../base/json.ts";
import type { Report } from "../../../base/problems.ts";
import { namespacesInName } from "../../model/external_name.ts";
import { upstreamId } from "../../model/backend_ref.ts";
import type { GlobalSettings } from "../../model/global_settings.ts";
import type { Profile } from "../../model/profile.ts";
import type { Authenticator, Refusal } from "../../model/source.ts";
import { NginxAnnotations } from "./nginx_annotations.ts";
import { fieldOfAnnotation } from "./refusals.ts";
import { ACCESS } from "./rows/access.ts";
import {
  AUTH_URL,
  type AuthPlace,
  type AuthUrl,
  type CacheTime,
  type Parts,
  placeOf,
} from "./rows/auth_url.ts";
import { EXTERNAL_AUTHENTICATION as ROWS } from "./rows/authentication.ts";
import { NGINX_PREFIX } from "./table.ts";

export type ExternalSpec = NonNullable<
  Extract<FilterSpec, { readonly kind: "access" }>["external"]
>;

type Template = ExternalSpec["target"];
type Globals = Pick<GlobalSettings, "externalAuth">;

/** Where a value stands. */
const FIELD = `metadata.annotations["${NGINX_PREFIX}auth-url"]`;
export const GLOBAL_FIELD = 'data["global-auth-url"]';

/** Who says how the requests of one Ingress are authenticated. */
interface Asking {
  readonly url: AuthUrl;
  /** Of auth-url and the annotations beside it. */
  readonly values: NginxAnnotations;
  /** Of the Ingress. */
  readonly namespace: string;
  /** Host and port, unless a client chooses the host. */
  readonly place: AuthPlace | null;
  readonly isGlobal: boolean;
  /** Whether routes serve the host of the URL, where they name it. */
  readonly ownHostsFirst: boolean;
}

/** Null where nobody is asked. */
function askingOf(
  annotations: NginxAnnotations,
  namespace: string,
  { externalAuth }: Globals,
): Asking | null {
  if ((annotations.textOf("auth-url") ?? "") !== "") {
    const url = annotations.valueOf(ROWS, "auth-url");
    return url === null
      ? null
      : asking(url, annotations, namespace, { isGlobal: false, ownHostsFirst: true });
  }
  if (externalAuth === null) return null;
  // What is not valid is no exemption.
  if (annotations.valueOf(ACCESS, "enable-global-auth") === false) return null;
  const values = annotations.withTexts(externalAuth.texts);
  const url = values.valueOf(ROWS, "auth-url");
  // Others may claim a host that nobody has been given, and would authenticate everybody's clients.
  const ownHostsFirst = externalAuth.isHostAssigned;
  return url === null ? null : asking(url, values, namespace, { isGlobal: true, ownHostsFirst });
}

function asking(
  url: AuthUrl,
  values: NginxAnnotations,
  namespace: string,
  whose: Pick<Asking, "isGlobal" | "ownHostsFirst">,
): Asking {
  return { url, values, namespace, place: placeWithin(url, namespace), ...whose };
}

/** Null where a client chooses the host, and for what is none. */
function placeWithin({ scheme, authority, place }: AuthUrl, namespace: string): AuthPlace | null {
  if (place !== null) return place;
  const [first, ...more] = templateOf(authority, namespace);
  return first.kind === "text" && more.length === 0 ? placeOf(first.text, scheme) : null;
}

/** Null where nobody is asked. */
export function readExternal(
  annotations: NginxAnnotations,
  namespace: string,
  globals: Globals,
): ExternalSpec | null {
  const found = askingOf(annotations, namespace, globals);
  if (found === null) return null;
  const { url, values, isGlobal, ownHostsFirst } = found;
  const template = (parts: Parts) => templateOf(parts, namespace);
  const authority = template(withoutPort(url.authority));
  const authenticator = authenticatorOf(found);
  const method = values.valueOf(ROWS, "auth-method");
  const signin = values.valueOf(ROWS, "auth-signin");
  const requestRedirect = values.valueOf(ROWS, "auth-request-redirect");
  const responseHeaders = values.valueOf(ROWS, "auth-response-headers");
  const cache = readCache(values, namespace);
  // A host that clients choose may be one of the Ingress's namespace, whoever wrote the URL.
  const isOfAll = isGlobal && authority.every(({ kind }) => kind === "text");
  return {
    scheme: url.scheme,
    authority,
    target: template(url.target),
    namespace: isOfAll ? "" : namespace,
    ...(authenticator === null ? {} : { upstream: authenticator.backend.id }),
    ...(authenticator?.backend.isName === true && ownHostsFirst ? { ownHostsFirst: true } : {}),
    ...(method === null ? {} : { method }),
    ...(signin === null ? {} : { signin: template(signinOf(signin, values)) }),
    ...(requestRedirect === null ? {} : { requestRedirect: template(requestRedirect) }),
    ...(responseHeaders === null ? {} : { responseHeaders: responseHeaders.toSorted() }),
    ...(values.valueOf(ROWS, "auth-always-set-cookie") === true
      ? { alwaysSetCookie: true as const }
      : {}),
    ...(cache === null ? {} : { cache }),
  };
}

/** As ingress-nginx writes it to Host of the subrequest. */
function withoutPort(authority: Parts): Parts {
  const last = authority.at(-1)!;
  const text = last.kind === "literal" ? last.text.replace(/:\d+$/, "") : null;
  if (text === null) return authority;
  return [...authority.slice(0, -1), ...(text === "" ? [] : [{ kind: "literal", text } as const])];
}

/** Null where nobody is asked, and for hosts of our own alone. */
export function readAuthenticator(
  annotations: NginxAnnotations,
  namespace: string,
  globals: Globals,
): Authenticator | null {
  const found = askingOf(annotations, namespace, globals);
  return found === null ? null : authenticatorOf(found);
}

/** Null where the Service is of the namespace, or there is none, and for what the operator names. */
export function refuseAuthenticator(
  annotations: NginxAnnotations,
  namespace: string,
): Refusal | null {
  const url = annotations.valueOf(ROWS, "auth-url");
  if (url === null) return null;
  const refusal = { name: "auth-url", field: FIELD, isHostWide: false };
  const place = placeWithin(url, namespace);
  if (place === null) {
    const isChosen = templateOf(url.authority, namespace).some(({ kind }) => kind === "variable");
    return isChosen ? null : {
      ...refusal,
      fault: "names no host",
      remedy: "Write a host of which $namespace makes a valid name",
    };
  }
  // Proxies would resolve such a name, whatever the domain of the cluster, if it were none of a Service.
  const other = namespacesInName(place.host).find((each) => each !== namespace);
  if (other === undefined) return null;
  const what = serviceAt(place) === null ? "Service or pod" : "Service";
  return {
    ...refusal,
    fault: `names a ${what} of namespace ${other}, not of ${namespace} as the Ingress`,
    remedy: `Use a Service of namespace ${namespace}, or a host that an Ingress of ` +
      `${other} serves and shares`,
  };
}

/** Null in the profile, whose Ingresses have what the ConfigMap says; others would be open. */
export function refuseGlobalAuth(annotations: NginxAnnotations, profile: Profile): Refusal | null {
  if (profile === "nginx" || (annotations.textOf("auth-url") ?? "") !== "") return null;
  const name = "enable-global-auth";
  return annotations.valueOf(ACCESS, name) !== true ? null : {
    ...{ name, field: fieldOfAnnotation(name), isHostWide: false },
    fault: "requires a login that only Ingresses of the profile nginx have",
    remedy: "Use a class with the profile nginx, or remove the annotation",
  };
}

/** The host that a URL names without variables; null for a Service, and for what is no such URL. */
export function hostOfAuthUrl(text: string): string | null {
  const place = AUTH_URL.read(text)?.place ?? null;
  return place === null || serviceAt(place) !== null ? null : place.host;
}

/** The Service that a URL names, and its port; null where it names none. */
export function serviceOfAuthUrl(
  text: string,
): { readonly namespace: string; readonly name: string; readonly port: number } | null {
  const place = AUTH_URL.read(text)?.place ?? null;
  const service = place && serviceAt(place);
  return place && service && { ...service, port: place.port };
}

/** Of valid values that have no effect. */
export function reportExternal(annotations: NginxAnnotations, report: Report): void {
  if (annotations.valueOf(ROWS, "auth-url") === null || !lacksCredential(annotations)) return;
  report.warning(fieldOfAnnotation("auth-cache-key"), {
    reason: "NginxAnnotation",
    message: `annotation ${quote(`${NGINX_PREFIX}auth-cache-key`)} ${NO_CREDENTIAL}`,
    remedy: CREDENTIAL_REMEDY,
  });
}

/** As the function above, of the ConfigMap. */
export function reportGlobalExternal({ externalAuth }: Globals, report: Report): void {
  const key = externalAuth?.texts.get("auth-cache-key");
  if (key === undefined) return;
  const annotations = new NginxAnnotations({ [`${NGINX_PREFIX}auth-cache-key`]: key }, null);
  if (!lacksCredential(annotations)) return;
  report.warning('data["global-auth-cache-key"]', {
    reason: "NginxConfigMap",
    message: `key "global-auth-cache-key" ${NO_CREDENTIAL}`,
    remedy: CREDENTIAL_REMEDY,
  });
}

const NO_CREDENTIAL =
  "has no effect: without a credential in the key, one client would be let in " +
  "for another";
const CREDENTIAL_REMEDY =
  "Add $http_authorization, or $cookie_ and the name of a cookie, to the key";

function lacksCredential(annotations: NginxAnnotations): boolean {
  const key = annotations.valueOf(ROWS, "auth-cache-key");
  return key !== null && !hasCredential(key);
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

function authenticatorOf({ url, place, namespace, isGlobal }: Asking): Authenticator | null {
  if (place === null) return null;
  const { scheme } = url;
  const { host, port } = place;
  const service = serviceAt(place);
  const field = isGlobal ? GLOBAL_FIELD : FIELD;
  const key = isGlobal ? GLOBAL_KEY : KEY;
  const wish = { protocol: scheme, protocolField: field, tls: null };
  const fields = { kind: "service", nameField: field, portField: field, keepsId: true } as const;
  if (service === null) {
    const id = `//${host}:${port}+${scheme}${key}`;
    const named = { ...fields, name: host, port, id, wish, isName: true } as const;
    return isGlobal
      ? { host: null, backend: { ...named, namespace: "", isTrusted: true }, isGlobal }
      : { host, backend: { ...named, namespace }, isGlobal };
  }
  const id = upstreamId(service.namespace, service.name, port, wish) + key;
  return { host: null, backend: { ...fields, ...service, port, id, wish }, isGlobal };
}

/** They follow the wish in the id of the upstream, which no backend of a path has. */
const KEY = "+auth";
const GLOBAL_KEY = "+global-auth";

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
