import assert from "node:assert/strict";
import { parseRequestedUrl } from "../../shared/path/requested_url.ts";
import { planFor } from "../../tests/support/dev_plan.ts";
import { explain } from "../../proxy/router/explain.ts";
import { chooseListener } from "./gateway_choice.ts";

const API = "apiVersion: gateway.networking.k8s.io/v1";

function gateway(name: string, ...listeners: string[]): string {
  return `${API}
kind: Gateway
metadata: { name: ${name} }
spec: { gatewayClassName: pingress, listeners: [${listeners.join(", ")}] }
---
`;
}

function route(name: string, gateway: string, host: string | null): string {
  const hostnames = host === null ? "" : `hostnames: ["${host}"], `;
  return `${API}
kind: HTTPRoute
metadata: { name: ${name} }
spec: { parentRefs: [{ name: ${gateway} }], ${hostnames}rules: [{ backendRefs: [{ name: web, port: 80 }] }] }
---
`;
}

const INGRESS = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: app }
spec:
  rules:
    - host: both.example.com
      http:
        paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
---
`;

const GATEWAYS = gateway(
  "one",
  "{ name: any, port: 80, protocol: HTTP }",
  "{ name: wild, port: 80, protocol: HTTP, hostname: '*.example.com' }",
  "{ name: exact, port: 80, protocol: HTTP, hostname: a.example.com }",
  "{ name: tls, port: 443, protocol: HTTPS, hostname: a.example.com, tls: { certificateRefs: [{ name: x }] } }",
) + gateway("two", "{ name: http, port: 80, protocol: HTTP }") +
  route("a", "one", "*.example.com") + route("b", "two", "b.example.com") +
  route("c", "two", "both.example.com");

const SERVICE =
  "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { ports: [{ port: 80 }] }\n";

/** Gateways have addresses of their own where no parameter says otherwise. */
const OWN = { backend: "LoadBalancer" } as const;

/** The listener and the other Gateways, `ingress`, or why there is none. */
function choose(url: string, yaml: string, gateway: string | null = null): string {
  const { snapshot } = planFor({ "a.yaml": yaml + SERVICE }, OWN);
  const choice = chooseListener(snapshot, parseRequestedUrl(url)!, gateway);
  switch (choice.kind) {
    case "none":
      return choice.refusals.map(({ gateway, reason }) => `${gateway}: ${reason}`).join("; ");
    case "ingress":
      return [
        "ingress",
        ...choice.others,
        ...choice.elsewhere.map(({ gateway, scheme, port }) => `(${scheme} ${port} ${gateway})`),
      ].join(" ");
    case "listener":
      return [choice.listener.id, ...choice.others, ...(choice.isIngress ? ["ingress"] : [])]
        .join(" ");
  }
}

const CASES: readonly (readonly [url: string, gateway: string | null, expected: string])[] = [
  ["http://a.example.com/", null, "default/one/exact"],
  ["http://x.y.example.com/", null, "default/one/wild"],
  ["http://b.example.com/", null, "default/one/wild default/two"],
  ["http://b.example.com/", "default/two", "default/two/http"],
  [
    "http://b.example.com/",
    "default/tow",
    "default/tow: there is no Gateway default/tow with a listener that is served; " +
    "did you mean default/two?",
  ],
  ["https://a.example.com/", null, "default/one/tls"],
  ["https://a.example.com:443/", null, "default/one/tls"],
  [
    "https://b.example.com/",
    null,
    "default/one: its listeners on port 443 are for a.example.com, not for b.example.com; " +
    "default/two: it has no listener for https on port 443: write one of http 80",
  ],
  ["http://other.org/", "default/one", "default/one/any"],
  [
    "http://other.org/",
    "default/gone",
    "default/gone: there is no Gateway default/gone with a listener that is served; did you mean default/one?",
  ],
  [
    "http://other.org:81/",
    "default/one",
    "default/one: it has no listener for http on port 81: write one of http 80, https 443",
  ],
];

for (const [url, gateway, expected] of CASES) {
  const asked = gateway === null ? "" : ` with --gateway ${gateway}`;
  Deno.test(`the listener for ${url}${asked}`, () => {
    assert.equal(choose(url, GATEWAYS, gateway), expected);
  });
}

Deno.test("a URL with the local port of a Gateway is that Gateway's, whatever others take", () => {
  const { snapshot } = planFor({ "a.yaml": GATEWAYS + INGRESS + SERVICE }, OWN);
  const { socket } = snapshot.listeners!.find(({ id }) => id === "default/two/http")!;
  const url = parseRequestedUrl(`http://both.example.com:${socket}/`)!;
  const choice = chooseListener(snapshot, url, null);
  assert.equal(choice.kind === "listener" && choice.listener.id, "default/two/http");
});

Deno.test("a host that Ingresses name is theirs, and Gateways that take it too are named", () => {
  const yaml = GATEWAYS + INGRESS;
  assert.equal(choose("http://both.example.com/", yaml), "ingress default/one default/two");
  assert.equal(choose("http://a.example.com/", yaml), "default/one/exact");
  assert.equal(choose("http://both.example.com/", yaml, "default/two"), "default/two/http");
  assert.equal(
    choose("http://both.example.com:8080/", yaml),
    "ingress (http 80 default/one) (http 80 default/two)",
  );
});

Deno.test("without Gateways every URL is for Ingresses", () => {
  assert.equal(choose("http://a.example.com/", INGRESS), "ingress");
});

const SHARED = `apiVersion: v1
kind: ConfigMap
metadata: { name: shared }
data: { address: shared }
---
` + gateway("shared", "{ name: http, port: 80, protocol: HTTP }").replace(
  "spec: {",
  'spec: { infrastructure: { parametersRef: { group: "", kind: ConfigMap, name: shared } },',
) + route("d", "shared", "d.example.com");

Deno.test("a Gateway that shares the address of Ingresses is explained as they are", () => {
  assert.equal(choose("http://d.example.com/", SHARED), "ingress");
  assert.equal(choose("http://d.example.com/", SHARED, "default/shared"), "ingress");
  assert.equal(choose("http://d.example.com/", SHARED + GATEWAYS, "default/shared"), "ingress");
  const { snapshot } = planFor({ "a.yaml": SHARED + SERVICE });
  const { outcome, considered } = explain(snapshot, "d.example.com", "/");
  assert.equal(outcome.kind === "route" && outcome.route.origin.name, "d");
  assert.deepEqual(considered.map(({ route }) => route.id), ["d.example.com guard"]);
});

Deno.test("a port that only a Gateway has is for that Gateway, also if Ingresses name the host", () => {
  const yaml = GATEWAYS + INGRESS + gateway("three", "{ name: alt, port: 81, protocol: HTTP }") +
    gateway("four", "{ name: alt, port: 82, protocol: HTTP, hostname: '*.example.org' }");
  assert.equal(choose("http://both.example.com:81/", yaml), "default/three/alt");
  assert.equal(
    choose("http://both.example.com:82/", yaml),
    "default/four: its listeners on port 82 are for *.example.org, not for both.example.com",
  );
});

Deno.test("a URL that only another port takes names the Gateways with that port", () => {
  const yaml = INGRESS + GATEWAYS + SHARED;
  assert.equal(
    choose("https://b.example.com/", yaml),
    "ingress (http 80 default/one) (http 80 default/two)",
  );
  assert.equal(
    choose("https://d.example.com/", yaml),
    "ingress (http 80 default/one) (http 80 default/shared)",
  );
  assert.equal(
    choose("https://d.example.com/", yaml, "default/shared"),
    "default/shared: it has no listener for https on port 443: write one of http 80",
  );
});
