/** What explain says of URLs that Gateways take. */
import assert from "node:assert/strict";
import { type Explained, explained } from "../../tests/support/explained.ts";

const YAML = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: web }
spec:
  gatewayClassName: pingress
  listeners:
    - { name: any, port: 80, protocol: HTTP }
    - { name: example, port: 80, protocol: HTTP, hostname: "*.example.com" }
    - name: tls
      port: 443
      protocol: HTTPS
      tls: { certificateRefs: [{ name: gone }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: shop }
spec:
  parentRefs: [{ name: web }]
  hostnames: [shop.example.com]
  rules:
    - matches: [{ path: { type: PathPrefix, value: /shared } }]
      backendRefs: [{ name: api, port: 80, weight: 3 }, { name: nope, port: 80, weight: 1 }]
    - matches: [{ path: { type: PathPrefix, value: /old } }]
      filters: [{ type: RequestRedirect, requestRedirect: { scheme: https, statusCode: 301 } }]
    - matches: [{ path: { type: PathPrefix, value: /api }, headers: [{ name: X-Beta, value: "yes" }] }]
      backendRefs: [{ name: api, port: 80 }]
    - matches: [{ path: { type: PathPrefix, value: /api } }]
      filters:
        - type: RequestHeaderModifier
          requestHeaderModifier: { set: [{ name: X-Key, value: hidden }], remove: [X-Old] }
      timeouts: { request: 2s }
      backendRefs: [{ name: api, port: 80 }]
    - matches: [{ path: { type: PathPrefix, value: /cors } }]
      filters: [{ type: CORS, cors: {} }]
      backendRefs: [{ name: api, port: 80 }]
---
apiVersion: v1
kind: Service
metadata: { name: api }
spec: { ports: [{ port: 80 }] }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: other }
spec:
  rules:
    - host: shop.example.com
      http:
        paths: [{ path: /, pathType: Prefix, backend: { service: { name: api, port: { number: 80 } } } }]
`;

function explainText(
  text: string,
  headers: readonly (readonly [string, string])[] = [],
): Explained {
  const details = { headers, gateway: "default/web" };
  return explained(text, { "a.yaml": YAML }, details, { backend: "LoadBalancer" });
}

const CASES: readonly (readonly [string, string, boolean, readonly RegExp[]])[] = [
  [
    "names Gateway, listener, route and backend, each with its place",
    "http://shop.example.com/api",
    true,
    [
      /\nGateway: default\/web, listener example \(port 80, host \*\.example\.com\)\n/,
      /\n {2}deno task dev: http:\/\/127\.0\.0\.1:10\d{3}, /,
      /\n {2}from Gateway default\/web, spec\.listeners\[1\] \(a\.yaml:8:7\)\n/,
      /\n {2}in a cluster: Service default\/web-pingress of type LoadBalancer: a cloud creates, and charges for, a load balancer for each Gateway\n/,
      /\n {2}not listener any: it is for any host, which is less specific than \*\.example\.com\n/,
      /\nRoute: default\/shop 3\.0 shop\.example\.com\n {2}forwards to default\/api:80\n/,
      /\n {2}from HTTPRoute default\/shop, spec\.rules\[3\]\.matches\[0\] \(a\.yaml:27:17\)\n/,
      /\nEndpoints of default\/api:80:\n/,
    ],
  ],
  ["shows filters without values of headers", "http://shop.example.com/api", true, [
    /\n {2}allows 2s for the whole response; after it 504, or an aborted response\n/,
    /\n {2}headers of the request: sets x-key, removes x-old\n/i,
    /^(?![^]*hidden)/,
  ]],
  ["shows the condition that failed for each other route", "http://shop.example.com/api", true, [
    /default\/shop 2\.0 shop\.example\.com\n {4}lost because the header x-beta is missing\n/,
    /default\/shop 0\.0 shop\.example\.com\n {4}lost because Prefix \/shared does not match the start of the path\n/,
    // Nor of Ingresses, which have another address.
    /^(?![^]*Ingress default\/other)/,
  ]],
  ["shows the shares of backends, and why one gets 500", "http://shop.example.com/shared", true, [
    /\n {2}forwards to default\/api:80 75% or 500 25%\n {2}500, as spec\.rules\[0\]\.backendRefs\[1\] is Service default\/nope, which does not exist\n/,
    /\n {4}→ Create the Service, or write the name of another one\n/,
  ]],
  ["shows a redirect, and no backend", "http://shop.example.com/old/x", false, [
    /\nRoute: default\/shop 1\.0 [^\n]+\n {2}redirects with 301 to scheme https\n/,
  ]],
  [
    "shows that a rule with an unsupported filter returns 500",
    "http://shop.example.com/cors",
    false,
    [
      /\n {2}returns 500: spec\.rules\[4\]\.filters\[0\]\.type "CORS" is not supported\n/,
    ],
  ],
  ["shows that no route takes another host", "http://x.example.com/", false, [
    /\nRoute: none matches this path of x\.example\.com, /,
  ]],
  [
    "shows that a listener without a usable certificate has none",
    "https://shop.example.com/api",
    true,
    [
      /\nCertificate: none, since those of the listener cannot be used: handshakes fail\n/,
      /spec\.listeners\[2\]\.tls\.certificateRefs\[0\][^]*Secret default\/gone does not exist\n/,
    ],
  ],
  ["says why a Gateway does not take a URL", "http://shop.example.com:81/", false, [
    /\nGateway: default\/web does not take it, since it has no listener for http on port 81: write one of http 80, https 443\n/,
  ]],
];

for (const [name, url, isForwarded, patterns] of CASES) {
  Deno.test(`for a URL of a Gateway, explain ${name}`, () => {
    const { text, isForwarded: got } = explainText(url);
    for (const pattern of patterns) assert.match(text, pattern);
    assert.equal(got, isForwarded);
  });
}

Deno.test("for a malformed path, explain says 400 also where no listener has the host", () => {
  const yaml = YAML.replace("    - { name: any, port: 80, protocol: HTTP }\n", "");
  for (const [path, status] of [["/", 404], ["/a%", 400], ["/..", 400]] as const) {
    const { explanation, text } = explained(
      `http://other.test${path}`,
      { "a.yaml": yaml },
      { gateway: "default/web" },
      { backend: "LoadBalancer" },
    );
    const { answer } = explanation;
    assert.equal(answer.kind === "error" ? answer.status : answer.kind, status);
    assert.match(
      text,
      /\nGateway: default\/web does not take it, since its listeners on port 80 are/,
    );
    assert.equal(/\nRoute: none, since the path .*: 400\n/.test(text), status === 400);
  }
});

Deno.test("for a URL of a Gateway, explain takes headers into account", () => {
  const { text } = explainText("http://shop.example.com/api", [["X-Beta", "yes"]]);
  assert.match(text, /\nRoute: default\/shop 2\.0 /);
});

const WITHOUT_INGRESS = YAML.slice(0, YAML.lastIndexOf("---"));

const SHARED_CASES: readonly (readonly [name: string, url: string, patterns: readonly RegExp[]])[] =
  [
    ["the Gateway and its listeners", "http://shop.example.com/api", [
      /\nOwner: namespace default, which has shop\.example\.com: /,
      /\n {2}on Gateway default\/web, listeners? example, tls, at the address of Ingresses\n/,
      /^(?![^]*Service default\/web-pingress)/,
    ]],
    ["its problems", "http://shop.example.com/api", [
      /Secret default\/gone does not exist/,
    ]],
  ];

for (const [name, url, patterns] of SHARED_CASES) {
  Deno.test(`for a URL of a Gateway that shares the address of Ingresses, explain names ${name}`, () => {
    const { text, isForwarded } = explained(url, { "a.yaml": WITHOUT_INGRESS });
    for (const pattern of patterns) assert.match(text, pattern);
    assert.ok(isForwarded);
  });
}

const BETA = `${YAML}---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: beta }
spec:
  parentRefs: [{ name: web, sectionName: example }]
  hostnames: [beta.example.com]
  rules: [{ backendRefs: [{ name: api, port: 80 }] }]
`;

for (const backend of ["HostPort", "LoadBalancer"] as const) {
  Deno.test(`a URL whose host is served on another port names Gateway and port, with --backend=${backend}`, () => {
    const { text, isForwarded } = explained("https://beta.example.com/", { "a.yaml": BETA }, {}, {
      backend,
    });
    assert.match(text, /\n *Gateway default\/web has this host for http on port 80\n/);
    assert.ok(!isForwarded);
  });
}

const TWO_PORTS = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: web }
spec:
  gatewayClassName: pingress
  listeners:
    - { name: http, port: 80, protocol: HTTP, hostname: app.example.com }
    - name: https
      port: 443
      protocol: HTTPS
      hostname: app.example.com
      tls: { certificateRefs: [{ name: app }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: app }
spec:
  parentRefs: [{ name: web }]
  rules:
    - matches: [{ path: { type: PathPrefix, value: /only } }]
      backendRefs: [{ name: app, port: 80 }]
---
apiVersion: v1
kind: Service
metadata: { name: app }
spec: { ports: [{ port: 80 }] }
`;

for (const [scheme, index] of [["http", 0], ["https", 1]] as const) {
  Deno.test(`for a request over ${scheme} that no route of a host takes, explain names its listener`, () => {
    const { text } = explained(`${scheme}://app.example.com/`, { "a.yaml": TWO_PORTS });
    assert.match(text, /\n {2}returns 404: no route of the host takes the request\n/);
    assert.ok(text.includes(`\n  from Gateway default/web, spec.listeners[${index}] `), text);
    assert.match(
      text,
      new RegExp(`\n {2}on Gateway default/web, listener ${scheme}, at the address of`),
    );
  });
}

Deno.test("for a request over https that only http has the host for, explain names no listener", () => {
  const yaml = TWO_PORTS.replace(/ {4}- name: https\n(?: {6}.*\n)+/, "");
  const { text } = explained("https://app.example.com/", { "a.yaml": yaml });
  assert.match(text, /\n {2}returns 404: no route of the host takes the request\n/);
  assert.match(text, /\n {2}from Gateway default\/web \(a\.yaml:1:1\)\n/);
  assert.doesNotMatch(text, /on Gateway default\/web, listener/);
});
