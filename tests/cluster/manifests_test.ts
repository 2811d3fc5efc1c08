/** What `kubectl apply -f manifests/` does, and whether its parts fit each other and the code. */
import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { join } from "node:path";
import { parseControllerOptions } from "../../controller/cli/options.ts";
import { CLAIMS_NAME } from "../../controller/outputs/publish/host_claims.ts";
import { PROXY_NAME, STREAM } from "../../controller/outputs/workload/names.ts";
import { PROXY_PORTS } from "../../shared/net/proxy_ports.ts";
import {
  configMapName,
  keySecretName,
  MAX_KEY_SECRETS,
  MAX_PARTS,
} from "../../shared/snapshot/published_set.ts";
import { DEFAULT_LISTEN_RANGE } from "../../shared/net/port_range.ts";
import { VERSION } from "../../shared/version.ts";
import type { KubeObject } from "./support/api_client.ts";
import { startCluster, type TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { kubectl, manifest, MANIFESTS } from "./support/kubectl.ts";
import { NAMESPACE, oldManifests, PROXY } from "./support/predecessor.ts";
import { grantsOf, readRules, type Rules } from "./support/rbac.ts";

/** The controller's Deployment, as far as these tests look into it. */
interface ControllerDeployment extends KubeObject {
  readonly spec: {
    readonly selector: unknown;
    readonly template: { readonly metadata: { labels: object }; readonly spec: ControllerPod };
  };
}

interface ControllerPod {
  readonly serviceAccountName: string;
  readonly containers: readonly {
    readonly image: string;
    readonly command?: readonly string[];
    readonly args: readonly string[];
    readonly env: readonly { readonly name: string }[];
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  }[];
}

async function controllerDeployment(): Promise<ControllerDeployment> {
  const [deployment] = await manifest<ControllerDeployment>("pingress-controller.yaml");
  return deployment;
}

/** Applies `manifests/`, as users are told to; the lines that kubectl says, without warnings. */
async function applyManifests(cluster: TestCluster): Promise<string[] | null> {
  const applied = await kubectl(cluster, ["apply", "--validate=strict", "-f", MANIFESTS]);
  if (applied === null) {
    console.log("skipped: kubectl is not among the programs");
    return null;
  }
  deepEqual([applied.code, applied.stderr], [0, ""]);
  return applied.stdout.trimEnd().split("\n");
}

clusterTest(
  "kubectl apply -f manifests/ creates everything on an empty cluster, and nothing the second time",
  async (cluster) => {
    const first = await applyManifests(cluster);
    if (first === null) return;
    deepEqual(first, [
      "namespace/pingress-system created",
      "priorityclass.scheduling.k8s.io/pingress-proxy created",
      "serviceaccount/pingress-controller-user created",
      "serviceaccount/pingress-proxy-server created",
      "clusterrole.rbac.authorization.k8s.io/pingress-controller-cluster-role created",
      "clusterrolebinding.rbac.authorization.k8s.io/pingress-controller-cluster-role-binding created",
      "role.rbac.authorization.k8s.io/pingress-controller-role created",
      "rolebinding.rbac.authorization.k8s.io/pingress-controller-role-binding created",
      "ingressclass.networking.k8s.io/pingress created",
      "networkpolicy.networking.k8s.io/pingress-proxy-server created",
      "networkpolicy.networking.k8s.io/pingress-controller created",
      "deployment.apps/pingress-controller created",
      "service/pingress-controller created",
    ]);
    const second = await applyManifests(cluster);
    deepEqual(second?.filter((line) => !line.endsWith(" unchanged")), []);
    const sample = await kubectl(cluster, [
      "apply",
      "--validate=strict",
      "-f",
      `${MANIFESTS}/sample/sample.yaml`,
    ]);
    deepEqual([sample?.code, sample?.stderr], [0, ""]);
  },
);

Deno.test("kubectl apply -f manifests/ replaces the manifests of the Rust controller", async () => {
  const cluster = await startCluster({ name: "kubectl apply -f manifests/ over the old ones" });
  if (cluster === null) return;
  await using _ = cluster;
  const old = await kubectl(cluster, ["apply", "-f", "-"], oldManifests());
  if (old === null) return;
  equal(old.code, 0, old.stderr);
  const before = await cluster.get("apps/v1", "Deployment", "pingress-controller", NAMESPACE);
  const lines = await applyManifests(cluster);
  deepEqual(lines?.map((line) => line.split("/").at(-1)), [
    "pingress-system configured",
    "pingress-proxy created",
    "pingress-controller-user unchanged",
    "pingress-proxy-server created",
    "pingress-controller-cluster-role configured",
    "pingress-controller-cluster-role-binding unchanged",
    "pingress-controller-role configured",
    "pingress-controller-role-binding unchanged",
    "pingress unchanged",
    "pingress-proxy-server created",
    "pingress-controller created",
    "pingress-controller configured",
    "pingress-controller created",
  ]);
  const again = await applyManifests(cluster);
  deepEqual(again?.filter((line) => !line.endsWith(" unchanged")), []);

  const after = await cluster.get<ControllerDeployment>(
    "apps/v1",
    "Deployment",
    "pingress-controller",
    NAMESPACE,
  );
  equal(after?.metadata.uid, before?.metadata.uid);
  const [container, ...others] = after!.spec.template.spec.containers;
  const [wanted] = (await controllerDeployment()).spec.template.spec.containers;
  deepEqual(others, []);
  // What the old one was started with must not be left in the new image.
  equal(container.command, undefined);
  deepEqual(container.args, wanted.args);
  equal(container.image, wanted.image);
  deepEqual(container.env.map(({ name }) => name), wanted.env.map(({ name }) => name));
  for (const { kind, metadata, rules } of await readRules()) {
    const role: Rules | null = await cluster.get(
      "rbac.authorization.k8s.io/v1",
      kind,
      metadata.name,
      metadata.namespace,
    );
    deepEqual(role?.rules, rules, kind);
  }
});

clusterTest("the restricted pod security level accepts the controller's pods", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  await cluster.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, labels },
  });
  const { spec: { template } } = await controllerDeployment();
  await cluster.serviceAccountToken(namespace, template.spec.serviceAccountName);
  const post = (spec: unknown) =>
    cluster.request("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...template.metadata, name: "controller" },
      spec,
    });
  const taken = await post(template.spec);
  equal(taken.status, 201, taken.text);
  // That the level is in force: the same pod without one of its promises.
  const { securityContext: _promise, ...lax } = template.spec as ControllerPod & {
    readonly securityContext: unknown;
  };
  const refused = await post(lax);
  equal(refused.status, 403, refused.text);
  match(refused.text, /violates PodSecurity \\"restricted:latest\\"/);
});

Deno.test("the controller's Deployment matches its command line, its version and its labels", async () => {
  const { metadata, spec: { selector, template } } = await controllerDeployment();
  equal(metadata.namespace, NAMESPACE);
  deepEqual(selector, { matchLabels: { "app.kubernetes.io/name": "pingress-controller" } });
  const [{ image, args, ports }] = template.spec.containers;
  equal(image.split(":").at(-1), VERSION);
  const parsed = parseControllerOptions(args);
  equal(parsed.kind, "ok", parsed.kind === "ok" ? "" : parsed.text);
  if (parsed.kind !== "ok") return;
  equal(parsed.options.namespace, NAMESPACE);
  equal(parsed.options.backend, "HostPort");
  deepEqual(ports.map(({ containerPort }) => containerPort), [
    parsed.options.admin.port,
    STREAM.port,
  ]);
  notEqual(parsed.options.admin.hostname, "127.0.0.1");
  const [ingressClass] = await manifest<KubeObject & { spec: { controller: string } }>(
    "ingress-class.yaml",
  );
  deepEqual(parsed.options.ingressClasses, [ingressClass.metadata.name]);
  equal(parsed.options.controllerNames.includes(ingressClass.spec.controller), true);
});

Deno.test("kubectl apply replaces an installation by other means, and permissions for all namespaces", async () => {
  const cluster = await startCluster({ name: "kubectl apply over other installations" });
  if (cluster === null) return;
  await using _ = cluster;
  await cluster.apply(oldManifests(), { fieldManager: "helm" });
  // As docs/install.md says to.
  const old = ["-n", NAMESPACE, "delete", "deployment", "pingress-controller", "--wait=false"];
  const deleted = await kubectl(cluster, old);
  if (deleted === null) return;
  equal(deleted.code, 0, deleted.stderr);
  const applied = await kubectl(cluster, ["apply", "-f", MANIFESTS]);
  equal(applied?.code, 0, applied?.stderr ?? "");
  const deployment = await cluster.get<ControllerDeployment>(
    "apps/v1",
    "Deployment",
    "pingress-controller",
    NAMESPACE,
  );
  equal(deployment?.spec.template.spec.containers[0].command, undefined);

  const files = ["00-namespace.yaml", "ingress-class.yaml", "namespaced/"];
  const narrowed = await kubectl(
    cluster,
    ["apply", "--validate=strict", ...files.flatMap((file) => ["-f", `${MANIFESTS}/${file}`])],
  );
  deepEqual([narrowed?.code, narrowed?.stderr], [0, ""]);
  for (const { kind, metadata, rules } of await readRules("namespaced/rights.yaml")) {
    const role: Rules | null = await cluster.get(
      "rbac.authorization.k8s.io/v1",
      kind,
      metadata.name,
      metadata.namespace,
    );
    deepEqual(role?.rules, rules, `${kind} in ${metadata.namespace}`);
  }
});

interface Service extends KubeObject {
  readonly spec: {
    readonly selector: Readonly<Record<string, string>>;
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
  };
}

Deno.test("the controller's Service reaches the stream of its pods", async () => {
  const objects = await manifest<KubeObject>("pingress-controller.yaml");
  const { spec: { template } } = await controllerDeployment();
  const service = objects.find(({ kind }) => kind === "Service") as Service;
  deepEqual([service.metadata.name, service.metadata.namespace], [STREAM.service, NAMESPACE]);
  for (const [name, value] of Object.entries(service.spec.selector)) {
    equal((template.metadata.labels as Record<string, string>)[name], value);
  }
  deepEqual(service.spec.ports.map(({ port, targetPort }) => [port, targetPort]), [
    [STREAM.port, "stream"],
  ]);
});

for (const file of ["hostport.yaml", "namespaced/rights.yaml"]) {
  Deno.test(`the proxies' account in ${file} has no permission and no API token`, async () => {
    const objects = await manifest<
      KubeObject & {
        automountServiceAccountToken?: boolean;
        subjects?: readonly { readonly name: string }[];
      }
    >(file);
    const account = objects.find(({ kind, metadata }) =>
      kind === "ServiceAccount" && metadata.name === STREAM.serviceAccount
    );
    equal(account?.automountServiceAccountToken, false);
    const bound = objects.flatMap(({ subjects = [] }) => subjects.map(({ name }) => name));
    equal(bound.includes(STREAM.serviceAccount), false);
  });
}

interface NetworkPolicy extends KubeObject {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly policyTypes: readonly string[];
    readonly ingress: readonly {
      readonly from?: readonly unknown[];
      readonly ports: readonly { readonly port: number; readonly endPort?: number }[];
    }[];
  };
}

const MONITORING = [{
  namespaceSelector: { matchLabels: { "pingress.io/metrics": "allowed" } },
}];

clusterTest(
  "network policies admit clients everywhere, proxies and controllers to the stream, monitoring to metrics",
  async (cluster) => {
    await cluster.apply(await manifest<KubeObject>("00-namespace.yaml"));
    const files = await manifest<KubeObject>("network-policies.yaml");
    const made = await cluster.apply<NetworkPolicy>(files);
    const { spec: { selector, template } } = await controllerDeployment();
    const proxies = { matchLabels: { "app.kubernetes.io/name": PROXY_NAME } };
    const [{ ports = [] }] = template.spec.containers;
    const admin = ports.find(({ name }) => name === "admin")?.containerPort;
    deepEqual(
      made.map(({ spec: { podSelector, policyTypes, ingress } }) => ({
        podSelector,
        policyTypes,
        ingress: ingress.map(({ from, ports }) => [
          from ?? "everywhere",
          ...ports.map(({ port, endPort }) => endPort === undefined ? port : [port, endPort]),
        ]),
      })),
      [
        {
          podSelector: proxies,
          policyTypes: ["Ingress"],
          ingress: [
            [
              "everywhere",
              PROXY_PORTS.http,
              PROXY_PORTS.https,
              Object.values(DEFAULT_LISTEN_RANGE),
            ],
            [MONITORING, PROXY_PORTS.admin],
          ],
        },
        {
          podSelector: selector,
          policyTypes: ["Ingress"],
          ingress: [
            [[{ podSelector: proxies }, { podSelector: selector }], STREAM.port],
            [MONITORING, admin],
          ],
        },
      ],
    );
  },
);

clusterTest("the API server accepts the network policy of docs/security.md", async (cluster) => {
  const text = await Deno.readTextFile(join(MANIFESTS, "..", "docs", "security.md"));
  const policies = text.matchAll(
    /```yaml\n(apiVersion: networking.k8s.io\/v1\nkind: NetworkPolicy\n.*?)```/gs,
  );
  const namespace = await cluster.newNamespace();
  const made = await cluster.apply<NetworkPolicy>(
    Array.from(policies, ([, policy]) => policy).join("---\n").replaceAll(NAMESPACE, namespace),
  );
  deepEqual(made.map(({ spec }) => spec.podSelector), [
    { matchLabels: { "app.kubernetes.io/name": PROXY_NAME } },
  ]);
});

/** The cells of the table below a heading of docs/install.md, without its head. */
async function documentedTable(heading: string): Promise<string[][]> {
  const text = await Deno.readTextFile(join(MANIFESTS, "..", "docs", "install.md"));
  const section = text.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return section.split("\n").filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
}

/** What stands in backticks. */
function quoted(cell: string): string[] {
  return Array.from(cell.matchAll(/`([^`]+)`/g), ([, text]) => text);
}

Deno.test("docs/install.md lists each permission", async () => {
  const grants = grantsOf(await readRules());
  const granted = (isOurs: boolean) =>
    grants.filter(({ namespace }) => (namespace === NAMESPACE) === isOurs)
      .map(({ resource, names, verb }) => `${verb} ${resource} ${names?.[0] ?? ""}`).sort();
  const cluster = (await documentedTable("Cluster-wide")).flatMap(([what, verbs]) => {
    const [name = ""] = what.endsWith(" only") ? quoted(what).slice(-1) : [];
    return quoted(what).filter((resource) => resource !== name)
      .flatMap((resource) => verbs.split(", ").map((verb) => `${verb} ${resource} ${name}`));
  });
  deepEqual(cluster.sort(), granted(false));
  const own = (await documentedTable("In pingress-system")).flatMap(([what, names, verbs]) =>
    quoted(what).flatMap((resource) =>
      verbs.split(", ").map((verb) => `${verb} ${resource} ${quoted(names)[0] ?? ""}`)
    )
  );
  deepEqual(own.sort(), granted(true));
});

for (const file of ["hostport.yaml", "namespaced/rights.yaml"]) {
  Deno.test(`permissions in ${file} are for exactly the names of the controller's objects`, async () => {
    const count = (length: number, nameOf: (index: number) => string) =>
      Array.from({ length }, (_, index) => nameOf(index));
    const names: Record<string, readonly string[]> = {
      configmaps: [
        STREAM.authority,
        CLAIMS_NAME,
        ...[1, 2].flatMap((format) =>
          count(MAX_PARTS + 1, (index) => configMapName(index, format))
        ),
      ],
      secrets: ["pingress-tls-secret", STREAM.authority, ...count(MAX_KEY_SECRETS, keySecretName)],
      serviceaccounts: [STREAM.serviceAccount],
      daemonsets: [PROXY],
      deployments: [PROXY],
      services: [PROXY],
      poddisruptionbudgets: [PROXY],
      horizontalpodautoscalers: [PROXY],
      leases: ["pingress-controller"],
      namespaces: ["kube-system"],
    };
    const granted: Record<string, Set<string>> = {};
    for (const { resource, names } of grantsOf(await readRules(file))) {
      for (const name of names ?? []) (granted[resource] ??= new Set()).add(name);
    }
    deepEqual(
      Object.fromEntries(
        Object.entries(granted).map(([resource, set]) => [resource, [...set].sort()]),
      ),
      Object.fromEntries(
        Object.entries(names).map(([resource, all]) => [resource, [...all].sort()]),
      ),
    );
  });
}
