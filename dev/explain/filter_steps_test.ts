import assert from "node:assert/strict";
import { REQUEST_ORDER } from "../../proxy/filters/filter_order.ts";
import { explained } from "../../tests/support/explained.ts";
import { FILTER_ORDER } from "./filter_steps.ts";

Deno.test("filters are shown in the order of the proxy", () => {
  const shown = new Set<string>(FILTER_ORDER);
  assert.deepEqual(REQUEST_ORDER.filter((kind) => shown.has(kind)), FILTER_ORDER);
});

/** Of an Ingress with these annotations of ingress-nginx, the steps of a request for `/app/x?y=1`. */
const STEPS: readonly (readonly [
  annotations: readonly string[],
  steps: readonly (readonly [kind: string, text: string])[],
  /** Null where it depends on the flags of V8. */
  answer: string | null,
])[] = [
  [[], [], "backend"],
  [
    ["whitelist-source-range: 10.0.0.0/8", "rewrite-target: /new", "proxy-body-size: 1m"],
    [
      ["body-limit", "rejects request bodies of more than 1048576 bytes with 413"],
      ["rewrite", "with the path /new?y=1"],
      ["access", "admits clients of 10.0.0.0/8; others get 403"],
    ],
    null,
  ],
  [
    ["permanent-redirect: https://b.test/x", "whitelist-source-range: 10.0.0.0/8"],
    [
      ["redirect", "redirects with 301 to https://b.test/x"],
      ["access", "admits clients of 10.0.0.0/8; others get 403"],
    ],
    "redirect 301 https://b.test/x",
  ],
  [
    ["app-root: /app/x"],
    [],
    "backend",
  ],
  [
    ["upstream-vhost: internal.test"],
    [["request-host", "sends the host internal.test to the backend"]],
    "backend",
  ],
];

for (const [annotations, steps, answer] of STEPS) {
  Deno.test(`the filters of ${annotations.join(", ") || "no annotation"} are explained`, () => {
    const prefixed = annotations.map((each) => {
      const [name, ...value] = each.split(": ");
      return `nginx.ingress.kubernetes.io/${name}: "${value.join(": ")}"`;
    });
    const { explanation } = explained(
      "http://a.test/app/x?y=1",
      {
        "a.yaml": `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web, annotations: { ${prefixed.join(", ")} } }
spec:
  ingressClassName: pingress
  rules:
    - host: a.test
      http:
        paths: [{ path: /app, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
`,
      },
      {},
      { acceptUnsupported: ["whitelist-source-range", "proxy-body-size"] },
    );
    const { filters, answer: got } = explanation;
    assert.deepEqual(filters?.map(({ kind, text }) => [kind, text]), steps);
    const text = got.kind === "redirect" ? `redirect ${got.status} ${got.location}` : got.kind;
    if (answer !== null) assert.equal(text, answer);
  });
}

Deno.test("the redirect of a Prefix with a slash at its end is explained for the path without it", () => {
  const answerOf = (url: string) =>
    explained(url, {
      "a.yaml": `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: { name: legacy, annotations: { pingress.io/profile: nginx } }
spec: { controller: pingress.io/ingress-controller }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec:
  ingressClassName: legacy
  rules:
    - host: a.test
      http:
        paths: [{ path: /app/, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
`,
    }).explanation;
  const { filters, answer } = answerOf("http://a.test/app?y=1");
  assert.deepEqual(filters?.[1], {
    kind: "redirect",
    upstream: null,
    text: "redirects with 301 to /app/",
    requires: [],
  });
  const location = "http://a.test/app/?y=1";
  assert.deepEqual(answer, { kind: "redirect", status: 301, location });
  assert.equal(answerOf("http://a.test/app/?y=1").answer.kind, "backend");
});

for (
  const [profile, path] of [["nginx", "/a/./b%7E"], ["pingress", "/a/b~"]] as const
) {
  Deno.test(`in the profile ${profile}, the redirect to www is explained with the path ${path}`, () => {
    const { answer } = explained("http://a.test/a/./b%7E?y=1", {
      "a.yaml": `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: { name: own, annotations: { pingress.io/profile: ${profile} } }
spec: { controller: pingress.io/ingress-controller }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web, annotations: { nginx.ingress.kubernetes.io/from-to-www-redirect: "true" } }
spec:
  ingressClassName: own
  rules:
    - host: www.a.test
      http:
        paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
`,
    }).explanation;
    const location = `http://www.a.test${path}?y=1`;
    assert.deepEqual(answer, { kind: "redirect", status: 308, location });
  });
}
