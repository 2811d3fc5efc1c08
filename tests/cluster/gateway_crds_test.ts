/**
 * `deno task deploy --gateway` and `--gateway-crds` against a real API server, by the real kubectl. Nothing
 * starts the controller here, so a deployment ends with what is missing.
 */
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { deployTask } from "./support/deploy_task.ts";
import { type Crd, gatewayCrd } from "./support/gateway_crds.ts";
import { kubectl } from "./support/kubectl.ts";
import { NAMESPACE } from "./support/predecessor.ts";
import { type Policy, variablesOf, withVariable } from "./support/policy.ts";

const GROUP = "gateway.networking.k8s.io";
const KINDS = ["GatewayClass", "Gateway", "HTTPRoute", "ReferenceGrant"];
const POLICY = `safe-upgrades.${GROUP}`;

const ROLE = [
  "rbac.authorization.k8s.io/v1",
  "ClusterRole",
  "pingress-controller-gateway",
] as const;
const CLASS = [`${GROUP}/v1`, "GatewayClass", "pingress"] as const;

/** The controller's Deployment never becomes ready. */
const DEPLOY = ["--timeout=1s"];

interface LiveCrd extends KubeObject {
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] };
}

function withAnnotations(crd: Crd, version: string, channel = "standard"): Crd {
  const annotations = {
    ...crd.metadata.annotations,
    [`${GROUP}/bundle-version`]: version,
    [`${GROUP}/channel`]: channel,
  };
  return { ...crd, metadata: { ...crd.metadata, annotations } };
}

/** A release: CRDs of one version, and the policy that comes with them. */
function release(version: string, channel = "standard"): unknown[] {
  const { metadata: { annotations } } = withAnnotations(
    gatewayCrd("Gateway", ["v1"]),
    version,
    channel,
  );
  const policy = {
    apiVersion: "admissionregistration.k8s.io/v1",
    metadata: { name: POLICY, annotations },
  };
  const rule = {
    apiGroups: ["apiextensions.k8s.io"],
    apiVersions: ["v1"],
    operations: ["CREATE"],
    resources: ["*"],
  };
  return [
    ...KINDS.map((kind) => withAnnotations(gatewayCrd(kind, ["v1"]), version, channel)),
    {
      ...policy,
      kind: "ValidatingAdmissionPolicy",
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "true" }],
      },
    },
    {
      ...policy,
      kind: "ValidatingAdmissionPolicyBinding",
      spec: { policyName: POLICY, validationActions: ["Deny"] },
    },
  ];
}

async function withFile(
  objects: readonly unknown[],
  run: (path: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = join(folder, "crds.yaml");
    await Deno.writeTextFile(path, objects.map((object) => stringify(object)).join("---\n"));
    await run(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Version by name; null for one that the API server does not serve. */
async function crdVersions(cluster: TestCluster): Promise<Record<string, string | null>> {
  const crds = await cluster.list<LiveCrd>("apiextensions.k8s.io/v1", "CustomResourceDefinition");
  return Object.fromEntries(crds.map(({ metadata: { name, annotations }, status }) => {
    const isServed = status?.conditions?.some(({ type, status }) =>
      type === "Established" && status === "True"
    );
    return [name, isServed ? annotations?.[`${GROUP}/bundle-version`] ?? "" : null];
  }));
}

const NAMES = ["gatewayclasses", "gateways", "httproutes", "referencegrants"]
  .map((plural) => `${plural}.${GROUP}`);

const allOf = (version: string) => Object.fromEntries(NAMES.map((name) => [name, version]));

clusterTest("deploy --gateway names the remedy if there are no CRDs", async (cluster) => {
  for (const more of [[], ["--dry-run"]]) {
    const refused = await deployTask(cluster, "deploy", [...DEPLOY, "--gateway", ...more]);
    if (refused === null) return;
    equal(refused.code, 1);
    match(refused.stderr, /^The API server has no CRDs of Gateway API .* Nothing was changed\.$/m);
    match(refused.stderr, /^Apply them too: --gateway-crds,/m);
  }
  equal(await cluster.get("v1", "Namespace", NAMESPACE), null);
});

clusterTest("deploy --gateway-crds refuses a file with anything else", async (cluster) => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "one" } };
  await withFile([...release("v1.6.3"), secret], async (path) => {
    const refused = await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${path}`]);
    if (refused === null) return;
    equal(refused.code, 1);
    match(refused.stderr, /: Secret one: kind "Secret" of "v1" is not part of the CRDs/);
    match(refused.stderr, /Nothing was changed\.$/m);
  });
  deepEqual(await crdVersions(cluster), {});
  equal(await cluster.get("v1", "Namespace", NAMESPACE), null);
});

clusterTest(
  "deploy --gateway-crds says what to do if a URL or file cannot be read",
  async (cluster) => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    listener.close();
    const url = `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}/standard-install.yaml`;
    const lost = await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${url}`]);
    if (lost === null) return;
    equal(lost.code, 1);
    match(lost.stderr, new RegExp(`^The CRDs of Gateway API cannot be read from ${url}`));
    match(lost.stderr, /127\.0\.0\.1:\d+ was refused/);
    match(
      lost.stderr,
      /^Download https:\/\/github\.com\/.+standard-install\.yaml .+--gateway-crds=FILE/m,
    );
    const missing = await deployTask(cluster, "deploy", [
      ...DEPLOY,
      "--gateway-crds=/missing.yaml",
    ]);
    equal(missing?.code, 1);
    match(missing!.stderr, /"\/missing\.yaml" does not exist[^]+^Name a file or folder/m);
    deepEqual(await crdVersions(cluster), {});
  },
);

clusterTest(
  "deploy --gateway-crds --dry-run lists the CRDs, and creates nothing",
  async (cluster) => {
    await withFile(release("v1.6.3"), async (path) => {
      const tried = await deployTask(cluster, "deploy", ["--dry-run", `--gateway-crds=${path}`]);
      if (tried === null) return;
      deepEqual([tried.code, tried.stderr], [0, ""]);
      match(tried.stdout, /^CRDs: {4}Gateway API v1\.6\.3, standard channel$/m);
      match(tried.stdout, /^CustomResourceDefinition gateways\.\S+: would be applied, v1\.6\.3$/m);
      match(tried.stdout, /^ClusterRole pingress-controller-gateway: would be created$/m);
      match(tried.stdout, /^GatewayClass pingress: would be created, with its CRD$/m);
    });
    deepEqual(await crdVersions(cluster), {});
  },
);

clusterTest("deploy --gateway-crds applies CRDs, and has Gateways served", async (cluster) => {
  await withFile(release("v1.5.1"), async (path) => {
    const deployed = await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${path}`]);
    if (deployed === null) return;
    match(deployed.stderr, /^Not everything runs after 1s/m);
    deepEqual(await crdVersions(cluster), allOf("v1.5.1"));
    const policies = "admissionregistration.k8s.io/v1";
    ok(await cluster.get(policies, "ValidatingAdmissionPolicyBinding", POLICY));
    ok(await cluster.get(...ROLE));
    ok(await cluster.get(...CLASS));
  });
});

clusterTest("deploy --gateway-crds replaces older CRDs, and leaves equal ones", async (cluster) => {
  await withFile(release("v1.6.3"), async (path) => {
    const upgraded = await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${path}`]);
    if (upgraded === null) return;
    deepEqual(await crdVersions(cluster), allOf("v1.6.3"));
    const again = await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${path}`]);
    match(again!.stdout, /^CRDs: {4}Gateway API v1\.6\.3, standard channel, present already$/m);
    doesNotMatch(again!.stdout, /^customresourcedefinition/m);
  });
});

clusterTest("deploy --gateway-crds never downgrades", async (cluster) => {
  await withFile(release("v1.6.2"), async (path) => {
    const refused = await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${path}`]);
    if (refused === null) return;
    equal(refused.code, 1);
    match(
      refused.stderr,
      /^ {2}CustomResourceDefinition gateways\.\S+ is of the version "v1\.6\.3", newer than v1\.6\.2$/m,
    );
    match(refused.stderr, /use --gateway instead of --gateway-crds$/m);
    deepEqual(await crdVersions(cluster), allOf("v1.6.3"));
  });
});

clusterTest(
  "deploy --gateway-crds replaces what kubectl has applied, not what others manage",
  async (cluster) => {
    await withFile(release("v1.6.0"), async (path) => {
      for (const name of NAMES) {
        await cluster.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", name);
      }
      // One that has objects goes after them.
      await eventually(
        "the end of the CRDs",
        async () => Object.keys(await crdVersions(cluster)).length === 0,
      );
      const applied = await kubectl(cluster, ["apply", `--filename=${path}`]);
      if (applied === null) return;
      deepEqual([applied.code, await crdVersions(cluster)], [0, allOf("v1.6.0")]);
      await cluster.apply(
        withAnnotations(gatewayCrd("HTTPRoute", ["v1"]), "v1.6.0"),
        { fieldManager: "helm" },
      );
    });
    await withFile(release("v1.6.3"), async (path) => {
      const refused = await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${path}`]);
      if (refused === null) return;
      match(refused.stderr, /^ {2}CustomResourceDefinition httproutes\.\S+ is managed by "helm"$/m);
      deepEqual(await crdVersions(cluster), allOf("v1.6.0"));
      await cluster.delete(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        `httproutes.${GROUP}`,
      );
      await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${path}`]);
      deepEqual(await crdVersions(cluster), allOf("v1.6.3"));
    });
  },
);

clusterTest("deploy --gateway-crds leaves experimental CRDs as they are", async (cluster) => {
  const experimental = withAnnotations(
    gatewayCrd("BackendTLSPolicy", ["v1alpha3"]),
    "v1.4.0",
    "experimental",
  );
  await cluster.apply(experimental);
  await withFile(release("v1.6.3"), async (path) => {
    const refused = await deployTask(cluster, "deploy", [...DEPLOY, `--gateway-crds=${path}`]);
    if (refused === null) return;
    equal(refused.code, 1);
    match(
      refused.stderr,
      /CustomResourceDefinition backendtlspolicies\.\S+ is of the channel "experimental"/,
    );
  });
  await cluster.delete(
    experimental.apiVersion,
    experimental.kind,
    experimental.metadata.name,
  );
});

clusterTest(
  "deploy --gateway keeps the classes that were named, and without it the overlay stays",
  async (cluster) => {
    const found = async (name: string) =>
      (await cluster.get<Policy>(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        name,
      ))!;
    // As of a version before, whose policies had parameters.
    const names = ["pingress-gateway-services", "pingress-gateway-slices"];
    for (const name of names) {
      await cluster.delete(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        name,
      );
    }
    await cluster.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "pingress-gateway-admission", namespace: NAMESPACE },
      data: { gatewayClasses: "pingress, internal", listenRange: "20000-20100" },
    } as Partial<KubeObject>);
    const deployed = await deployTask(cluster, "deploy", [...DEPLOY, "--gateway"]);
    if (deployed === null) return;
    doesNotMatch(deployed.stdout, /^CRDs:/m);
    const [services, slices] = await Promise.all(names.map(found));
    equal(variablesOf(services).gatewayClasses, '["pingress","internal"]');
    equal(variablesOf(slices).gatewayClasses, '["pingress","internal"]');
    equal(variablesOf(slices).listenRange, '"20000-20100"');
    // What is written into the policies stays, whatever the old ConfigMap says.
    await cluster.apply(withVariable(
      {
        apiVersion: services.apiVersion,
        kind: services.kind,
        metadata: { name: names[0] },
        spec: services.spec,
      },
      "gatewayClasses",
      "['pingress', 'other']",
    ));
    await deployTask(cluster, "deploy", [...DEPLOY, "--gateway"]);
    equal(variablesOf(await found(names[0])).gatewayClasses, "['pingress', 'other']");
    equal(variablesOf(await found(names[1])).listenRange, '"20000-20100"');
    doesNotMatch(deployed.stderr, /^proxies:/m);
    const without = await deployTask(cluster, "deploy", DEPLOY);
    match(
      without!.stdout,
      /^Gateway API was deployed here\. overlays\/gateway stays as it is; add --gateway /m,
    );
    ok(await cluster.get(...ROLE));
    ok(await cluster.get(...CLASS));
  },
);

clusterTest("deploy waits for proxies if there are Gateways only", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const metadata = { name: "web", namespace };
  const gateway = { apiVersion: `${GROUP}/v1`, kind: "Gateway", metadata };
  await cluster.apply({ ...gateway, spec: { gatewayClassName: "pingress" } });
  for (const args of [["--gateway"], []]) {
    const deployed = await deployTask(cluster, "deploy", [...DEPLOY, ...args]);
    if (deployed === null) return;
    match(deployed.stderr, /^proxies: the controller has not made the DaemonSet yet$/m);
  }
  await cluster.delete(gateway.apiVersion, gateway.kind, metadata.name, namespace);
});

clusterTest(
  "deploy --gateway-crds changes nothing without the right to read CRDs",
  async (cluster) => {
    const kubeconfig = await cluster.serviceAccountKubeconfig(
      await cluster.newNamespace(),
      "nobody",
    );
    await withFile(release("v1.6.3"), async (path) => {
      const refused = await deployTask(cluster, "deploy", [
        ...["--kubeconfig", kubeconfig],
        `--gateway-crds=${path}`,
      ]);
      if (refused === null) return;
      equal(refused.code, 1);
      match(refused.stderr, /customresourcedefinitions\.apiextensions\.k8s\.io is forbidden/);
    });
  },
);
