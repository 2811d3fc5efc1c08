/**
 * Objects of Gateway API for tests. In: names, and public ports or listeners. Out: a GatewayClass of ours, a
 * Gateway of it and an HTTPRoute on that, to be applied.
 */
import { GATEWAY_API } from "../../../controller/kube/types.ts";
import { GATEWAY_CONTROLLER } from "../../../controller/translate/gateway/objects/gateway_class.ts";
import type { KubeObject } from "./api_client.ts";

const V1 = `${GATEWAY_API}/v1`;

/** The class that `overlays/gateway` installs. */
export const CLASS_NAME = "pingress";

/** @param spec Beside the controllerName. */
export function gatewayClass(name = CLASS_NAME, spec: object = {}): KubeObject {
  return {
    apiVersion: V1,
    kind: "GatewayClass",
    metadata: { name },
    spec: { controllerName: GATEWAY_CONTROLLER, ...spec },
  };
}

/** HTTP on port 80, unless other ports are given. */
export function httpListeners(...ports: readonly number[]): readonly object[] {
  return ports.length === 0
    ? [{ name: "http", port: 80, protocol: "HTTP" }]
    : ports.map((port) => ({ name: `http-${port}`, port, protocol: "HTTP" }));
}

export function gatewayOf(
  listeners = httpListeners(),
  { name = "web", className = CLASS_NAME } = {},
): KubeObject {
  return {
    apiVersion: V1,
    kind: "Gateway",
    metadata: { name },
    spec: { gatewayClassName: className, listeners },
  };
}

/** All requests for a hostname go to port 80 of the Service `web`, by the Gateway `web`. */
export function routeOf(name: string, hostname: string): KubeObject {
  const spec = {
    parentRefs: [{ name: "web" }],
    hostnames: [hostname],
    rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
  };
  return { apiVersion: V1, kind: "HTTPRoute", metadata: { name }, spec } as KubeObject;
}
