/**
 * The features of Gateway API on `docs/gateway.md`. In: what GatewayClasses show as supported, and the page. Out:
 * the page with a table of them, aligned as `deno fmt` does; the rest of the page is written by hand.
 */
import { SUPPORTED_FEATURES } from "../controller/outputs/gateway_status/features.ts";

/** Where the page stands, relative to the repository. */
export const GATEWAY_PAGE = "docs/gateway.md";

/** By feature, what it is; a feature without a row is a mistake. */
const MEANINGS: Readonly<Record<string, string>> = {
  Gateway: "core: listeners for HTTP and HTTPS, hostnames, allowed routes, certificates",
  GatewayAddressEmpty: "`spec.addresses` with an entry without a value: an address is assigned",
  GatewayHTTPListenerIsolation:
    "a request reaches only the listener with the most specific hostname",
  GatewayHTTPSListenerDetectMisdirectedRequests:
    "421 for a host of another listener than the connection",
  GatewayInfrastructure: "labels, annotations and parameters of `spec.infrastructure`",
  GatewayPort8080: "listeners on port 8080, as on any other port",
  GatewayStaticAddresses: "`spec.addresses` with a value: the Service gets this address",
  HTTPRoute: "core: hosts, paths, headers, weights, request header modifiers, redirects",
  HTTPRoute303RedirectStatusCode: "`requestRedirect.statusCode` 303",
  HTTPRoute307RedirectStatusCode: "`requestRedirect.statusCode` 307",
  HTTPRoute308RedirectStatusCode: "`requestRedirect.statusCode` 308",
  HTTPRouteBackendProtocolH2C: "`appProtocol: kubernetes.io/h2c`: HTTP/2 to the backend",
  HTTPRouteBackendProtocolWebSocket: "`appProtocol: kubernetes.io/ws`: WebSocket to the backend",
  HTTPRouteBackendTimeout: "`timeouts.backendRequest`",
  HTTPRouteDestinationPortMatching: "a route without `port` applies to all ports of its Gateway",
  HTTPRouteMethodMatching: "`matches.method`",
  HTTPRouteNamedRouteRule: "`name` of a rule",
  HTTPRouteParentRefPort: "`parentRefs.port`",
  HTTPRoutePathRedirect: "`requestRedirect.path`",
  HTTPRoutePortRedirect: "`requestRedirect.port`",
  HTTPRouteQueryParamMatching: "`matches.queryParams`",
  HTTPRouteRequestTimeout: "`timeouts.request`",
  HTTPRouteSchemeRedirect: "`requestRedirect.scheme`",
  ReferenceGrant: "core: references to Secrets and Services of other namespaces",
};

const REGION = /(?<=^<!-- features[^\n]*-->\n\n)[^]*?(?=\n\n<!-- end of features -->$)/m;

/** The page with the table as it should be. Throws without the place for it. */
export function gatewayPage(page: string): string {
  if (!REGION.test(page)) throw new Error(`${GATEWAY_PAGE} has no place for features`);
  const rows = SUPPORTED_FEATURES.map((name) => {
    const meaning = MEANINGS[name];
    if (meaning === undefined) throw new Error(`${name} has no row in tools/gateway_page.ts`);
    return [`\`${name}\``, meaning];
  });
  return page.replace(REGION, () => table(["feature", "what it is"], rows).join("\n"));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i].length))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)];
}
