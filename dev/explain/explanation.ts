/**
 * Why a URL takes its route. In: objects, the plan made of them, and a URL as somebody would request it.
 * Out: data that names the winner and where it is written, what its filters do, who lost and why, the
 * certificate, the endpoints, and the problems that bear on the host.
 */
import { canonicalPath } from "../../shared/path/canonical_path.ts";
import { defaultPlace, upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import { gatewayOf, listenerNameOf, sharedSocketOf } from "../../shared/snapshot/listener_id.ts";
import type { Action, Origin, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { explain, type Explanation, matchedPath, placeOf } from "../../proxy/router/explain.ts";
import { sharesOf } from "../gateway/backend_shares.ts";
import { chooseListener, type GatewayChoice } from "../gateway/gateway_choice.ts";
import { isOfGateway, isOfIngress, isOfRoute } from "../gateway/gateway_routes.ts";
import { madeFor } from "../made_certificates.ts";
import type { LocatedProblem } from "../manifests/file.ts";
import { describeUpstream } from "../upstream_text.ts";
import { leafFacts } from "./certificate_facts.ts";
import { endpointFacts } from "./endpoint_facts.ts";
import { filterAnswer, filterSteps, redirectsFirst } from "./filter_steps.ts";
import { httpsRedirectFacts, ownerFacts } from "./host_facts.ts";
import { leftOutPaths } from "./left_out_paths.ts";
import { listenerCertificates, listenerFacts } from "./listener_facts.ts";
import type { Question } from "./question.ts";
import {
  problemsOfGateway,
  problemsOfGateways,
  problemsOfIngresses,
  ruleNames,
} from "./related_problems.ts";
import type {
  Answer,
  CertificateFacts,
  ExplainedOrigin,
  ExplainedProblem,
  Loser,
  RouteFacts,
  UrlExplanation,
} from "./url_explanation.ts";

type ChosenAddress = Exclude<GatewayChoice, { readonly kind: "none" }>;

/** Pure. */
export function explainUrl(question: Question): UrlExplanation {
  const { url, method, headers, plan, pathOptions, gateway = null, isInDev } = question;
  const choice = chooseListener(plan.snapshot, url, gateway);
  if (choice.kind === "none") return refusedByGateways(question, choice);
  const id = choice.kind === "listener" ? choice.listener.id : url.scheme;
  const request = { listener: id, method, query: url.query, headers };
  const explained = explain(plan.snapshot, url.host, url.rawPath, pathOptions, request);
  // Routes of other addresses have nothing to do with this one; others than these kinds nobody has written.
  const isHere = isOn(choice.kind === "listener" ? gatewayOf(id) : null);
  const considered = explained.considered.filter(({ route }) =>
    isHere(route) && (isOfIngress(route) || isOfRoute(route))
  );
  const explanation = { ...explained, considered };
  const { outcome, path } = explanation;
  const place = placeOf(outcome);
  const isAfterRoute = place !== null && redirectsFirst(plan.snapshot, place, { url, path });
  const locate = (origin: Origin) => locateOrigin(question, origin);
  const isListener = choice.kind === "listener";
  return {
    ...requestFacts(question, explanation),
    answer: answerOf(plan.snapshot, question, explanation),
    listener: isListener ? listenerFacts(choice, plan, url.host, isInDev, locate) : null,
    refusals: [],
    otherGateways: choice.others,
    elsewhere: choice.elsewhere,
    owner: isListener ? null : ownerFacts(plan, url.host, isInDev),
    httpsRedirect: isListener ? null : httpsRedirectFacts(question, explanation, isAfterRoute),
    route: routeFacts(question, explanation),
    filters: place === null ? [] : filterSteps(plan.snapshot, place, { url, path }),
    losers: losersOf(question, explanation, choice),
    certificates: certificatesOf(question, explanation, choice, locate),
    upstreams: upstreamsOf(actionOf(explanation)).map((id) =>
      endpointFacts(
        question.clusterSnapshot,
        question.manifests.resources,
        id,
        isInDev ? describeUpstream(plan, id) : null,
      )
    ),
    problems:
      (isListener
        ? problemsOfGateway(question, gatewayOf(id))
        : problemsOfIngresses(question, explanation)).filter(needsSomething).map(problemFacts),
    notes: [],
  };
}

/** Routes of a Gateway's listeners; of Ingresses without one. */
function isOn(gateway: string | null): (route: Route) => boolean {
  return (route) =>
    gateway === null
      ? !isOfGateway(route)
      : route.listeners?.some((id) => gatewayOf(id) === gateway) === true;
}

function refusedByGateways(
  question: Question,
  { refusals }: Extract<GatewayChoice, { readonly kind: "none" }>,
): UrlExplanation {
  const gateways = refusals.map(({ gateway }) => gateway);
  // Proxies read the path before they look for a listener.
  const path = canonicalPath(question.url.rawPath, question.pathOptions);
  return {
    ...requestFacts(question, null),
    answer: path.ok
      ? { kind: "error", status: 404, reason: "no Gateway takes it" }
      : { kind: "error", status: 400, reason: `the path ${path.reason}` },
    listener: null,
    refusals,
    otherGateways: [],
    elsewhere: [],
    owner: null,
    httpsRedirect: null,
    route: null,
    filters: [],
    losers: [],
    certificates: [],
    upstreams: [],
    problems: problemsOfGateways(question, gateways).map(problemFacts),
    notes: [],
  };
}

/** @param explanation null where nothing takes the URL. */
function requestFacts(
  { url, method, headers }: Question,
  explanation: Explanation | null,
): Pick<UrlExplanation, "url" | "request"> {
  return {
    url: `${url.scheme}://${url.host}${url.rawPath}${url.query}`,
    request: {
      scheme: url.scheme,
      method,
      headers: headers.map(([name, value]) => ({ name, value })),
      host: url.host,
      path: url.rawPath,
      matchedPath: explanation === null ? null : matchedPath(explanation),
      aliasOf: explanation?.aliasOf ?? null,
    },
  };
}

function actionOf({ outcome }: Explanation): Action | null {
  if (outcome.kind === "route") return outcome.route.action;
  return outcome.kind === "default" ? outcome.action : null;
}

/** What a client gets that filters admit, after the redirect to HTTPS if there is one. */
function answerOf(
  snapshot: Snapshot,
  { url, hasEndpoints = true }: Question,
  explanation: Explanation,
): Answer {
  const { outcome, path } = explanation;
  switch (outcome.kind) {
    case "refused":
      return { kind: "error", status: 400, reason: outcome.reason };
    case "none":
      return {
        kind: "error",
        status: 404,
        reason: "no route matches, and there is no default backend",
      };
    case "default":
      return filterAnswer(snapshot, defaultPlace(outcome.action), { url, path }) ??
        actionAnswer(snapshot, outcome.action, hasEndpoints);
    case "route": {
      const { route, problem } = outcome;
      if (problem !== undefined) return { kind: "error", status: 500, reason: problem };
      return filterAnswer(snapshot, route, { url, path }) ??
        actionAnswer(snapshot, route.action, hasEndpoints);
    }
  }
}

/**
 * What a request gets that filters let through.
 *
 * @param hasEndpoints Whether the endpoints of the snapshot are known.
 */
export function actionAnswer(
  { upstreams }: Pick<Snapshot, "upstreams">,
  action: Action,
  hasEndpoints = true,
): Answer {
  if (action.kind === "reply") {
    return { kind: "error", status: action.status, reason: action.reason };
  }
  const ids = upstreamsOf(action);
  if (ids.length === 0) {
    const [fault] = sharesOf(action).flatMap(({ fault }) => fault ?? []);
    return { kind: "error", status: 500, reason: fault ?? "no backend gets requests" };
  }
  // Of names it is not known whether they have any.
  const isReady = !hasEndpoints ||
    upstreams.some(({ id, addresses }) =>
      ids.includes(id) && (addresses.kind === "dns" || addresses.endpoints.length > 0)
    );
  return isReady
    ? { kind: "backend" }
    : { kind: "error", status: 503, reason: `${ids.join(" and ")} has no ready endpoint` };
}

function routeFacts(question: Question, explanation: Explanation): RouteFacts | null {
  const action = actionOf(explanation);
  if (action === null) return null;
  const { outcome } = explanation;
  const route = outcome.kind === "route" ? outcome.route : null;
  return {
    id: route?.id ?? null,
    origin: route === null ? null : locateOrigin(question, route.origin),
    sharedBy: sharedBy(route?.listeners),
    backends: action.kind === "forward" ? sharesOf(action) : [],
    reply: action.kind === "reply" ? { status: action.status, reason: action.reason } : null,
    fault: outcome.kind === "route" ? outcome.problem ?? null : null,
  };
}

/** Of the listeners of a route. */
export function sharedBy(listeners: Route["listeners"]): RouteFacts["sharedBy"] {
  return (listeners ?? []).filter((id) => sharedSocketOf(id) !== null && gatewayOf(id) !== "")
    .map((id) => ({ gateway: gatewayOf(id), listener: listenerNameOf(id) }));
}

function locateOrigin(
  { manifests }: Pick<Question, "manifests">,
  { kind, namespace, name, field }: Origin,
): ExplainedOrigin {
  const at = manifests.locate({ kind, namespace, name }, field);
  return { kind, namespace, name, field, at };
}

function losersOf(
  question: Question,
  { considered, path }: Explanation,
  { kind }: ChosenAddress,
): Loser[] {
  const { manifests, plan, url } = question;
  const requested = path.ok ? path.path : null;
  const takes = (host: unknown) => ruleNames(host, url.host);
  const leftOut = kind === "listener" ? [] : leftOutPaths(manifests, plan, takes, requested);
  const losers = [
    ...leftOut.map(({ object, field, path, written, because, isMatch }) => ({
      closeness: isMatch ? Infinity : commonLength(path, requested ?? ""),
      loser: {
        route: written,
        kind: "left-out" as const,
        because,
        isMatch,
        origin: locateOrigin(question, { ...object, field }),
      },
    })),
    ...considered.map(({ route, lostBecause, isMatch }) => ({
      closeness: isMatch ? Infinity : commonLength(route.match.path.value, requested ?? ""),
      loser: {
        route: route.id,
        kind: "lost" as const,
        because: lostBecause,
        isMatch,
        origin: locateOrigin(question, route.origin),
      },
    })),
  ];
  return losers.sort((a, b) => a.closeness === b.closeness ? 0 : b.closeness - a.closeness)
    .map(({ loser }) => loser);
}

/** How many characters two paths begin with in common. */
function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** A listener of plain HTTP has none, be they known or not. */
function certificatesOf(
  question: Question,
  explanation: Explanation,
  choice: ChosenAddress,
  locate: (origin: Origin) => ExplainedOrigin,
): readonly CertificateFacts[] {
  const { plan: { snapshot }, isInDev, now, certificatesUnread = null } = question;
  const isPlain = choice.kind === "listener" && choice.listener.protocol !== "HTTPS";
  if (certificatesUnread !== null && !isPlain) {
    const because = certificatesUnread;
    return [{ origin: null, because, isKnown: false, leaf: null, inDev: null }];
  }
  return choice.kind === "listener"
    ? listenerCertificates(choice.listener, snapshot, isInDev, locate, now)
    : [hostCertificate(question, explanation)];
}

function hostCertificate(
  question: Question,
  { certificate: { certificate, because }, host }: Explanation,
): CertificateFacts {
  if (certificate === null) {
    const made = MADE_HERE[madeFor(question.plan.snapshot, host)];
    const inDev = question.isInDev ? made : null;
    return { origin: null, because, isKnown: true, leaf: null, inDev };
  }
  return {
    origin: locateOrigin(question, certificate.origin),
    because,
    isKnown: true,
    leaf: leafFacts(certificate, question.now),
    inDev: null,
  };
}

const MADE_HERE = {
  host: "generates one",
  machine: "generates one for this machine's names",
  nobody: "generates none, as no rule has the host: clients get that of localhost, and reject it",
} as const;

/** Those that need nothing are mostly about other files. */
function needsSomething({ problem }: LocatedProblem): boolean {
  return problem.severity !== "info";
}

function problemFacts({ problem, at, excerpt = null }: LocatedProblem): ExplainedProblem {
  const { object, field, reason, message, remedy, severity } = problem;
  return { object, field, reason, message, remedy, severity, at, excerpt };
}
