import assert from "node:assert/strict";
import { planFor } from "../tests/support/dev_plan.ts";

const INGRESS = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec:
  tls: [{ hosts: [a.example.com], secretName: gone }]
  rules:
    - host: a.example.com
      http:
        paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
---
`;

/** The remedy of the one problem with this reason. */
function remedyOf(reason: string, service: string): string {
  const { problems } = planFor({ "a.yaml": `${INGRESS}${service}` });
  const found = problems.filter(({ problem }) => problem.reason === reason);
  assert.equal(found.length, 1);
  return found[0].problem.remedy;
}

Deno.test("for a denied ExternalName the message says how to start with the permission to dial it", () => {
  const service = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { type: ExternalName, externalName: api.example.com }
`;
  assert.match(
    remedyOf("ExternalNameNotAllowed", service),
    /deno run -P=dev --allow-net dev\/main\.ts --allow-external-name \(npx -y deno@2\.9 /,
  );
});

Deno.test("for a missing Secret with passwords the message names nothing in its place", () => {
  const ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: login
  annotations:
    nginx.ingress.kubernetes.io/auth-type: basic
    nginx.ingress.kubernetes.io/auth-secret: users
spec:
  ingressClassName: pingress
  rules: [{ host: login.example.com }]
`;
  const { problems } = planFor({ "a.yaml": ingress });
  const [{ problem }] = problems.filter(({ problem }) => problem.reason === "SecretNotFound");
  assert.match(problem.remedy, /in Secret default\/users$/);
});

Deno.test("for a missing Secret the message names the certificate in its place", () => {
  const service = "apiVersion: v1\nkind: Service\nmetadata: { name: web }\n" +
    "spec: { ports: [{ port: 80 }] }\n";
  assert.match(
    remedyOf("SecretNotFound", service),
    /^Create the Secret, .* this program generates$/,
  );
});

Deno.test("a host of two namespaces is one's, or shared as in ingress-nginx with the flag", () => {
  const ingress = (namespace: string, path: string) =>
    `apiVersion: v1
kind: Service
metadata: { name: web, namespace: ${namespace} }
spec: { ports: [{ port: 80 }] }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web, namespace: ${namespace} }
spec:
  ingressClassName: pingress
  rules:
    - host: a.example.com
      http:
        paths: [{ path: ${path}, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
`;
  const files = { "a.yaml": ingress("one", "/"), "b.yaml": ingress("two", "/b") };
  const owned = planFor(files);
  assert.equal(owned.snapshot.routes.length, 1);
  const [{ problem }] = owned.problems.filter(({ problem }) => problem.reason === "HostNotOwned");
  assert.match(problem.remedy, /, or start with --host-ownership=shared, as ingress-nginx does$/);
  const shared = planFor(files, { hostOwnership: "shared" });
  assert.equal(shared.snapshot.routes.length, 2);
  assert.deepEqual(shared.problems, []);
});

Deno.test("for a misspelt annotation of ingress-nginx the message names the one that is meant", () => {
  const annotated = (name: string) =>
    INGRESS.replace(
      "name: web }",
      `name: web, annotations: { nginx.ingress.kubernetes.io/${name}: a } }`,
    );
  const remedyFor = (name: string) =>
    planFor({ "a.yaml": annotated(name) }).problems
      .find(({ problem }) => problem.reason === "NginxAnnotation")?.problem.remedy;
  assert.match(
    remedyFor("whitelist-source-ranges")!,
    /^Write "whitelist-source-range" if you mean/,
  );
  assert.equal(remedyFor("entirely-different-name-of-something"), "Remove the annotation");
  assert.doesNotMatch(remedyFor("enable-cors")!, /if you mean/);
});

Deno.test("of an Ingress over a bound of one object, dev says that a controller would not serve it", () => {
  const problemsOf = (count: number) => {
    const paths = Array.from({ length: count }, (_, i) => ({
      ...{ path: `/${i}`, pathType: "Prefix" },
      backend: { service: { name: "web", port: { number: 80 } } },
    }));
    const ingress = {
      ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: { name: "web" } },
      spec: { ingressClassName: "pingress", rules: [{ host: "a.example.com", http: { paths } }] },
    };
    return planFor({ "a.yaml": JSON.stringify(ingress) }).problems.map(({ problem }) => problem)
      .filter(({ reason }) => reason === "ObjectTooLarge");
  };
  assert.deepEqual(problemsOf(1_000), []);
  const [{ severity, message, remedy }] = problemsOf(1_001);
  assert.equal(severity, "warning");
  assert.match(message, /^it has more than 1000 paths, so that a controller .* none of it$/);
  assert.match(remedy, /--max-ingress-paths/);
});

Deno.test("for a key that ingress-nginx does not have the message names the one that is meant", () => {
  const configMap = `apiVersion: v1
kind: ConfigMap
metadata: { name: conf }
data: { global-auth-urll: "http://auth.default.svc/", allowlist-source-range: 10.0.0.0/8 }
`;
  const { problems } = planFor({ "a.yaml": `${INGRESS}${configMap}` }, {
    configMap: { namespace: "default", name: "conf" },
  });
  const found = problems.filter(({ problem }) => problem.reason === "NginxConfigMap");
  assert.deepEqual(found.map(({ problem }) => problem.remedy).sort(), [
    'Write "global-auth-url" if you mean that',
    'Write "whitelist-source-range" if you mean that',
  ]);
});
