/** Mistakes with Gateway API. In: nothing. Out: a table. */
import { type BrokenInput, changed, GATEWAY, ROUTE, SERVICE } from "./input.ts";

/** Of a class whose ConfigMap is in no file. */
const PARAMETERS = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata:
  name: internal
spec:
  controllerName: pingress.io/gateway-controller
  parametersRef:
    group: ""
    kind: ConfigMap
    name: gone
    namespace: pingress-system
`;

function ofGateway(name: string, from: string | RegExp, to: string): BrokenInput {
  return input(name, changed(GATEWAY, from, to), ROUTE);
}

function ofRoute(name: string, from: string | RegExp, to: string): BrokenInput {
  return input(name, GATEWAY, changed(ROUTE, from, to));
}

function input(name: string, gateway: string, route: string): BrokenInput {
  return { name, files: { "gateway.yaml": gateway, "route.yaml": route, "svc.yaml": SERVICE } };
}

export const GATEWAY_API: readonly BrokenInput[] = [
  ofGateway("a misspelt GatewayClass", "gatewayClassName: pingress", "gatewayClassName: pingres"),
  ofGateway("a listener of TCP", "protocol: HTTP", "protocol: TCP"),
  ofGateway(
    "a listener without a certificate",
    /port: 80\n( *)protocol: HTTP/,
    "port: 443\n$1protocol: HTTPS\n      tls: { certificateRefs: [{ name: web-tls }] }",
  ),
  ofGateway(
    "two listeners with one hostname",
    /( {4}- name: http\n)([^]*)$/,
    "$1$2    - name: other\n$2",
  ),
  ofGateway("a misspelt kind of Gateway", "kind: Gateway", "kind: Gatway"),
  ofGateway("a misspelt field of a Gateway", "listeners:", "listener:"),
  ofRoute("a Gateway that does not exist", "- name: web\n  hostnames", "- name: gone\n  hostnames"),
  ofRoute(
    "a listener that does not exist",
    "- name: web\n  hostnames",
    "- name: web\n      sectionName: https\n  hostnames",
  ),
  ofRoute(
    "a misspelt listener",
    "- name: web\n  hostnames",
    "- name: web\n      sectionName: htp\n  hostnames",
  ),
  ofGateway("a protocol in lower case", "protocol: HTTP", "protocol: http"),
  ofGateway("a hostname with a scheme", "port: 80", "port: 80\n      hostname: https://a.test"),
  ofRoute(
    "a path type of Ingress",
    "    - backendRefs",
    "    - matches:\n        - path: { type: Prefix, value: /a }\n      backendRefs",
  ),
  ofRoute(
    "a path without a slash",
    "    - backendRefs",
    "    - matches:\n        - path: { type: PathPrefix, value: api/x }\n      backendRefs",
  ),
  ofRoute("a hostname with a path", "[app.example.com]", "[app.example.com, b.test/x]"),
  ofRoute("a route without a Gateway", / {2}parentRefs:\n.*\n/, ""),
  ofRoute(
    "a Service that does not exist",
    "- name: web\n          port",
    "- name: shop\n          port",
  ),
  {
    name: "a Service of type ExternalName",
    files: {
      "gateway.yaml": GATEWAY,
      "route.yaml": ROUTE,
      "svc.yaml": `${changed(SERVICE, /spec:[^]*$/, "spec:\n  type: ExternalName\n")}` +
        "  externalName: api.example.com\n",
    },
  },
  {
    name: "parameters of a GatewayClass that do not exist",
    files: {
      "class.yaml": PARAMETERS,
      "gateway.yaml": changed(GATEWAY, "Name: pingress", "Name: internal"),
      "route.yaml": ROUTE,
      "svc.yaml": SERVICE,
    },
  },
  ofRoute("a port that the Service does not have", "port: 80", "port: 81"),
  ofRoute("a misspelt field of a route", "backendRefs", "backendRef"),
  ofRoute("hostnames that are a text", "[app.example.com]", "app.example.com"),
];
