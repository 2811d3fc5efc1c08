import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { planFor } from "../../tests/support/dev_plan.ts";
import { readShownSnapshot } from "./shown_snapshot.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);

Deno.test("a configuration without its keys is read, and another page is not", () => {
  const names = Array.from(Deno.readDirSync(EXAMPLES), ({ name }) => name);
  const files = Object.fromEntries(
    names.map((name) => [name, Deno.readTextFileSync(new URL(name, EXAMPLES))]),
  );
  const { snapshot } = planFor({
    ...files,
    "login.yaml": `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: login
  annotations:
    nginx.ingress.kubernetes.io/auth-type: basic
    nginx.ingress.kubernetes.io/auth-secret: users
spec:
  ingressClassName: pingress
  rules:
    - host: login.example.com
      http:
        paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
---
apiVersion: v1
kind: Secret
metadata: { name: users }
stringData: { auth: "a:{PLAIN}b" }
`,
  });
  const page = JSON.parse(serialiseSnapshot(snapshot, { revealKeys: false }));
  const read = readShownSnapshot(page);
  assert.deepEqual(read?.routes, snapshot.routes);
  assert.deepEqual(read?.certificates.map(({ chain }) => chain), [snapshot.certificates[0].chain]);
  assert.equal(read?.credentials?.length, 1);
  for (const other of [null, [], "x", {}, { ...page, routes: 1 }]) {
    assert.equal(readShownSnapshot(other), null);
  }
});
