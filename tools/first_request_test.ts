import { deepEqual, equal } from "node:assert/strict";
import type { KubeObject } from "../controller/kube/types.ts";
import { GATEWAY_CONTROLLER } from "../controller/translate/gateway/objects/gateway_class.ts";
import type { Ingress, IngressSpec } from "../controller/kube/resources.ts";
import { curlLine, ownGateways, ownIngresses, proxyAddress } from "./first_request.ts";
import { PROXY } from "./installation.ts";

const ingress = (spec: IngressSpec, annotations = {}): Ingress => ({
  kind: "Ingress",
  metadata: { name: "web", annotations },
  spec,
});

const rule = (host: string | null, path = "/") => ({ host, http: { paths: [{ path }] } });

const LINES: Record<string, [IngressSpec, string, string]> = {
  "a host": [
    { rules: [rule("app.test")] },
    "192.0.2.7",
    "curl --resolve app.test:80:192.0.2.7 http://app.test/",
  ],
  "a path": [
    { rules: [rule("app.test", "/shop")] },
    "192.0.2.7",
    "curl --resolve app.test:80:192.0.2.7 http://app.test/shop",
  ],
  "a host with a certificate": [
    { rules: [rule("app.test")], tls: [{ hosts: ["app.test"] }] },
    "192.0.2.7",
    "curl -k --resolve app.test:443:192.0.2.7 https://app.test/",
  ],
  "any name under a domain": [
    { rules: [rule("*.test")] },
    "192.0.2.7",
    "curl --resolve www.test:80:192.0.2.7 http://www.test/",
  ],
  "any host": [{ rules: [rule(null)] }, "192.0.2.7", "curl http://192.0.2.7/"],
  "no rule": [{}, "2001:db8::7", "curl http://[2001:db8::7]/"],
  "IPv6": [
    { rules: [rule("app.test")] },
    "2001:db8::7",
    "curl --resolve app.test:80:[2001:db8::7] http://app.test/",
  ],
  "a load balancer with a name": [
    { rules: [rule("app.test")] },
    "lb.example.com",
    "curl --connect-to app.test:80:lb.example.com:80 http://app.test/",
  ],
};

for (const [name, [spec, address, line]] of Object.entries(LINES)) {
  Deno.test(`the command to try first: ${name}`, () =>
    equal(curlLine(ingress(spec), address), line));
}

Deno.test("Ingresses of our class are those that name it, by field or annotation", () => {
  const ours = [
    ingress({ ingressClassName: "pingress" }),
    ingress({}, { "kubernetes.io/ingress.class": "pingress" }),
  ];
  const others = [ingress({ ingressClassName: "nginx" }), ingress({})];
  deepEqual(ownIngresses([...others, ...ours] as KubeObject[]), ours);
});

Deno.test("proxies are reached at a node's external address, or the Service's", () => {
  const node = (...addresses: object[]) =>
    ({ kind: "Node", metadata: { name: "one" }, status: { addresses } }) as KubeObject;
  const internal = { type: "InternalIP", address: "10.0.0.1" };
  const external = { type: "ExternalIP", address: "192.0.2.7" };
  equal(proxyAddress("HostPort", [node(internal), node(internal, external)]), "192.0.2.7");
  equal(proxyAddress("HostPort", [node(internal)]), "10.0.0.1");
  equal(proxyAddress("HostPort", []), null);
  const service = (...points: object[]) =>
    ({
      kind: "Service",
      metadata: { name: PROXY },
      status: { loadBalancer: { ingress: points } },
    }) as KubeObject;
  equal(proxyAddress("LoadBalancer", [service({ ip: "192.0.2.7" })]), "192.0.2.7");
  equal(proxyAddress("LoadBalancer", [service({ hostname: "lb.test" })]), "lb.test");
  equal(proxyAddress("LoadBalancer", [service()]), null);
});

Deno.test("Gateways of our classes are those whose class names our controller", () => {
  const gatewayClass = (name: string, spec: object): KubeObject =>
    ({ kind: "GatewayClass", metadata: { name }, spec }) as KubeObject;
  const gateway = (gatewayClassName: string): KubeObject =>
    ({ kind: "Gateway", metadata: { name: "web" }, spec: { gatewayClassName } }) as KubeObject;
  const classes = [
    gatewayClass("pingress", { controllerName: GATEWAY_CONTROLLER }),
    gatewayClass("other", { controllerName: "example.com/other" }),
  ];
  const gateways = ["pingress", "other", "missing"].map(gateway);
  deepEqual(ownGateways(gateways, classes), [gateways[0]]);
});
