/**
 * Features of Gateway API that this controller supports. In: the addresses of a class's Gateways. Out: names
 * of features, as GatewayClasses show them and the conformance suite reads them.
 *
 * https://gateway-api.sigs.k8s.io/geps/gep-2162/
 */

import type { AddressKind } from "../../translate/gateway/objects/parameters.ts";

/** Of which every test of the conformance profile GATEWAY-HTTP must pass. */
const CORE = ["Gateway", "HTTPRoute", "ReferenceGrant"];

/** Add one when its conformance tests pass: users choose a class by them. */
const EXTENDED = [
  "GatewayAddressEmpty",
  "GatewayHTTPListenerIsolation",
  "GatewayHTTPSListenerDetectMisdirectedRequests",
  "GatewayInfrastructure",
  "GatewayPort8080",
  "GatewayStaticAddresses",
  "HTTPRoute303RedirectStatusCode",
  "HTTPRoute307RedirectStatusCode",
  "HTTPRoute308RedirectStatusCode",
  "HTTPRouteBackendProtocolH2C",
  "HTTPRouteBackendProtocolWebSocket",
  "HTTPRouteBackendTimeout",
  "HTTPRouteDestinationPortMatching",
  "HTTPRouteMethodMatching",
  "HTTPRouteNamedRouteRule",
  "HTTPRouteParentRefPort",
  "HTTPRoutePathRedirect",
  "HTTPRoutePortRedirect",
  "HTTPRouteQueryParamMatching",
  "HTTPRouteRequestTimeout",
  "HTTPRouteSchemeRedirect",
];

/** In the order of their names, as the API requires. */
export const SUPPORTED_FEATURES: readonly string[] = [...CORE, ...EXTENDED].sort();

/** What an address that is shared with Ingresses cannot have: a Service, other ports, and another address. */
const OF_OWN_ADDRESSES: ReadonlySet<string> = new Set([
  "GatewayInfrastructure",
  "GatewayPort8080",
  "GatewayStaticAddresses",
]);

const OF_SHARED_ADDRESSES: readonly string[] = SUPPORTED_FEATURES.filter((name) =>
  !OF_OWN_ADDRESSES.has(name)
);

/** In the order of their names. */
export function featuresWith(address: AddressKind): readonly string[] {
  return address === "shared" ? OF_SHARED_ADDRESSES : SUPPORTED_FEATURES;
}
