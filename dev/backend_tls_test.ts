import assert from "node:assert/strict";
import { planFor, problemLines } from "../tests/support/dev_plan.ts";
import type { Plan } from "./plan.ts";

const INGRESS = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec:
  ingressClassName: pingress
  rules:
    - host: a.test
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 443 } } } }
          - { path: /plain, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
---
`;

function service(annotation: string, more = ""): string {
  return `${INGRESS}apiVersion: v1
kind: Service
metadata:
  name: web
  annotations: { ${annotation} }
spec:
  ports:
    - { name: tls, port: 443, appProtocol: https }
    - { name: plain, port: 80 }
${more}`;
}

const EMPTY_SECRET = `---
apiVersion: v1
kind: Secret
metadata: { name: empty }
`;

/** `/ 503`, or the path alone where a backend gets its requests. */
function served({ snapshot }: Plan): string[] {
  return snapshot.routes.map(({ match, action }) =>
    action.kind === "reply" ? `${match.path.value} ${action.status}` : match.path.value
  ).sort();
}

for (
  const [annotation, reason] of [
    ['pingress.io/upstream-tls-name: "https://db"', "UpstreamNameInvalid"],
    ["pingress.io/upstream-tls-ca: empty", "UpstreamCaInvalid"],
    ["pingress.io/upstream-tls-client-certificate: empty", "ClientCertificateInvalid"],
  ] as const
) {
  Deno.test(`a path that ${reason} closes in a cluster gets 503 from dev, too`, () => {
    const plan = planFor({ "a.yaml": service(annotation, EMPTY_SECRET) });
    assert.deepEqual(served(plan), ["/ 503", "/plain"]);
    const lines = problemLines(plan);
    assert.ok(lines.some((line) => line.includes(`Service/default/web`) && line.endsWith(reason)));
    assert.ok(lines.some((line) => line.endsWith("UpstreamTlsInvalid")), lines.join("\n"));
  });
}

for (
  const [annotation, reason, severity, message] of [
    ['pingress.io/upstream-tls-verify: "no"', "UpstreamVerifyInvalid", "error", /are verified$/],
    [
      'pingress.io/upstream-tls-verify: "false"',
      "UpstreamUnverified",
      "warning",
      /impersonate it$/,
    ],
    ["", "UpstreamCaMissing", "error", /so requests get 502 in a cluster$/],
    [
      "pingress.io/upstream-tls-ca: gone",
      "UpstreamCaInvalid",
      "error",
      /^there is no Secret "gone" in namespace default, so requests get 503 in a cluster$/,
    ],
  ] as const
) {
  Deno.test(`${reason} of a Service is a problem in dev, whose sample backends need no TLS`, () => {
    const plan = planFor({ "a.yaml": service(annotation) });
    assert.deepEqual(served(plan), ["/", "/plain"]);
    const found = plan.problems.filter(({ problem }) => problem.reason === reason);
    assert.equal(found.length, 1, problemLines(plan).join("\n"));
    assert.equal(found[0].problem.severity, severity);
    assert.match(found[0].problem.message, message);
  });
}

Deno.test("a setting of TLS on a port without TLS is a problem in dev", () => {
  const text = service("pingress.io/upstream-tls-ca: gone").replace(", appProtocol: https", "");
  const plan = planFor({ "a.yaml": text });
  assert.deepEqual(served(plan), ["/", "/plain"]);
  assert.deepEqual(problemLines(plan).map((line) => line.split("  ").at(-1)), [
    "UpstreamTlsIgnored",
  ]);
});

Deno.test("an address that no cluster sends requests to gets no sample backend", () => {
  const slice = (address: string) =>
    `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [${address}] }]
ports: [{ name: plain, port: 80 }, { name: tls, port: 443 }]
`;
  const denied = planFor({ "a.yaml": service("", slice("169.254.169.254")) });
  assert.ok(
    denied.snapshot.upstreams.every(({ addresses }) =>
      addresses.kind === "endpoints" && addresses.endpoints.length === 0
    ),
  );
  const reasons = (plan: Plan) => problemLines(plan).map((line) => line.split("  ").at(-1));
  assert.ok(reasons(denied).includes("EndpointNotAllowed"), reasons(denied).join());
  for (const address of ["10.0.0.1", "127.0.0.1"]) {
    const plan = planFor({ "a.yaml": service("", slice(address)) });
    assert.ok(!reasons(plan).includes("EndpointNotAllowed"), address);
    assert.ok(
      plan.snapshot.upstreams.every(({ addresses }) =>
        addresses.kind === "endpoints" && addresses.endpoints.length > 0
      ),
    );
  }
});
