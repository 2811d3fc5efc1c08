/**
 * What a proxy explains. In: the JSON of its page /explain, of its version or an older one. Out: the same as data
 * for text, short and JSON; what an older version does not say is null. Null for a page that is another's.
 */
import { asList, asObject, asText, fieldOf } from "../../controller/base/json.ts";
import { HTTP_ROUTES } from "../../controller/kube/types.ts";
import { actionAnswer, sharedBy } from "../../dev/explain/explanation.ts";
import { filterAnswer, filterSteps, redirectsFirst } from "../../dev/explain/filter_steps.ts";
import type {
  Answer,
  CertificateFacts,
  ExplainedOrigin,
  HttpsRedirectFacts,
  ListenerFacts,
  Loser,
  UpstreamFacts,
  UrlExplanation,
} from "../../dev/explain/url_explanation.ts";
import { endpointFacts } from "../../dev/explain/endpoint_facts.ts";
import { sharesOf } from "../../dev/gateway/backend_shares.ts";
import { requiredUsersOf } from "../../shared/credentials/credentials.ts";
import { ConfigCheck } from "../../shared/snapshot/config_check.ts";
import { defaultPlace } from "../../shared/snapshot/forward_action.ts";
import { gatewayOf, listenerNameOf } from "../../shared/snapshot/listener_id.ts";
import { readNode } from "../../shared/snapshot/node_reader.ts";
import { ACTION, FILTER_SET, ROUTE, UPSTREAM } from "../../shared/snapshot/schema.ts";
import type {
  Action,
  Credentials,
  FilterSpec,
  Snapshot,
  Upstream,
} from "../../shared/snapshot/types.ts";
import type { AskedRequest } from "./options.ts";

/** Of what the page names once, without an id of its own. */
const ID = "explained";

type Headers = readonly (readonly [name: string, value: string])[];

export function proxyExplanation(
  page: unknown,
  { url, method }: AskedRequest,
  headers: Headers,
): UrlExplanation | null {
  const outcome = fieldOf(page, "outcome");
  const kind = asText(fieldOf(outcome, "kind"));
  if (kind === null) return null;
  const route = readPart(ROUTE, fieldOf(outcome, "route"));
  const action = route?.action ?? readPart(ACTION, fieldOf(outcome, "action")) as Action | null;
  const matched = asText(fieldOf(page, "path"));
  const request = { url, path: matched === null ? NO_PATH : { ok: true as const, path: matched } };
  const upstreams = upstreamsIn(page);
  const settings = settingsIn(page);
  const snapshot = partOf(upstreams, settings);
  const place = route ?? (kind === "default" && action !== null ? defaultPlace(action) : null);
  const placed = place === null ? null : { ...place, filterSet: ID, policy: ID };
  const filters = placed === null || settings === null
    ? null
    : filterSteps(snapshot, placed, request);
  const listener = listenerIn(page, url.port ?? (url.scheme === "https" ? 443 : 80));
  const fault = asText(fieldOf(outcome, "problem"));
  return {
    url: asText(fieldOf(page, "url")) ?? `${url.scheme}://${url.host}${url.rawPath}${url.query}`,
    request: {
      scheme: url.scheme,
      method,
      headers: headers.map(([name, value]) => ({ name, value })),
      host: url.host,
      path: url.rawPath,
      matchedPath: matched,
      aliasOf: asText(fieldOf(page, "aliasOf")),
    },
    answer: answerOf(
      outcome,
      kind,
      fault,
      () =>
        (placed === null ? null : filterAnswer(snapshot, placed, request)) ??
          (action === null ? UNREADABLE : actionAnswer(snapshot, action)),
    ),
    listener,
    refusals: [],
    otherGateways: [],
    elsewhere: [],
    owner: null,
    httpsRedirect: listener === null && url.scheme === "http"
      ? redirectIn(page, placed !== null && redirectsFirst(snapshot, placed, request))
      : null,
    route: kind !== "route" && kind !== "default" ? null : {
      id: kind === "route" ? asText(fieldOf(fieldOf(outcome, "route"), "id")) : null,
      origin: kind === "route" ? originIn(fieldOf(outcome, "route")) : null,
      sharedBy: sharedBy(route?.listeners),
      backends: action?.kind === "forward" ? sharesOf(action) : [],
      reply: action?.kind === "reply" ? { status: action.status, reason: action.reason } : null,
      fault,
    },
    filters: placed === null ? [] : filters,
    losers: losersIn(page),
    certificates: certificatesIn(page),
    upstreams: upstreams.map((upstream) => endpointsOf(snapshot, upstream.id)),
    problems: [],
    notes: [
      ...(settings === null
        ? ["the filters of the route: this version of the proxy does not show them"]
        : []),
      ...unknownRemedies(kind === "route" ? originIn(fieldOf(outcome, "route")) : null, action),
    ],
  };
}

/** Every route has its own text, so that snapshots have no remedy for one of several backends. */
function unknownRemedies(origin: ExplainedOrigin | null, action: Action | null): string[] {
  const isBroken = action?.kind === "forward" &&
    action.backends.some(({ fault }) => fault !== undefined);
  if (!isBroken || origin?.kind !== HTTP_ROUTES.kind) return [];
  const { namespace, name } = origin;
  return [
    "the remedy for the backend that gets no requests: the condition ResolvedRefs has it " +
    `(kubectl describe httproute -n ${namespace} ${name})`,
  ];
}

const NO_PATH = { ok: false, reason: "is refused" } as const;

/** A newer version may have actions that this one does not know. */
const UNREADABLE: Answer = {
  kind: "error",
  status: 500,
  reason: "the action of the route is of a newer version",
};

function answerOf(
  outcome: unknown,
  kind: string,
  fault: string | null,
  ofRoute: () => Answer,
): Answer {
  const reason = asText(fieldOf(outcome, "reason"));
  switch (kind) {
    case "refused":
      return { kind: "error", status: 400, reason: reason ?? "the path is refused" };
    case "route":
    case "default":
      return fault === null ? ofRoute() : { kind: "error", status: 500, reason: fault };
    default:
      return {
        kind: "error",
        status: 404,
        reason: "no route matches, and there is no default backend",
      };
  }
}

interface Settings {
  readonly filters: readonly FilterSpec[];
  readonly credentials: readonly Credentials[];
  readonly bodyLimit: number;
}

/** Null where the version does not show them. */
function settingsIn(page: unknown): Settings | null {
  const settings = asObject(fieldOf(page, "settings"));
  if (settings === null) return null;
  const set = readPart(FILTER_SET, { id: ID, filters: fieldOf(settings, "filters") });
  if (set === null) return null;
  const missing = new Set(asList(fieldOf(settings, "missingUsers")) ?? []);
  const logins = set.filters.flatMap((filter) => requiredUsersOf(filter) ?? []);
  const limit = fieldOf(settings, "bodyLimit");
  return {
    filters: set.filters,
    credentials: logins.map((id): Credentials => ({
      id,
      users: missing.has(id) ? { kind: "missing" } : { kind: "file", path: id },
    })),
    bodyLimit: typeof limit === "number" ? limit : 0,
  };
}

/** With what belongs to the one route that is explained. */
function partOf(upstreams: readonly Upstream[], settings: Settings | null): Snapshot {
  const { filters = [], credentials = [], bodyLimit = 0 } = settings ?? {};
  return {
    format: 2,
    version: { epoch: "file", seen: {} },
    routes: [],
    defaultAction: null,
    filterSets: [{ id: ID, filters }],
    policies: bodyLimit === 0 ? [] : [{ id: ID, bodyLimit }],
    upstreams,
    credentials,
    certificates: [],
    defaultCertificate: null,
  };
}

function upstreamsIn(page: unknown): Upstream[] {
  const one = fieldOf(page, "upstream");
  return (asList(fieldOf(page, "upstreams")) ?? [one])
    .flatMap((upstream) => readPart(UPSTREAM, upstream) ?? []);
}

function endpointsOf(snapshot: Snapshot, id: string): UpstreamFacts {
  return endpointFacts(snapshot, { services: [], endpointSlices: [] }, id, null);
}

function listenerIn(page: unknown, port: number): ListenerFacts | null {
  const id = asText(fieldOf(page, "listener"));
  if (id === null) return null;
  const gateway = gatewayOf(id);
  const [namespace, name] = gateway.split("/");
  return {
    ...{ gateway, name: listenerNameOf(id), port, hostname: null },
    origin: { kind: "Gateway", namespace, name: name ?? "", field: "", at: null },
    ...{ localUrl: null, service: null, others: [], isTakenByIngresses: false },
  };
}

function redirectIn(page: unknown, isAfterRoute: boolean): HttpsRedirectFacts | null {
  const location = asText(fieldOf(page, "redirect"));
  const by = asText(fieldOf(page, "redirectBy"));
  const because = asText(fieldOf(page, "redirectBecause")) ?? "the proxy says so";
  // As in text: without a certificate, nothing is to be said.
  if (location === null && by !== "host" && by !== "route") return null;
  return { location, because, by: "proxies", isInDev: null, isAfterRoute };
}

function losersIn(page: unknown): Loser[] {
  return (asList(fieldOf(page, "considered")) ?? []).map((each): Loser => {
    const route = fieldOf(each, "route");
    return {
      route: asText(fieldOf(route, "id")) ?? "",
      kind: "lost",
      because: asText(fieldOf(each, "lostBecause")) ?? "",
      isMatch: fieldOf(each, "isMatch") === true,
      origin: originIn(route),
    };
  }).sort((a, b) => Number(b.isMatch) - Number(a.isMatch));
}

function certificatesIn(page: unknown): CertificateFacts[] {
  const certificate = asObject(fieldOf(page, "certificate"));
  if (certificate !== null) {
    const because = asText(fieldOf(certificate, "because")) ?? "";
    const origin = fieldOf(certificate, "origin") === undefined ? null : originIn(certificate);
    return [{ origin, because, isKnown: true, leaf: null, inDev: null }];
  }
  return (asList(fieldOf(page, "certificates")) ?? []).map((id): CertificateFacts => ({
    origin: { kind: "Certificate", namespace: "", name: String(id), field: "", at: null },
    because: "the listener names it",
    isKnown: true,
    leaf: null,
    inDev: null,
  }));
}

/** Of a part with the field `origin`. */
function originIn(part: unknown): ExplainedOrigin {
  const origin = fieldOf(part, "origin");
  const text = (name: string) => asText(fieldOf(origin, name)) ?? "";
  return {
    ...{ kind: text("kind"), namespace: text("namespace"), name: text("name") },
    ...{ field: text("field"), at: null },
  };
}

/** Null for what is not there, or of a newer version. */
function readPart<S extends Parameters<typeof readNode>[0]>(schema: S, value: unknown) {
  return value === undefined || value === null
    ? null
    : readNode(schema, value, "", new ConfigCheck());
}
