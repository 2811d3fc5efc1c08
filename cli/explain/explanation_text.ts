/**
 * An explanation as text. In: the explanation, the width and colours of the terminal, and whether all losers
 * are listed. Out: one block of sections. Pure.
 */
import { hostText } from "../../dev/explain/listener_facts.ts";
import type {
  CertificateFacts,
  ExplainedOrigin,
  HttpsRedirectFacts,
  LeafFacts,
  ListenerFacts,
  Loser,
  OwnerFacts,
  RouteFacts,
  UpstreamFacts,
  UrlExplanation,
} from "../../dev/explain/url_explanation.ts";
import { sharesInWords } from "../../dev/gateway/backend_shares.ts";
import { formatPosition } from "../../dev/manifests/position.ts";
import { alignColumns, printable } from "../../dev/terminal_text.ts";
import { formatObject } from "../../shared/problem.ts";
import { formatProblems } from "../terminal/problem_text.ts";
import type { Style } from "../terminal/style.ts";
import { wrapLine } from "../terminal/wrapped_lines.ts";

/** Losers that are listed without `--all`: what would take the request comes first. */
const MAX_LOSERS = 5;

export interface TextOptions {
  readonly columns: number;
  readonly style: Style;
  /** Whether every loser is listed. */
  readonly showsAll: boolean;
}

/** Without a line break at the end. */
export function explanationText(
  explanation: UrlExplanation,
  { columns, style, showsAll }: TextOptions,
): string {
  const { refusals, owner, httpsRedirect, answer, notes } = explanation;
  const sections: readonly string[][] = refusals.length > 0
    ? [[explanation.url], refusalLines(explanation)]
    : [
      requestLines(explanation),
      ...listenerSections(explanation),
      owner === null ? [] : ownerLines(owner),
      httpsRedirect === null ? unknownRedirectLines(explanation) : redirectLines(httpsRedirect),
      routeLines(explanation),
      loserLines(explanation.losers, showsAll, explanation.listener !== null),
      ...explanation.certificates.map(certificateLines),
      // No backend gets what a filter redirects.
      ...(answer.kind === "redirect" ? [] : explanation.upstreams.map(upstreamLines)),
      notes.map((note) => `Not known: ${note}`),
    ];
  const paint = (line: string) => painted(line, style);
  const blocks = sections.filter((lines) => lines.length > 0).map((lines) =>
    lines.flatMap((line) => wrapLine(printable(line), columns)).map(paint).join("\n")
  );
  return [...blocks, problemText(explanation, columns, style)].join("\n\n");
}

function refusalLines({ refusals, answer }: UrlExplanation): string[] {
  return [
    ...refusals.map(({ gateway, reason }) =>
      `Gateway: ${gateway} does not take it, since ${reason}`
    ),
    ...(answer.kind === "error" && answer.status === 400
      ? [`Route: none, since ${answer.reason}: 400`]
      : []),
  ];
}

function requestLines({ url, request }: UrlExplanation): string[] {
  const { host, path, matchedPath, aliasOf, method, headers } = request;
  const shown = matchedPath !== null && matchedPath !== path ? `, matched as ${matchedPath}` : "";
  return [
    url,
    `  host  ${host}${aliasOf === null ? "" : `, an alias of ${aliasOf}`}`,
    `  path  ${path}${shown}`,
    ...(method === "GET" ? [] : [`  method  ${method}`]),
    ...headers.map(({ name, value }) => `  header  ${name}: ${value}`),
  ];
}

function listenerSections(
  { listener, otherGateways, elsewhere, answer }: UrlExplanation,
): string[][] {
  const others = otherGateways.map((other) =>
    `Gateway ${other} takes this URL, too, at its own address: add --gateway ${other}`
  );
  const isMissing = answer.kind === "error" && answer.status === 404;
  const ports = !isMissing
    ? []
    : elsewhere.map(({ gateway, scheme, port }) =>
      `Gateway ${gateway} has this host for ${scheme} on port ${port}`
    );
  return listener === null
    ? [others, ports]
    : [listenerLines(listener, [...others, ...ports].map(indented))];
}

function listenerLines(listener: ListenerFacts, others: readonly string[]): string[] {
  const { gateway, name, port, service, localUrl } = listener;
  return [
    `Gateway: ${gateway}, listener ${name} (port ${port}, ${hostText(listener)})`,
    ...(localUrl === null
      ? []
      : [`  deno task dev: ${localUrl}, or the next port if a program has that one`]),
    `  from ${originText(listener.origin)}`,
    ...(service === null ? [] : [serviceLine(service, localUrl !== null)]),
    ...listener.others.map((other) => `  not listener ${other.name}: ${other.because}`),
    ...others,
    ...(listener.isTakenByIngresses
      ? [
        "  Ingresses take it, too, at their own address: write that URL with a port no Gateway has",
      ]
      : []),
  ];
}

function serviceLine(
  { namespace, name, type }: NonNullable<ListenerFacts["service"]>,
  isInDev: boolean,
): string {
  const cost = type === "LoadBalancer"
    ? ": a cloud creates, and charges for, a load balancer for each Gateway"
    : "";
  const where = isInDev ? "in a cluster: " : "";
  return `  ${where}Service ${namespace}/${name} of type ${type}${cost}`;
}

function ownerLines({ namespace, pattern, because, sharers, guests }: OwnerFacts): string[] {
  if (namespace === null) return [`Owner: none, as ${because}`];
  return [
    `Owner: namespace ${namespace}, which has ${pattern}: ${because}`,
    ...(sharers.length > 0 ? [`  shared by ${sharers.join(", ")}`] : []),
    ...(guests.length > 0 ? [`  rules of ${guests.join(", ")} are admitted`] : []),
  ];
}

function redirectLines(
  { location, because, by, isInDev, isAfterRoute }: HttpsRedirectFacts,
): string[] {
  if (location === null) return [`Redirect: none, as ${because}`];
  if (by === "dev") {
    return [
      `Redirect: 308 to ${location} by deno task dev, as ${because}`,
      "  proxies in a cluster do not redirect it, as no certificate names it",
    ];
  }
  const follows = isAfterRoute ? "redirects of the route come first" : "what follows is for HTTPS";
  return [
    `Redirect: 308 to ${location}, as ${because}; ${follows}`,
    ...(isInDev === null ? [] : [
      isInDev
        ? "  deno task dev redirects to its own port for HTTPS"
        : "  deno task dev does so with --ssl-redirect only, proxies in a cluster by default",
    ]),
  ];
}

/** Where no setting decides, a certificate does. */
function unknownRedirectLines({ request, listener, certificates }: UrlExplanation): string[] {
  const isUnknown = request.scheme === "http" && listener === null &&
    certificates.some(({ isKnown }) => !isKnown);
  return isUnknown ? ["Redirect: not known, as the certificate of the host is not"] : [];
}

function routeLines({ route, answer, request, filters }: UrlExplanation): string[] {
  if (route === null) {
    const reason = answer.kind === "error" ? answer.reason : "";
    return answer.kind === "error" && answer.status === 404
      ? [`Route: none matches this path of ${request.host}, and there is no default backend: 404`]
      : [`Route: none, since ${reason}: ${answer.kind === "error" ? answer.status : 500}`];
  }
  const actions = answer.kind === "redirect" ? [] : actionLines(route);
  const steps = (filters ?? []).map(({ upstream, text }) =>
    indented(upstream === null ? text : `${text} (requests for ${upstream})`)
  );
  if (route.id === null) {
    return ["Route: none, so the default backend gets it", ...actions.map(indented), ...steps];
  }
  return [
    `Route: ${route.id}`,
    ...(route.fault === null ? actions : [`returns 500: ${route.fault}`]).map(indented),
    ...steps,
    ...(route.origin === null ? [] : [`  from ${originText(route.origin)}`]),
    ...sharedLines(route),
  ];
}

function sharedLines({ sharedBy }: RouteFacts): string[] {
  const byGateway = Map.groupBy(sharedBy, ({ gateway }) => gateway);
  return Array.from(byGateway, ([gateway, listeners]) => {
    const names = listeners.map(({ listener }) => listener).join(", ");
    const word = listeners.length === 1 ? "listener" : "listeners";
    return `  on Gateway ${gateway}, ${word} ${names}, at the address of Ingresses`;
  });
}

/** With the shares that no backend gets. */
function actionLines({ backends, reply }: RouteFacts): string[] {
  if (reply !== null) return [`returns ${reply.status}: ${reply.reason}`];
  return [
    `forwards to ${sharesInWords(backends).join(" or ")}`,
    ...backends.flatMap(({ fault }) => fault === null ? [] : [`500, as ${withoutStop(fault)}`]),
  ];
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, "");
}

function indented(line: string): string {
  return `  ${line}`;
}

function loserLines(losers: readonly Loser[], showsAll: boolean, isGateway: boolean): string[] {
  if (losers.length === 0) {
    return [`Considered: no other route ${isGateway ? "of the Gateway " : ""}has this host`];
  }
  const shown = showsAll ? losers : losers.slice(0, MAX_LOSERS);
  const more = losers.length - shown.length;
  return [
    "Considered:",
    ...shown.flatMap(({ route, kind, because, origin }) => [
      `  ${route}`,
      `    ${kind === "lost" ? "lost because " : "left out: "}${because}`,
      `    from ${originText(origin)}`,
    ]),
    ...(more > 0 ? [`  and ${more} more; --all lists them`] : []),
  ];
}

function certificateLines(
  { origin, because, isKnown, leaf, inDev }: CertificateFacts,
): string[] {
  if (!isKnown) {
    return [`Certificate: not known: ${because}`];
  }
  if (origin === null) {
    return [
      `Certificate: none, since ${because}`,
      ...(inDev === null ? [] : [`  deno task dev ${inDev}`]),
    ];
  }
  return [
    `Certificate: ${formatObject(origin)}, since ${because}`,
    `  from ${originText(origin)}`,
    ...(leaf === null ? [] : leafLines(leaf)),
  ];
}

function leafLines(leaf: LeafFacts): string[] {
  if ("unreadable" in leaf) return [`  cannot be read: ${leaf.unreadable}`];
  const { names, issuer, isSelfSigned, expires, daysLeft } = leaf;
  const left = daysLeft < 0 ? "has expired" : `${daysLeft} day${daysLeft === 1 ? "" : "s"} left`;
  return [
    `  names    ${names.join(", ")}`,
    `  issuer   ${issuer}${isSelfSigned ? " (itself)" : ""}`,
    `  expires  ${expires.slice(0, 10)} (${left})`,
  ];
}

/** What proxies speak to pods. */
const SPOKEN: Readonly<Record<NonNullable<UpstreamFacts["protocol"]>, string>> = {
  http: "HTTP/1.1 in plain text",
  https: "TLS, HTTP/2 or HTTP/1.1 as they choose",
  h2c: "HTTP/2 in plain text",
  h2: "HTTP/2 over TLS",
};

function upstreamLines({ id, protocol, endpoints, unused, inDev }: UpstreamFacts): string[] {
  const rows = [
    ...endpoints.map(({ address, isName }) => [
      "",
      address,
      isName ? "resolved by the proxy" : "gets requests",
    ]),
    ...unused.map(({ address, because }) => ["", address, `gets none: ${because}`]),
  ];
  const none = inDev === null ? "none" : "none in these manifests";
  return [
    `Endpoints of ${id}:`,
    ...(protocol === null ? [] : [`  protocol: ${SPOKEN[protocol]}`]),
    ...alignColumns(rows.length === 0 ? [["", none]] : rows),
    ...(inDev === null ? [] : [`  deno task dev sends it to: ${inDev}`]),
  ];
}

function originText({ at, ...origin }: ExplainedOrigin): string {
  const place = at === null ? "" : ` (${formatPosition(at)})`;
  return `${formatObject(origin)}${origin.field === "" ? "" : `, ${origin.field}`}${place}`;
}

function problemText(
  { problems, listener, refusals }: UrlExplanation,
  columns: number,
  style: Style,
): string {
  const about = listener !== null
    ? "about this Gateway"
    : refusals.length === 0
    ? "about this host"
    : refusals.length === 1
    ? "about this Gateway"
    : "about these Gateways";
  const located = problems.map(({ at, excerpt, ...problem }) => ({ problem, at, excerpt }));
  return formatProblems(located, { columns, style, about });
}

/** Headings stand out, and replies of the proxy's own. */
function painted(line: string, style: Style): string {
  const [heading] = /^[A-Z][A-Za-z]*(?: of \S+)?:/.exec(line) ?? [];
  if (heading !== undefined) {
    const rest = line.slice(heading.length);
    return style.bold(heading) + (/: [45]\d\d$/.test(rest) ? style.red(rest) : rest);
  }
  return /^ {2}returns [45]\d\d: /.test(line) ? style.red(line) : line;
}
