import assert from "node:assert/strict";
import { NOW, planOptions, readTexts } from "../../tests/support/dev_plan.ts";
import { styleOf } from "../terminal/style.ts";
import { compare, exitCode } from "./comparison.ts";
import { diffText } from "./diff_text.ts";
import { sideOf } from "./side.ts";

function compared(before: string, after: string) {
  const side = (name: string, text: string) =>
    sideOf(name, readTexts({ [`${name}.yaml`]: text }), planOptions(), Date.parse(NOW));
  const comparison = compare(side("before", before), side("after", after));
  const text = diffText(comparison, { columns: Infinity, style: styleOf(false) });
  return { code: exitCode(comparison), text };
}

/** An HTTPRoute with a rule for each path, and its Gateway. */
function gateway(...paths: readonly string[]): string {
  const rules = paths.map((path) =>
    `    - matches: [{ path: { type: PathPrefix, value: ${path} } }]
      backendRefs: [{ name: web, port: 80 }]
`
  );
  return `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: web }
spec: { gatewayClassName: pingress, listeners: [{ name: http, port: 80, protocol: HTTP }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: shop }
spec:
  parentRefs: [{ name: web }]
  hostnames: [shop.test]
  rules:
${rules.join("")}`;
}

Deno.test("a rule that is put before others of an HTTPRoute is the only change", () => {
  const { code, text } = compared(gateway("/a", "/b"), gateway("/new", "/a", "/b"));
  assert.equal(code, 0, text);
  assert.match(
    text,
    /^Changes:\n {2}\+ shop\.test \/new to default\/web:80 \(after\.yaml:\d+\)\n\n/,
  );
  assert.match(text, /\nafter against before: routes: 1 new, 0 changed, 0 removed; /);
});

Deno.test("equal manifests in other files and in another order change nothing", () => {
  const { code, text } = compared(
    gateway("/a"),
    gateway("/a").split("---\n").reverse().join("---\n"),
  );
  assert.equal(code, 0);
  assert.equal(text, "after against before: nothing changes");
});
