/**
 * External authentication, as nginx's `auth_request` in the locations that ingress-nginx writes. In: an
 * exchange, and a function that sends a subrequest for it. Out: a verdict by the status of the response:
 * 2xx admits, 401 and 403 reject, everything else is an error. What the response says of the client goes
 * to the upstream, in place of what the client says.
 *
 * https://nginx.org/en/docs/http/ngx_http_auth_request_module.html
 */
import { STATUS_CODES } from "node:http";
import { canonicalPath } from "../../../shared/path/canonical_path.ts";
import { isProxyHeader } from "../../../shared/path/proxy_headers.ts";
import { asProxyError, ProxyError } from "../../errors.ts";
import { changeResponse, extended, withoutNamed } from "../../http/changed_fields.ts";
import {
  asciiBytes,
  AUTHORIZATION,
  CONTENT_ENCODING,
  CONTENT_LENGTH,
  CONTENT_RANGE,
  CONTENT_TYPE,
  COOKIE,
  EXPECT,
  type Fields,
  fieldsOf,
  GRPC_TIMEOUT,
  MAX_FORWARDS,
  NEVER_CROSSES,
  TRAILER,
} from "../../http/fields.ts";
import { BodyWithoutTrailers, FoldedNames } from "../../http/folded_names.ts";
import { NO_BODY } from "../../http/body.ts";
import { type Exchange, type Reply, ResponseHead } from "../../http/message.ts";
import { type Answer, answerOf } from "./answer.ts";
import type { AccessCheck, Verdict } from "./check.ts";
import { cachedSubresponse } from "./external_cache.ts";
import type { AccessServices, Subrequest } from "./services.ts";
import { type External, rendered, requestedTarget, schemeOf } from "./template.ts";

/** What the proxy says to whoever authenticates; nobody else may, to it or to upstreams. */
const OWN_NAMES = ["x-original-*", "x-auth-request-redirect", "x-sent-from", "x-scheme"];

/** 1 for ids that say how a body or an answer comes, or belong to the request's own hop. */
const NOT_COPIED = NEVER_CROSSES.slice();
for (
  const id of [
    ...[CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, EXPECT, GRPC_TIMEOUT],
    // With `auth-method: OPTIONS`, a 0 would have it answered with 200 on its way (RFC 9110 §7.6.2).
    MAX_FORWARDS,
    TRAILER,
  ]
) NOT_COPIED[id] = 1;

/** Statuses with which nginx's `add_header` adds. */
const WITH_COOKIES: ReadonlySet<number> = new Set([
  ...[200, 201, 204, 206, 301, 302, 303, 304, 307, 308],
]);

export function externalCheck(given: External, services: AccessServices): AccessCheck {
  const { subrequest, isSubrequest, authCache, routeOf } = services;
  if (subrequest === undefined || isSubrequest === undefined) {
    throw new Error("external authentication is not possible here");
  }
  const { signin, cache } = given;
  // The schema has refused the others. Fields of the client end here in all spellings of these names: with
  // one of CDN-Loop, so would the marks of earlier passes, and a loop would have no end.
  const responseHeaders = (given.responseHeaders ?? []).filter((name) => !isProxyHeader(name));
  const spec: External = { ...given, responseHeaders };
  const names = FoldedNames.withStars([...responseHeaders, ...OWN_NAMES]);
  const replaced = responseHeaders.map(asciiBytes);
  const answers = new WeakMap<Exchange, Answer>();
  const ask = async (x: Exchange) =>
    answerOf(await subrequest(x, subrequestOf(spec, names, x)), responseHeaders);
  const isKept = cache !== undefined && authCache !== undefined && routeOf !== undefined;
  const find: (x: Exchange) => Answer | Promise<Answer> = isKept
    ? cachedSubresponse(
      spec,
      cache,
      authCache,
      (x) => subrequest(x, subrequestOf(spec, names, x)),
      routeOf,
    )
    : ask;
  /** Of the headers for the upstream: an answer that is kept serves many requests. */
  const added = new WeakMap<Answer, Fields>();
  const addedBy = (answer: Answer) => {
    let fields = added.get(answer);
    if (fields === undefined) added.set(answer, fields = fieldsOf(answer.headers));
    return fields;
  };
  return {
    // Without a promise where the response is known, as for most requests of a client.
    check: (x) => {
      if (isSubrequest(x)) {
        throw new ProxyError("auth_failed", "the route of auth-url needs it itself");
      }
      let found: Answer | Promise<Answer>;
      try {
        found = find(x);
      } catch (thrown) {
        throw failed(thrown);
      }
      const verdict = (answer: Answer) => {
        answers.set(x, answer);
        return verdictOf(answer);
      };
      if (!(found instanceof Promise)) return verdict(found);
      return found.then(verdict, (thrown) => {
        throw failed(thrown);
      });
    },
    ...(signin === undefined
      ? {}
      : { signin: (x, challenge) => signinAt(rendered(signin, x), challenge, x) }),
    admitted: (x) => {
      const { request } = x;
      names.dropFrom(request.fields);
      if (replaced.length === 0) return;
      const answer = answers.get(x) ?? null;
      // The fields of the answer are not copied: they are the same for many requests.
      x.added = x.added && withoutNamed(x.added, replaced);
      request.extra = extended(request.extra, replaced, answer === null ? NONE : addedBy(answer));
    },
    requestBody: (_, body) => new BodyWithoutTrailers(body, names),
    response: (x, head) => {
      const cookies = answers.get(x)?.cookies ?? [];
      if (cookies.length === 0) return;
      if (spec.alwaysSetCookie !== true && !WITH_COOKIES.has(head.status)) return;
      changeResponse(head, [], fieldsOf(cookies.map((cookie) => ["Set-Cookie", cookie] as const)));
    },
  };
}

const NONE = fieldsOf([]);

/** Why there is no verdict: never the client's fault, unless it has gone. */
function failed(thrown: unknown): ProxyError {
  const error = asProxyError(thrown, "auth_failed");
  return error.code === "client_gone" || error.code === "auth_failed"
    ? error
    : new ProxyError("auth_failed", `${error.code}: ${error.message}`, { cause: error });
}

function verdictOf({ status, challenge }: Answer): Verdict {
  if (status >= 200 && status < 300) return null;
  if (status === 403) return new ProxyError("forbidden", "by auth-url");
  if (status !== 401) throw new ProxyError("auth_failed", `auth-url responded with ${status}`);
  return new ProxyError(
    "unauthorized",
    "by auth-url",
    challenge === null ? {} : { challenge },
  );
}

/** Where a client gets credentials. */
const SIGNIN = /^(?:https?:\/\/[-\w.[]|\/(?![/\\]))/i;

/** As nginx does it, with the challenge of the 401. */
function signinAt(location: string, challenge: string | null, x: Exchange): Reply {
  if (!SIGNIN.test(location)) throw new ProxyError("auth_failed", "auth-signin is no URL");
  const { request: { authority, bodyLength } } = x;
  const isPath = location.startsWith("/");
  const origin = isPath && authority !== "" ? `${schemeOf(x)}://${authority}` : "";
  const head = new ResponseHead();
  head.status = 302;
  head.reason = STATUS_CODES[302] ?? "";
  head.fields = fieldsOf([
    ["Location", origin + location],
    ...(challenge === null ? [] : [["WWW-Authenticate", challenge] as const]),
  ]);
  head.bodyLength = head.contentLength = 0;
  // Whether the request's body has come already, or is still to be waited for, is chance.
  head.closes = bodyLength !== 0;
  return { head, body: NO_BODY };
}

function subrequestOf(spec: External, names: FoldedNames, x: Exchange): Subrequest {
  const { scheme, namespace, upstream = null, ownHostsFirst = false, method } = spec;
  const target = rendered(spec.target, x);
  const question = target.indexOf("?");
  const path = canonicalPath(question === -1 ? target : target.slice(0, question));
  if (!path.ok || target.includes("#")) {
    throw new ProxyError("auth_failed", "the path of auth-url is not one");
  }
  const hasVariables = spec.authority.some(({ kind }) => kind === "variable");
  return {
    method: method ?? "GET",
    scheme,
    authority: rendered(spec.authority, x),
    path: path.path,
    query: question === -1 ? "" : target.slice(question),
    fields: fieldsFor(spec, names, x),
    upstream,
    ownHostsFirst,
    // The host of an upstream has been judged where the filter was written.
    namespace: hasVariables || upstream === null ? namespace : null,
  };
}

/** The client's headers, without those that only the proxy may write, and with these. */
function fieldsFor(
  { method, requestRedirect }: External,
  names: FoldedNames,
  x: Exchange,
): Fields {
  const { request: { fields, method: requested, authority } } = x;
  const target = requestedTarget(x);
  const scheme = schemeOf(x);
  const pairs: [string, string][] = [];
  for (let i = 0; i < fields.count; i++) {
    const id = fields.ids[i];
    if (NOT_COPIED[id] === 1) continue;
    const name = fields.name(i);
    // Credentials are what it is about, also where the upstream gets others.
    if (id !== AUTHORIZATION && id !== COOKIE && names.has(name)) continue;
    pairs.push([name, fields.value(i)]);
  }
  pairs.push(
    ["X-Original-URL", `${scheme}://${authority}${target}`],
    ["X-Original-Method", requested],
    ["X-Sent-From", "nginx-ingress-controller"],
    [
      "X-Auth-Request-Redirect",
      requestRedirect === undefined ? target : rendered(requestRedirect, x),
    ],
  );
  if (method !== undefined) pairs.push(["X-Original-URI", target], ["X-Scheme", scheme]);
  return fieldsOf(pairs.filter(([, value]) => value !== ""));
}
