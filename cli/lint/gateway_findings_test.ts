import assert from "node:assert/strict";
import { lintTexts } from "../../tests/golden/lint_case.ts";
import { exitCode } from "./main.ts";

const API = "apiVersion: gateway.networking.k8s.io/v1";

const GATEWAY = `${API}
kind: Gateway
metadata: { name: web }
spec: { gatewayClassName: pingress, listeners: [{ name: http, port: 80, protocol: HTTP }] }
---
`;

function route(rule: string, name = "shop"): string {
  return `${API}
kind: HTTPRoute
metadata: { name: ${name} }
spec: { parentRefs: [{ name: web }], rules: [${rule}] }
---
`;
}

const TO_WEB = "backendRefs: [{ name: web, port: 80 }]";

/** `name  rule  field` of each finding. */
function findings(text: string, namespaces: readonly string[] = []): string[] {
  const result = lintTexts({ "a.yaml": text }, { watchNamespaces: namespaces });
  return result.gatewayApi.flatMap(({ name, findings }) =>
    findings.map(({ rule, field }) => [name, rule, field].join("  ").trimEnd())
  );
}

Deno.test("a route that is served as written has no finding, though its Service is in no file", () => {
  assert.deepEqual(findings(GATEWAY + route(`{ ${TO_WEB} }`)), []);
});

Deno.test("the reason of a condition is the rule of the finding, with the field", () => {
  const text = GATEWAY + route(`{ filters: [{ type: URLRewrite }], ${TO_WEB} }`) +
    route("{ backendRefs: [{ name: api, namespace: other, port: 80 }] }", "b");
  assert.deepEqual(findings(text), [
    "HTTPRoute default/b  gateway/RefNotPermitted  spec.rules[0].backendRefs[0]",
    "HTTPRoute default/shop  gateway/UnsupportedValue  spec.rules[0].filters[0].type",
  ]);
});

Deno.test("kinds that are not served have a finding, each once", () => {
  const kinds = ["GRPCRoute", "TLSRoute", "TLSRoute", "TCPRoute", "UDPRoute"];
  const text = kinds.map((kind, i) => `${API}\nkind: ${kind}\nmetadata: { name: r${i} }\n---\n`);
  assert.deepEqual(findings(text.join("")), [
    "GRPCRoute default/r0  gateway/KindNotServed  kind",
    "TCPRoute default/r3  gateway/KindNotServed  kind",
    "TLSRoute default/r1  gateway/KindNotServed  kind",
    "UDPRoute default/r4  gateway/KindNotServed  kind",
  ]);
});

Deno.test("with --watch-namespace other namespaces have no finding", () => {
  const text = GATEWAY + route(`{ filters: [{ type: URLRewrite }], ${TO_WEB} }`);
  assert.deepEqual(findings(text, ["other"]), []);
  assert.equal(findings(text, ["default"]).length, 1);
});

Deno.test("Secrets and Gateways in no file are not checked, and do not fail", () => {
  const secure = "protocol: HTTPS, tls: { certificateRefs: [{ name: x }] } ";
  const text = GATEWAY.replace("port: 80, protocol: HTTP ", `port: 443, ${secure}`) +
    route(`{ ${TO_WEB} }`).replace("parentRefs: [{ name: web }]", "parentRefs: [{ name: gone }]");
  const result = lintTexts({ "a.yaml": text });
  assert.deepEqual(result.gatewayApi, []);
  assert.deepEqual(result.notChecked.map(({ message }) => message), [
    "Gateway default/web is not checked: Secret default/x does not exist",
    "HTTPRoute default/shop is not checked: Gateway default/gone is not in these files, so the route gets no traffic from it",
  ]);
  assert.equal(exitCode(result, "DIFFERS"), 0);
});

const PARAMETERS = 'infrastructure: { parametersRef: { group: "", kind: ConfigMap, name: web } }';
const WITH_PARAMETERS = GATEWAY.replace("listeners:", `${PARAMETERS}, listeners:`);

Deno.test("a ConfigMap with parameters is not checked if it is in no file", () => {
  const result = lintTexts({ "a.yaml": WITH_PARAMETERS + route(`{ ${TO_WEB} }`) });
  assert.deepEqual(result.gatewayApi, []);
  assert.deepEqual(result.notChecked.map(({ message }) => message), [
    "Gateway default/web is not checked: ConfigMap default/web, which " +
    "spec.infrastructure.parametersRef names, does not exist",
  ]);
});

Deno.test("a wrong key of parameters has a finding at the Gateway", () => {
  const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: web }\ndata: { typ: x }\n";
  assert.deepEqual(findings(`${WITH_PARAMETERS}${route(`{ ${TO_WEB} }`)}---\n${configMap}`), [
    "Gateway default/web  gateway/InvalidParameters",
  ]);
});

Deno.test("a rule that is not served as written fails with --fail-on breaks", () => {
  const result = lintTexts({ "a.yaml": GATEWAY + route(`{ retry: {}, ${TO_WEB} }`) });
  assert.equal(exitCode(result, "OPENS"), 0);
  assert.equal(exitCode(result, "BREAKS"), 1);
});
