import assert from "node:assert/strict";
import { lintTexts } from "../../tests/golden/lint_case.ts";

function manifests(annotations: string, appProtocol: string): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec:
  ingressClassName: nginx
  rules:
    - host: a.test
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 443 } } } }
          - { path: /b, pathType: Prefix, backend: { service: { name: web, port: { number: 443 } } } }
---
apiVersion: v1
kind: Service
metadata: { name: web, annotations: { ${annotations} } }
spec: { ports: [{ port: 443${appProtocol} }] }
`;
}

const HTTPS = ", appProtocol: https";

for (
  const [name, annotations, appProtocol, verdict, rules] of [
    [
      "with a name that no certificate has",
      'pingress.io/upstream-tls-name: "https://db"',
      HTTPS,
      "BREAKS",
      ["problem/UpstreamNameInvalid"],
    ],
    ["without a CA", "", HTTPS, "BREAKS", ["problem/UpstreamCaMissing"]],
    [
      "that is not verified",
      'pingress.io/upstream-tls-verify: "false"',
      HTTPS,
      "DIFFERS",
      ["problem/UpstreamUnverified"],
    ],
    [
      "whose port has no TLS",
      'pingress.io/upstream-tls-verify: "false"',
      "",
      "DIFFERS",
      ["problem/UpstreamTlsIgnored"],
    ],
    ["in plain text", "", "", "SAME", []],
  ] as const
) {
  Deno.test(`lint of an Ingress to a Service ${name} is ${verdict}`, () => {
    const { ingresses: [linted] } = lintTexts({ "a.yaml": manifests(annotations, appProtocol) });
    assert.deepEqual(linted.findings.map(({ rule }) => rule).sort(), rules.toSorted());
    assert.equal(linted.verdict, verdict);
    for (const { at, difference } of linted.findings) {
      assert.equal(at?.line, 10);
      assert.match(difference!, /^Service web: /);
    }
  });
}

Deno.test("a CA that is in no file is not checked by lint", () => {
  const { ingresses: [linted], notChecked } = lintTexts({
    "a.yaml": manifests("pingress.io/upstream-tls-ca: gone", HTTPS),
  });
  assert.deepEqual([linted.verdict, linted.findings], ["SAME", []]);
  assert.match(notChecked.map(({ message }) => message).join(), /there is no Secret "gone"/);
});
