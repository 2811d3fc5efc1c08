import assert from "node:assert/strict";
import { planFor, problemLines } from "../../tests/support/dev_plan.ts";

const API = "apiVersion: gateway.networking.k8s.io/v1";

function gateway(listeners: string, { name = "web", className = "pingress" } = {}): string {
  return `${API}
kind: Gateway
metadata: { name: ${name} }
spec:
  gatewayClassName: ${className}
  listeners: ${listeners}
---
`;
}

function route(spec: string): string {
  return `${API}
kind: HTTPRoute
metadata: { name: shop }
spec: ${spec}
---
`;
}

const HTTP = "[{ name: http, port: 80, protocol: HTTP }]";
const WEB =
  "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { ports: [{ port: 80 }] }\n---\n";
const TO_WEB = "backendRefs: [{ name: web, port: 80 }]";

/** What is wrong, and the lines of the report's problems. */
const CASES: readonly (readonly [name: string, yaml: string, lines: readonly string[]])[] = [
  [
    "a Gateway and a route that are served have none",
    [
      gateway(HTTP),
      route(`{ parentRefs: [{ name: web }], rules: [{ ${TO_WEB} }] }`),
    ].join(""),
    [],
  ],
  [
    "a listener of another protocol is one at the listener",
    [
      gateway("[{ name: tcp, port: 81, protocol: TCP }, { name: http, port: 80, protocol: HTTP }]"),
    ].join(""),
    ["a.yaml:6  Gateway/default/web  spec.listeners[0].protocol  UnsupportedProtocol"],
  ],
  [
    "a Secret that is not there is one at its reference",
    [
      gateway(
        "[{ name: tls, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ name: gone }] } }]",
      ),
    ].join(""),
    [
      "a.yaml:6  Gateway/default/web  spec.listeners[0].tls.certificateRefs[0]  " +
      "InvalidCertificateRef",
    ],
  ],
  [
    "two listeners with one hostname have one each, and not another for the conflict",
    [
      gateway("[{ name: a, port: 80, protocol: HTTP }, { name: b, port: 80, protocol: HTTP }]"),
    ].join(""),
    [
      "a.yaml:6  Gateway/default/web  spec.listeners[0]  HostnameConflict",
      "a.yaml:6  Gateway/default/web  spec.listeners[1]  HostnameConflict",
    ],
  ],
  [
    "a Gateway of a class that is not there is a warning",
    gateway(HTTP, { className: "istio" }),
    ["a.yaml:5  Gateway/default/web  spec.gatewayClassName  ClassNotServed"],
  ],
  [
    "so is one of another controller's class",
    [
      gateway(HTTP, { className: "istio" }),
      `${API}\nkind: GatewayClass\nmetadata: { name: istio }\nspec: { controllerName: x.io/y }\n---\n`,
    ].join(""),
    ["a.yaml:5  Gateway/default/web  spec.gatewayClassName  ClassNotServed"],
  ],
  [
    "a route of a Gateway that is not there is one at the parent",
    [
      gateway(HTTP),
      route(`{ parentRefs: [{ name: web }, { name: gone }], rules: [{ ${TO_WEB} }] }`),
    ].join(""),
    ["a.yaml:11  HTTPRoute/default/shop  spec.parentRefs[1]  ParentNotServed"],
  ],
  [
    "without any Gateway, too",
    route(`{ parentRefs: [{ name: gone }], rules: [{ ${TO_WEB} }] }`),
    ["a.yaml:4  HTTPRoute/default/shop  spec.parentRefs[0]  ParentNotServed"],
  ],
  [
    "a listener that is not there is one at its name",
    [
      gateway(HTTP),
      route(`{ parentRefs: [{ name: web, sectionName: gone }], rules: [{ ${TO_WEB} }] }`),
    ].join(""),
    ["a.yaml:11  HTTPRoute/default/shop  spec.parentRefs[0].sectionName  NoMatchingParent"],
  ],
  [
    "a Service that is not there is one at the backend, whatever the number of parents",
    [
      gateway(HTTP),
      gateway("[{ name: b, port: 80, protocol: HTTP, hostname: b.example.com }]", { name: "b" }),
      route(
        "{ parentRefs: [{ name: web }, { name: b }], rules: [{ backendRefs: [{ name: gone, port: 80 }] }] }",
      ),
    ].join(""),
    [
      "a.yaml:18  HTTPRoute/default/shop  spec.rules[0].backendRefs[0]  BackendNotFound",
    ],
  ],
  [
    "a filter that is not served is one at the filter, in a route that is served in part",
    [
      gateway(HTTP),
      route(
        `{ parentRefs: [{ name: web }], rules: [{ ${TO_WEB} }, { filters: [{ type: CORS }], ${TO_WEB} }] }`,
      ),
    ].join(""),
    [
      "a.yaml:11  HTTPRoute/default/shop  spec.rules[1].filters[0].type  UnsupportedValue",
    ],
  ],
  [
    "a Service that a BackendTLSPolicy targets is one at the backend",
    [
      gateway(HTTP),
      route(`{ parentRefs: [{ name: web }], rules: [{ ${TO_WEB} }] }`),
      `${API}\nkind: BackendTLSPolicy\nmetadata: { name: tls }\n`,
      "spec: { targetRefs: [{ group: '', kind: Service, name: web }] }\n---\n",
    ].join(""),
    [
      "a.yaml:11  HTTPRoute/default/shop  spec.rules[0].backendRefs[0]  UnsupportedValue",
    ],
  ],
  [
    "routes of kinds that are not served are a warning for each kind",
    [
      gateway(HTTP),
      `${API}\nkind: GRPCRoute\nmetadata: { name: a }\n---\n`,
      `${API}\nkind: GRPCRoute\nmetadata: { name: b }\n---\n`,
      `${API}\nkind: TLSRoute\nmetadata: { name: c }\n---\n`,
    ].join(""),
    [
      "a.yaml:9  GRPCRoute/default/a  kind  KindNotServed",
      "a.yaml:17  TLSRoute/default/c  kind  KindNotServed",
    ],
  ],
  [
    "a ListenerSet of a Gateway is one",
    [
      gateway(HTTP),
      `${API}\nkind: ListenerSet\nmetadata: { name: more }\nspec: { parentRef: { name: web } }\n---\n`,
    ].join(""),
    ["a.yaml:11  ListenerSet/default/more  spec.listeners  NotAllowed"],
  ],
  [
    "an older version of the API is read as the newest",
    [
      gateway(HTTP).replace("/v1", "/v1beta1"),
      route("{ parentRefs: [{ name: web }], rules: [{ backendRefs: [{ name: gone, port: 80 }] }] }")
        .replace("/v1", "/v1beta1"),
    ].join(""),
    [
      "a.yaml:11  HTTPRoute/default/shop  spec.rules[0].backendRefs[0]  BackendNotFound",
    ],
  ],
  [
    "a version with other fields is left out",
    [
      gateway(HTTP).replace("/v1", "/v1alpha2"),
    ].join(""),
    ["a.yaml:1  Gateway/default/web  apiVersion  ApiVersionNotSupported"],
  ],
  [
    "a Gateway of another API group is no Gateway of this API",
    gateway(HTTP).replace("gateway.networking.k8s.io", "networking.istio.io"),
    ["a.yaml:2  Gateway/default/web  kind  KindIgnored"],
  ],
];

for (const [name, yaml, lines] of CASES) {
  Deno.test(`problems of Gateway API: ${name}`, () => {
    assert.deepEqual(problemLines(planFor({ "a.yaml": `${yaml}${WEB}` })), lines);
  });
}

Deno.test("a problem of Gateway API has message and remedy of the condition, apart from each other", () => {
  const yaml = gateway("[{ name: tcp, port: 80, protocol: TCP }]");
  const [{ problem }] = planFor({ "a.yaml": yaml }).problems;
  assert.equal(problem.message, 'protocol "TCP" is not supported');
  assert.equal(problem.remedy, "Write HTTP or HTTPS");
  assert.equal(problem.severity, "error");
});

const OTHER_PORT = gateway("[{ name: alt, port: 8080, protocol: HTTP }]");

Deno.test("a port that a shared address has not names the flag for controllers with another backend", () => {
  const [{ problem }] = planFor({ "a.yaml": OTHER_PORT }).problems;
  assert.equal(problem.reason, "PortUnavailable");
  assert.match(problem.remedy, /, or start with --backend=LoadBalancer if the controller does$/);
});

Deno.test("with --backend=LoadBalancer every Gateway has ports of its own", () => {
  assert.deepEqual(planFor({ "a.yaml": OTHER_PORT }, { backend: "LoadBalancer" }).problems, []);
});
