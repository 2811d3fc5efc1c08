/**
 * Why a URL takes its route. In: manifests, the plan made of them, and a URL as somebody would
 * request it. Out: text that names the winner and where it is written, who lost and why, the
 * certificate, the endpoints, and the problems that bear on this host.
 */
import { upstreamsOf } from "../shared/snapshot/forward_action.ts";
import { asList, fieldOf, isAbsent } from "../controller/base/json.ts";
import { httpsLocation, isAcmeChallenge } from "../proxy/http/https_location.ts";
import {
  explain,
  type Explanation,
  matchedPath,
  redirectUrl,
  turnedOffBy,
} from "../proxy/router/explain.ts";
import { hostPatternTakes } from "../proxy/router/host.ts";
import type { PathOptions } from "../shared/path/canonical_path.ts";
import { formatAddress } from "../shared/net/address.ts";
import { parseHostPattern } from "../shared/host/host_pattern.ts";
import { formatObject, type ObjectRef, type Problem } from "../shared/problem.ts";
import { gatewayOf } from "../shared/snapshot/listener_id.ts";
import type { Action, Origin, Route, Snapshot, Upstream } from "../shared/snapshot/types.ts";
import { certificateFacts } from "./certificate_facts.ts";
import { faultTexts, shareTexts } from "./gateway/backend_shares.ts";
import { chooseListener, type GatewayChoice } from "./gateway/gateway_choice.ts";
import { listenerCertificateLines, listenerLines } from "./gateway/listener_text.ts";
import { parentGatewaysOf } from "./gateway/route_parents.ts";
import { leftOutPaths } from "./left_out_paths.ts";
import { isOfGateway } from "./gateway/gateway_routes.ts";
import { madeFor } from "./made_certificates.ts";
import type { LocatedProblem } from "./manifests/file.ts";
import { formatPosition } from "./manifests/position.ts";
import type { Manifests } from "./manifests/manifests.ts";
import { type Plan, refOf } from "./plan.ts";
import { formatProblems } from "./report.ts";
import { alignColumns, printable } from "./terminal_text.ts";
import { describeUpstream } from "./upstream_text.ts";
import type { RequestedUrl } from "../shared/path/requested_url.ts";
import { filterLines, isAnsweredByFilters, redirectLines } from "./route_filters.ts";
import { unusedEndpoints } from "./unused_endpoints.ts";

/** Routes that lost and are shown; the rest is counted. */
const MAX_SHOWN = 30;

export interface Explained {
  readonly text: string;
  /** Whether a backend gets the request; a response of the proxy's own, such as 404 or 503, is none. */
  readonly isForwarded: boolean;
}

/** Everything that explains one URL. */
export interface Question {
  readonly url: RequestedUrl;
  readonly method: string;
  /** Lines, names in any case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly manifests: Manifests;
  readonly plan: Plan;
  /** What a cluster would serve: the same manifests with the endpoints that they name. */
  readonly clusterSnapshot: Snapshot;
  /** As the cluster's proxies have them. */
  readonly pathOptions?: PathOptions;
  /** Whether plain HTTP is redirected, as by deno task dev --ssl-redirect. */
  readonly sslRedirect: boolean;
  /** The Gateway that is asked about, `namespace/name`; null or missing for none in particular. */
  readonly gateway?: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type ChosenAddress = Exclude<GatewayChoice, { readonly kind: "none" }>;

export function explainUrl(question: Question): Explained {
  const { url, method, headers, plan, pathOptions, gateway = null } = question;
  const choice = chooseListener(plan.snapshot, url, gateway);
  if (choice.kind === "none") return refusedByGateway(question, choice);
  const { query } = url;
  const listener = choice.kind === "listener" ? choice.listener.id : url.scheme;
  const request = { listener, method, query, headers };
  const explained = explain(plan.snapshot, url.host, url.rawPath, pathOptions, request);
  // Routes of other addresses have nothing to do with this one.
  const isHere = isOn(choice.kind === "listener" ? gatewayOf(listener) : null);
  const considered = explained.considered.filter(({ route }) => isHere(route));
  const explanation = { ...explained, considered };
  const { outcome } = explanation;
  const action = outcome.kind === "route"
    ? outcome.route.action
    : outcome.kind === "default"
    ? outcome.action
    : null;
  const sections = [
    describeRequest(question, explanation),
    ...onListener(question, explanation, choice),
    winner(question, explanation),
    losers(question, explanation, choice),
    ...certificates(question, explanation, choice),
    ...upstreamsOf(action).map((id) => endpoints(question, id)),
    formatProblems(
      problemsAbout(question, explanation, choice),
      choice.kind === "listener" ? "about this Gateway" : "about this host",
    ),
  ];
  const isAnswered = outcome.kind === "route" &&
    (outcome.problem !== undefined ||
      isAnsweredByFilters(plan.snapshot, outcome.route, explanation.path));
  return {
    text: sections.join("\n\n"),
    isForwarded: action?.kind === "forward" && !isAnswered && hasEndpoint(plan.snapshot, action),
  };
}

/** Routes of a Gateway's listeners; of Ingresses without one. */
function isOn(gateway: string | null): (route: Route) => boolean {
  return (route) =>
    gateway === null
      ? !isOfGateway(route)
      : route.listeners?.some((id) => gatewayOf(id) === gateway) === true;
}

function refusedByGateway(
  { plan, url }: Question,
  { refusals }: Extract<GatewayChoice, { readonly kind: "none" }>,
): Explained {
  const gateways = refusals.map(({ gateway }) => gateway);
  const problems = plan.problems.filter(({ problem: { object } }) =>
    object?.kind === "Gateway" && gateways.includes(`${object.namespace}/${object.name}`)
  );
  const text = [
    lines([`${url.scheme}://${url.host}${url.rawPath}${url.query}`]),
    lines(
      refusals.map(({ gateway, reason }) =>
        `Gateway: ${gateway} does not take it, since ${reason}`
      ),
    ),
    formatProblems(problems, gateways.length === 1 ? "about this Gateway" : "about these Gateways"),
  ].join("\n\n");
  return { text, isForwarded: false };
}

/** What is decided before any route is looked at. */
function onListener(
  question: Question,
  explanation: Explanation,
  choice: ChosenAddress,
): string[] {
  if (choice.kind === "listener") {
    const describe = (origin: Origin) => describeOrigin(question, origin);
    return [lines(listenerLines(choice, question.plan, question.url.host, describe))];
  }
  const others = choice.others.map((other) =>
    `Gateway ${other} takes this URL, too, at its own address: add --gateway ${other}`
  );
  return [
    ...(others.length === 0 ? [] : [lines(others)]),
    owner(question),
    ...redirect(question, explanation),
  ];
}

function certificates(
  question: Question,
  explanation: Explanation,
  choice: ChosenAddress,
): string[] {
  if (choice.kind === "ingress") return [certificate(question, explanation)];
  const { plan: { snapshot }, now } = question;
  const describe = (origin: Origin) => describeOrigin(question, origin);
  const shown = listenerCertificateLines(choice.listener, snapshot, describe, now);
  return shown.length === 0 ? [] : [lines(shown)];
}

/** Of names it is not known. */
function hasEndpoint({ upstreams }: Snapshot, action: Action): boolean {
  return upstreamsOf(action).some((id) => {
    const addresses = upstreams.find((upstream) => upstream.id === id)?.addresses;
    return addresses?.kind === "dns" || (addresses?.endpoints.length ?? 0) > 0;
  });
}

function describeRequest({ url, method, headers }: Question, explanation: Explanation): string {
  const matched = matchedPath(explanation);
  const shown = matched !== null && matched !== url.rawPath ? `, matched as ${matched}` : "";
  const { aliasOf } = explanation;
  return lines([
    `${url.scheme}://${url.host}${url.rawPath}${url.query}`,
    `  host  ${url.host}${aliasOf === null ? "" : `, an alias of ${aliasOf}`}`,
    `  path  ${url.rawPath}${shown}`,
    ...(method === "GET" ? [] : [`  method  ${method}`]),
    ...headers.map(([name, value]) => `  header  ${name}: ${value}`),
  ]);
}

/** Whether plain HTTP is redirected, and which setting decides. */
function redirect(question: Question, explanation: Explanation): string[] {
  const { url, plan, sslRedirect } = question;
  const { host, path } = explanation;
  if (url.scheme !== "http" || !path.ok) return [];
  const setting = explanation.redirect;
  const turnedOff = turnedOffBy(setting);
  if (turnedOff !== null) return [`Redirect: none, as ${turnedOff}`];
  const location = redirectUrl(explanation, url.query, 443);
  if (location !== null) {
    const follows = redirectsOf(question, explanation).length > 0
      ? "redirects of the route come first"
      : "what follows is for HTTPS";
    return [lines([
      `Redirect: 308 to ${location}, as ${setting!.because}; ${follows}`,
      setting!.isForced || sslRedirect
        ? "  deno task dev redirects to its own port for HTTPS"
        : "  deno task dev does so with --ssl-redirect only, proxies in a cluster by default",
    ])];
  }
  // Certificates that are made here redirect too, where that was asked for.
  if (!sslRedirect || madeFor(plan.snapshot, host) !== "host" || isAcmeChallenge(path.path)) {
    return [];
  }
  const made = httpsLocation({ host, path: path.path, query: url.query }, 443, setting?.style);
  return [lines([
    `Redirect: 308 to ${made} by deno task dev, which makes a certificate for the host`,
    "  proxies in a cluster do not redirect it, as no certificate names it",
  ])];
}

/** Whose the host is; of the wildcard that takes it where nobody owns the name itself. */
function owner({ plan, url: { host } }: Question): string {
  const wildcard = `*${host.slice(host.indexOf("."))}`;
  const pattern = plan.hostOwners.has(host) ? host : wildcard;
  const found = plan.hostOwners.get(pattern);
  if (plan.hostOwnership === "shared") return "Owner: none, as namespaces share hosts";
  if (found === undefined) return "Owner: none, as no rule names the host";
  const { namespace, because, sharers, guests } = found;
  const reason = because === "assigned"
    ? "its Namespace says so"
    : "it has the oldest claim in these manifests";
  return lines([
    `Owner: namespace ${namespace}, which has ${pattern}: ${reason}`,
    ...(sharers.length > 0 ? [`  shared by ${sharers.join(", ")}`] : []),
    ...(guests.length > 0 ? [`  rules of ${guests.join(", ")} are admitted`] : []),
  ]);
}

function redirectsOf({ plan }: Question, { outcome, path }: Explanation): string[] {
  return outcome.kind === "route" ? redirectLines(plan.snapshot, outcome.route, path) : [];
}

function winner(question: Question, explanation: Explanation): string {
  const { plan, url } = question;
  const { outcome, host, path } = explanation;
  switch (outcome.kind) {
    case "route":
      return lines([
        `Route: ${outcome.route.id}`,
        ...(outcome.problem === undefined
          ? actionLines(outcome.route.action, redirectLines(plan.snapshot, outcome.route, path))
          : [`  returns 500: ${outcome.problem}`]),
        ...filterLines(plan.snapshot, outcome.route, url, path).map((text) => `  ${text}`),
        `  from ${describeOrigin(question, outcome.route.origin)}`,
      ]);
    case "default":
      return lines([
        "Route: none, so the default backend gets it",
        `  ${describeAction(outcome.action)}`,
      ]);
    case "none":
      return lines([
        `Route: none matches this path of ${host}, and there is no default backend: 404`,
      ]);
    case "refused":
      return lines([`Route: none, since ${outcome.reason}: 400`]);
  }
}

function describeAction(action: Action): string {
  return action.kind === "forward"
    ? `forwards to ${shareTexts(action).join(" or ")}`
    : `returns ${action.status}: ${action.reason}`;
}

/** Nothing of a rule that only redirects; with the shares that no backend gets. */
function actionLines(action: Action, redirects: readonly string[]): string[] {
  if (action.kind === "reply") {
    return redirects.length > 0 ? [] : [`  ${describeAction(action)}`];
  }
  return [
    `  ${describeAction(action)}`,
    ...faultTexts(action).map((fault) => `  500, as ${fault.replace(/\.$/, "")}`),
  ];
}

function describeOrigin({ manifests }: Question, origin: Origin): string {
  const at = manifests.locate(origin, origin.field);
  const place = at === null ? "" : ` (${formatPosition(at)})`;
  return `${formatObject(origin)}, ${origin.field}${place}`;
}

function losers(
  question: Question,
  { considered }: Explanation,
  { kind }: ChosenAddress,
): string {
  const { manifests, plan, url } = question;
  const leftOut = kind === "listener"
    ? []
    : leftOutPaths(manifests, plan, (host) => ruleNames(host, url.host));
  if (considered.length + leftOut.length === 0) {
    return "Considered: no other route has this host";
  }
  const entries = [
    ...leftOut.map(({ object, field, written, because }) => [
      `  ${written}`,
      `    left out: ${because}`,
      `    from ${describeOrigin(question, { ...object, field })}`,
    ]),
    ...considered.map(({ route, lostBecause }) => [
      `  ${route.id}`,
      `    lost because ${lostBecause}`,
      `    from ${describeOrigin(question, route.origin)}`,
    ]),
  ];
  const more = entries.length - MAX_SHOWN;
  return lines([
    "Considered:",
    ...entries.slice(0, MAX_SHOWN).flat(),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ]);
}

function certificate(question: Question, { certificate: choice, host }: Explanation): string {
  if (choice.certificate === null) {
    return lines([
      `Certificate: none, since ${choice.because}`,
      `  ${MADE_HERE[madeFor(question.plan.snapshot, host)]}`,
    ]);
  }
  const { origin } = choice.certificate;
  return lines([
    `Certificate: ${formatObject(origin)}, since ${choice.because}`,
    `  from ${describeOrigin(question, origin)}`,
    ...certificateFacts(choice.certificate, question.now),
  ]);
}

const MADE_HERE = {
  host: "deno task dev generates one",
  machine: "deno task dev generates one for this machine's names",
  nobody:
    "deno task dev generates none, as no rule has the host: clients get that of localhost, and reject it",
} as const;

/** What a cluster's proxies speak to pods. */
const SPOKEN: Readonly<Record<Upstream["protocol"], string>> = {
  http: "HTTP/1.1 in plain text",
  https: "TLS, HTTP/2 or HTTP/1.1 as they choose",
  h2c: "HTTP/2 in plain text",
  h2: "HTTP/2 over TLS",
};

function endpoints({ plan, clusterSnapshot, manifests }: Question, id: string): string {
  const upstream = clusterSnapshot.upstreams.find((upstream) => upstream.id === id);
  const written = upstream?.addresses;
  const rows: string[][] = [];
  if (written?.kind === "dns") {
    rows.push(["", `${written.name}:${written.port}`, "resolved by the proxy"]);
  } else {
    const used = new Set<string>();
    for (const { address, port } of written?.endpoints ?? []) {
      used.add(address);
      rows.push(["", formatAddress({ hostname: address, port }), "gets requests"]);
    }
    const [service, port] = splitUpstreamId(id);
    const slices = manifests.resources.endpointSlices.filter((slice) => {
      const name = fieldOf(slice.metadata?.labels, "kubernetes.io/service-name");
      return `${slice.metadata?.namespace}/${name}` === service;
    });
    for (const one of unusedEndpoints(slices, portName(manifests, service, port), used)) {
      rows.push(["", one.address, `gets none: ${one.because}`]);
    }
  }
  if (rows.length === 0) rows.push(["", "none in these manifests"]);
  return lines([
    `Endpoints of ${id}:`,
    ...(upstream === undefined ? [] : [`  protocol: ${SPOKEN[upstream.protocol]}`]),
    ...alignColumns(rows),
    `  deno task dev sends it to: ${describeUpstream(plan, id)}`,
  ]);
}

/** `<namespace>/<service>`, and the port as the Ingress names it. */
function splitUpstreamId(id: string): [service: string, port: string] {
  const colon = id.lastIndexOf(":");
  return [id.slice(0, colon), id.slice(colon + 1)];
}

/** The name of the Service's port, "" for one without; null where there is no such port. */
function portName({ resources }: Manifests, service: string, port: string): string | null {
  const object = resources.services.find(({ metadata }) =>
    `${metadata?.namespace}/${metadata?.name}` === service
  );
  const found = (asList(fieldOf(object?.spec, "ports")) ?? [])
    .find((one) => fieldOf(one, "name") === port || String(fieldOf(one, "port")) === port);
  return found === undefined ? null : String(fieldOf(found, "name") ?? "");
}

/**
 * Those of files that cannot be read, of Ingresses that name this host, be they left out, and of
 * what these name.
 */
function problemsAbout(
  question: Question,
  explanation: Explanation,
  choice: ChosenAddress,
): LocatedProblem[] {
  return choice.kind === "listener"
    ? problemsOfGateway(question, gatewayOf(choice.listener.id))
    : problemsOfIngresses(question, explanation);
}

/** Those of the Gateway, and of routes that name it as a parent. */
function problemsOfGateway({ manifests, plan }: Question, gateway: string): LocatedProblem[] {
  const related = new Set([`Gateway ${gateway}`]);
  for (const route of manifests.resources.httpRoutes ?? []) {
    const { gateways, object, services } = parentGatewaysOf(route);
    if (!gateways.includes(gateway)) continue;
    for (const each of [object, ...services]) related.add(formatObject(each));
  }
  return plan.problems.filter(({ problem: { object } }) =>
    object === null || related.has(formatObject(object))
  );
}

function problemsOfIngresses(question: Question, explanation: Explanation): LocatedProblem[] {
  const { manifests, plan, url } = question;
  const related = new Set<string>();
  const relate = (ref: ObjectRef) => related.add(formatObject(ref));
  const { outcome, considered, certificate } = explanation;
  if (outcome.kind === "route") relate(outcome.route.origin);
  for (const { route } of considered) relate(route.origin);
  if (certificate.certificate !== null) relate(certificate.certificate.origin);
  for (const ingress of manifests.resources.ingresses) {
    const ref = refOf(ingress);
    const rules = rulesOf(ingress);
    if (!rulesName(rules, url.host) && !related.has(formatObject(ref))) continue;
    relate(ref);
    const { namespace } = ref;
    for (const name of namedServices(ingress.spec, rules)) {
      relate({ kind: "Service", namespace, name });
      for (const slice of manifests.resources.endpointSlices) {
        if (fieldOf(slice.metadata?.labels, "kubernetes.io/service-name") !== name) continue;
        relate({ kind: "EndpointSlice", namespace, name: slice.metadata?.name ?? "" });
      }
    }
    for (const tls of asList(fieldOf(ingress.spec, "tls")) ?? []) {
      const name = fieldOf(tls, "secretName");
      if (typeof name === "string") relate({ kind: "Secret", namespace, name });
    }
  }
  return plan.problems.filter(({ problem, leftOut }) =>
    problem.object === null || related.has(formatObject(problem.object)) ||
    (problem.object.kind === "Ingress" && rulesName(rulesOf(leftOut), url.host)) ||
    mayHideRules(problem)
  );
}

/** An unknown field outside of the lists of an Ingress, such as `rule`: it may name this host. */
function mayHideRules({ object, field, reason }: Problem): boolean {
  return object?.kind === "Ingress" && reason === "FieldUnknown" && !field.includes("[");
}

function rulesOf(ingress: unknown): readonly unknown[] {
  return asList(fieldOf(fieldOf(ingress, "spec"), "rules")) ?? [];
}

function rulesName(rules: readonly unknown[], host: string): boolean {
  return rules.some((rule) => ruleNames(fieldOf(rule, "host"), host));
}

/** Also a host that is written wrongly, if it is this one that was meant. */
function ruleNames(written: unknown, host: string): boolean {
  if (isAbsent(written) || written === "") return true;
  const text = String(written);
  const pattern = parseHostPattern(text);
  return pattern.ok ? hostPatternTakes(pattern.host, host) : text.toLowerCase() === host;
}

function namedServices(spec: unknown, rules: readonly unknown[]): Set<string> {
  const paths = rules.flatMap((rule) => asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []);
  const backends = [
    fieldOf(spec, "defaultBackend"),
    ...paths.map((path) => fieldOf(path, "backend")),
  ];
  const names = backends.map((backend) => fieldOf(fieldOf(backend, "service"), "name"));
  return new Set(names.filter((name) => typeof name === "string"));
}

function lines(all: readonly string[]): string {
  return all.map(printable).join("\n");
}
