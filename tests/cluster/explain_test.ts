/** `pingress explain --cluster` and `pingress diff --against cluster` with a real API server. */
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { CheckedScene, PROXY, runPingress } from "./support/checked_scene.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";

/** A kubeconfig with the right to list these resources, and no other. */
async function reader(
  cluster: TestCluster,
  namespace: string,
  resources: readonly string[],
): Promise<string> {
  const name = `reader-${namespace}`;
  const token = await cluster.serviceAccountToken(namespace, "reader");
  await cluster.apply([
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name },
      rules: [{
        apiGroups: ["", "networking.k8s.io", "discovery.k8s.io"],
        resources,
        verbs: ["list"],
      }],
    } as unknown as KubeObject,
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace }],
    } as unknown as KubeObject,
  ]);
  await eventually("the rights of the reader", async () => {
    const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`;
    return (await cluster.as(token).request("GET", path)).status === 200;
  });
  return await cluster.writeFile(cluster.kubeconfigFor(token));
}

const ALL = ["ingresses", "ingressclasses", "services", "endpointslices", "namespaces"];

function ingress(
  namespace: string,
  name: string,
  path: string,
  annotations: Readonly<Record<string, string>> = {},
  ingressClassName = "pingress",
): KubeObject {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { namespace, name, annotations },
    spec: {
      ingressClassName,
      rules: [{
        host: `${namespace}.example.com`,
        http: {
          paths: [{
            path,
            pathType: "Prefix",
            backend: { service: { name: "web", port: { number: 80 } } },
          }],
        },
      }],
    },
  } as KubeObject;
}

/** A Service with one endpoint, and an Ingress for `/`. */
async function serve(cluster: TestCluster, namespace: string): Promise<void> {
  await cluster.apply([
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace, name: "web" },
      spec: { ports: [{ name: "http", port: 80 }] },
    } as KubeObject,
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { namespace, name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: [{ addresses: ["10.1.2.3"] }],
    } as unknown as KubeObject,
    ingress(namespace, "app", "/"),
  ]);
}

clusterTest(
  "a URL is explained from the objects of a cluster, without a Secret",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await serve(cluster, namespace);
    await cluster.apply(ingress(namespace, "second", "/"));
    const kubeconfig = await reader(cluster, namespace, ALL);
    const url = `http://${namespace}.example.com/x`;
    const at = ["--cluster", `--kubeconfig=${kubeconfig}`];
    const { code, out, err } = await runPingress(["explain", url, ...at]);
    equal(code, 0, err);
    match(
      out,
      new RegExp(`\nOwner: namespace ${namespace}, which has ${namespace}\\.example\\.com: `),
    );
    match(
      out,
      new RegExp(`\n {2}forwards to ${namespace}/web:80\n {2}from Ingress ${namespace}/app, `),
    );
    match(out, new RegExp(`left out: .*\n {4}from Ingress ${namespace}/second, `));
    match(out, /\n {2}10\.1\.2\.3:8080 {2}gets requests\n/);
    match(
      out,
      /\nNot known: cannot list deployments\.apps in namespace pingress-system.*allow the verb list/,
    );
    doesNotMatch(out, /deno task dev|Secret/);
    match(out, /\nRedirect: not known, as the certificate of the host is not\n/);
    match(out, /\nCertificate: not known: cannot list pods in namespace pingress-system/);
    const short = await runPingress(["explain", url, "http://gone.example.com/", "--short", ...at]);
    equal(short.code, 1);
    // Once for both URLs.
    equal(short.err.match(/certificate not known: cannot list pods/g)?.length, 1, short.err);
    match(
      short.out,
      new RegExp(
        `^${url} → ${namespace}/web:80 \\(10\\.1\\.2\\.3:8080\\) Ingress ${namespace}/app\n`,
      ),
    );
  },
);

clusterTest("a right that explain lacks is named with verb and resource", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await serve(cluster, namespace);
  const kubeconfig = await reader(cluster, namespace, ["ingresses", "services"]);
  const url = `http://${namespace}.example.com/x`;
  const { code, out } = await runPingress(
    ["explain", url, "--cluster", `--kubeconfig=${kubeconfig}`, "-o", "json"],
  );
  equal(code, 0);
  const { explanations: [{ answer, notes }] } = JSON.parse(out);
  // Whether endpoints are ready is not known.
  equal(answer.kind, "backend");
  const all = notes.join("\n");
  for (const resource of ["endpointslices.discovery.k8s.io", "namespaces", "ingressclasses"]) {
    match(all, new RegExp(`cannot list ${resource}[^\n]*allow the verb list on ${resource}`));
  }
});

clusterTest("without any right explain and diff end with what is missing", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const token = await cluster.serviceAccountToken(namespace, "nobody");
  const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(token));
  for (
    const args of [
      ["explain", "http://a/", "--cluster"],
      ["explain", "http://a/", "--proxy", "some-pod"],
      ["diff", "-f", "examples", "--against", "cluster"],
    ]
  ) {
    const { code, out, err } = await runPingress([...args, `--kubeconfig=${kubeconfig}`]);
    deepEqual([code, out], [2, ""], err);
    match(err, /^cannot (?:list|get) .*[Aa]llow the verb/m);
    doesNotMatch(err, /\n {4}at /);
  }
});

clusterTest("new manifests are compared with a cluster that they are added to", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await serve(cluster, namespace);
  const list = { "nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8" };
  const profile = `nginx-${namespace}`;
  await cluster.apply({
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: profile, annotations: { "pingress.io/profile": "nginx" } },
    spec: { controller: "pingress.io/ingress-controller" },
  } as KubeObject);
  await cluster.apply(ingress(namespace, "admin", "/admin", list, profile));
  const kubeconfig = await reader(cluster, namespace, ALL);
  const diff = async (...objects: readonly KubeObject[]) => {
    const file = await cluster.writeFile(
      JSON.stringify({ kind: "List", apiVersion: "v1", items: objects }),
    );
    return await runPingress(
      ["diff", "-f", file, "--against", "cluster", `--kubeconfig=${kubeconfig}`, "-o", "json"],
    );
  };
  const same = await diff(ingress(namespace, "app", "/"));
  equal(same.code, 0, same.err + same.out);
  deepEqual(JSON.parse(same.out).routes, []);
  const added = await diff(ingress(namespace, "more", "/more"));
  equal(added.code, 0);
  deepEqual(
    JSON.parse(added.out).routes.map(({ kind, after }: { kind: string; after: { id: string } }) =>
      `${kind} ${after.id}`
    ),
    [`added ${namespace}.example.com Prefix /more`],
  );
  const opened = await diff(ingress(namespace, "admin", "/admin", {}, profile));
  equal(opened.code, 1);
  const [path] = JSON.parse(opened.out).opened;
  deepEqual([path.route.id, path.dropped], [
    `${namespace}.example.com Prefix /admin`,
    ["allow-list"],
  ]);
  const moved = await diff(ingress(namespace, "app", "/moved"));
  equal(moved.code, 1);
  ok(JSON.parse(moved.out).lost.length === 1, moved.out);
});

const CERTIFICATES = new URL("../golden/certificates/", import.meta.url);

clusterTest(
  "the published configuration is explained with its certificates, and a proxy explains what it serves",
  async (cluster) => {
    await using scene = await CheckedScene.start(cluster);
    const pem = (name: string) => Deno.readTextFile(new URL(name, CERTIFICATES));
    const key = await pem("app.key");
    await scene.scene.tlsSecret("app-tls", { "tls.crt": await pem("app.crt"), "tls.key": key });
    await scene.scene.ingress("app", {
      tls: [{ hosts: ["app.example.com"], secretName: "app-tls" }],
    });
    const url = "https://app.example.com/x";
    const { out } = await eventually("the published certificate", async () => {
      const result = await scene.run(["explain", "--cluster", url]);
      return result.out.includes("since it names app.example.com") ? result : null;
    });
    const { app } = scene.scene;
    match(
      out,
      new RegExp(`\nCertificate: Secret ${app}/app-tls, since it names app\\.example\\.com\n`),
    );
    match(out, /\n {2}expires {2}\d{4}-\d\d-\d\d /);
    match(out, new RegExp(`\n {2}forwards to ${app}/web:80\n {2}from Ingress ${app}/app, `));
    // Gateway API has no CRDs there, and nothing else is missing.
    doesNotMatch(out, /Not known|deno task dev/);
    const plain = await scene.run(["explain", "--cluster", "--short", "http://app.example.com/x"]);
    match(plain.out, new RegExp(`^http://app\\.example\\.com/x → 308 ${url} → ${app}/web:80 `));
    const proxy = scene.proxies.get("proxy-1")!;
    await scene.pod("asked-proxy", PROXY, proxy.adminPort);
    const asked = await eventually("the route in the proxy", async () => {
      const result = await scene.run(["explain", "--proxy", "asked-proxy", url, "-o", "json"]);
      return result.code === 0 ? result : null;
    });
    const { explanations: [explanation] } = JSON.parse(asked.out);
    deepEqual(explanation.route.backends, [{ upstream: `${app}/web:80`, share: 1, fault: null }]);
    equal(explanation.certificates[0].origin.name, "app-tls");
    deepEqual([explanation.filters, explanation.notes], [[], []]);
    for (const text of [out, plain.out, asked.out]) {
      ok(!text.includes(key.split("\n")[1]), "no key is shown");
    }
    const file = await cluster.writeFile(JSON.stringify(ingress(app, "more", "/more")));
    const added = await scene.run(["diff", "-f", file, "--against=cluster", "-o", "json"]);
    const { routes, certificates, settings, notes, isComplete } = JSON.parse(added.out);
    deepEqual([added.code, routes.length, certificates, settings], [0, 1, [], []]);
    deepEqual([notes, isComplete], [[], true]);
    const none = await scene.run(["explain", "--proxy", "no-such-pod", url]);
    equal(none.code, 2);
    match(none.err, /^There is no pod \S+\/no-such-pod; pingress status lists the proxies/m);
  },
);
