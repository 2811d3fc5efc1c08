/**
 * Features of Gateway API that this controller supports. In: nothing. Out: their names, as GatewayClasses
 * show them and the conformance suite reads them.
 *
 * https://gateway-api.sigs.k8s.io/geps/gep-2162/
 */

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
