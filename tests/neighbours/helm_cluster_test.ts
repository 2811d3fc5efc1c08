/**
 * The chart on a real API server, by the real Helm: install, upgrade, rollback, take over, test and
 * uninstall. No node runs here; tests/neighbours/helm_e2e_test.ts has requests.
 */
import assert from "node:assert/strict";
import { stringify } from "yaml";
import { VERSION } from "../../shared/version.ts";
import { ALERT_GROUPS } from "../../tools/alerts/groups.ts";
import { CHART } from "../../tools/chart/chart_files.ts";
import type { KubeObject } from "../cluster/support/api_client.ts";
import { runPingress } from "../cluster/support/checked_scene.ts";
import { startCluster, type TestCluster } from "../cluster/support/cluster.ts";
import { clusterTest } from "../cluster/support/cluster_case.ts";
import { eventually } from "../cluster/support/condition.ts";
import { installGatewayCrds } from "../cluster/support/gateway_crds.ts";
import { kubectl, MANIFESTS } from "../cluster/support/kubectl.ts";
import { operatorCrds } from "./operator_crds.ts";
import { previousChart } from "./previous_chart.ts";
import { Helm, keyOf, NAMESPACE, RELEASE } from "./helm.ts";

const INTO = [`--namespace=${NAMESPACE}`, "--create-namespace"];

/** Of helm test. */
const POD = ["v1", "Pod", "pingress-check", NAMESPACE] as const;
const RIGHTS = ["rbac.authorization.k8s.io/v1", "ClusterRole", "pingress-check"] as const;

/** As a kubelet would say. */
async function endPod(cluster: TestCluster, phase: "Succeeded" | "Failed"): Promise<void> {
  const [apiVersion, kind, name, namespace] = POD;
  const pod = { apiVersion, kind, metadata: { name, namespace }, status: { phase } };
  await cluster.apply(pod, { subresource: "status" });
}

type Run = (helm: Helm, cluster: TestCluster) => Promise<void>;

/** Each test leaves nothing of its release. */
function releaseTest(name: string, run: Run): void {
  clusterTest(name, (cluster) => withRelease(name, cluster, run));
}

/**
 * On an API server of its own: kube-apiserver 1.34 stops watching parameters of policies with the last
 * policy that has some, and does not find those of a later policy, which then denies all that it matches.
 */
function policyTest(name: string, run: Run): void {
  Deno.test(name, async () => {
    const cluster = await startCluster({ name });
    if (cluster === null) return;
    try {
      await withRelease(name, cluster, run);
    } finally {
      await cluster.stop();
    }
  });
}

async function withRelease(name: string, cluster: TestCluster, run: Run): Promise<void> {
  const helm = await Helm.find(name, cluster.kubeconfig);
  if (helm === null) return;
  await using _ = helm;
  try {
    await run(helm, cluster);
  } finally {
    await helm.run(["uninstall", RELEASE, `--namespace=${NAMESPACE}`, "--ignore-not-found"]);
  }
}

/** Those of the cluster that are of these names; null for what is not there. */
async function living(
  cluster: TestCluster,
  objects: readonly KubeObject[],
): Promise<Map<string, KubeObject | null>> {
  const found = new Map<string, KubeObject | null>();
  for (const object of objects) {
    const { apiVersion, kind, metadata: { name, namespace } } = object;
    found.set(keyOf(object), await cluster.get<KubeObject>(apiVersion, kind, name, namespace));
  }
  return found;
}

interface Controller extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly image: string; readonly args: string[] }[];
      };
    };
  };
}

async function controller(cluster: TestCluster) {
  const deployment = await cluster.get<Controller>(
    "apps/v1",
    "Deployment",
    "pingress-controller",
    NAMESPACE,
  );
  const { template } = deployment!.spec;
  const [{ image, args }] = template.spec.containers;
  return { image, args, template, uid: deployment!.metadata.uid };
}

policyTest(
  "helm installs, upgrades from the version before, rolls back and uninstalls",
  async (helm, cluster) => {
    await using previous = await previousChart();
    const values = ["--set=admission.create=true", "--set=controller.flags.gatherTime=100ms"];
    await helm.succeed(["install", RELEASE, previous.folder, ...INTO, ...values]);
    const before = await controller(cluster);
    assert.match(before.image, new RegExp(`:${previous.version}$`));
    // What the controller makes is not of the release.
    const made = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "pingress-config-v2", namespace: NAMESPACE },
    };
    await cluster.apply(made as Partial<KubeObject>);

    const wanted = await helm.template({ args: values });
    const old = await living(cluster, wanted);
    await helm.succeed([
      "upgrade",
      RELEASE,
      CHART,
      `--namespace=${NAMESPACE}`,
      "--reset-then-reuse-values",
    ]);
    const upgraded = await controller(cluster);
    assert.match(upgraded.image, new RegExp(`:${VERSION}$`));
    assert.ok(upgraded.args.includes("--gather-time=100ms"), "a value of the user is lost");
    const current = await living(cluster, wanted);
    for (const [key, object] of current) {
      assert.ok(object !== null, `${key} is missing`);
      const uid = old.get(key)?.metadata.uid;
      if (uid !== undefined) assert.equal(object.metadata.uid, uid, `${key} is another one`);
    }

    await helm.succeed(["rollback", RELEASE, "1", `--namespace=${NAMESPACE}`]);
    const rolledBack = await controller(cluster);
    assert.deepEqual(
      [rolledBack.image, rolledBack.args, rolledBack.uid],
      [before.image, before.args, before.uid],
    );

    await helm.succeed(["uninstall", RELEASE, `--namespace=${NAMESPACE}`]);
    const left = [...await living(cluster, wanted)].filter(([, object]) => object !== null);
    // What proxies and their routes need, which outlive the release.
    assert.deepEqual(left.map(([key]) => key).sort(), [
      "IngressClass  pingress",
      "PriorityClass  pingress-proxy",
      `ServiceAccount ${NAMESPACE} pingress-proxy-server`,
    ]);
    assert.ok(await cluster.get("v1", "ConfigMap", made.metadata.name, NAMESPACE));
    assert.ok(await cluster.get("v1", "Namespace", NAMESPACE));
  },
);

releaseTest("a wrong value changes nothing of a release", async (helm, cluster) => {
  await helm.succeed(["install", RELEASE, CHART, ...INTO]);
  const before = await controller(cluster);
  const { code, stderr } = await helm.run([
    "upgrade",
    RELEASE,
    CHART,
    `--namespace=${NAMESPACE}`,
    "--set=controller.flags.backend=NodePort",
  ]);
  assert.equal(code, 1);
  assert.match(stderr, /value must be one of 'HostPort', 'LoadBalancer'/);
  assert.deepEqual(await controller(cluster), before);
});

releaseTest("helm takes over what kubectl applied, and restarts nothing", async (helm, cluster) => {
  const applied = await kubectl(cluster, ["apply", "--filename", MANIFESTS]);
  if (applied === null) return console.log("skipped: kubectl is not among the programs");
  assert.equal(applied.code, 0, applied.stderr);
  const before = await controller(cluster);
  const install = ["install", RELEASE, CHART, `--namespace=${NAMESPACE}`];
  const refused = await helm.run(install);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /invalid ownership metadata/);
  await helm.succeed([...install, "--take-ownership", "--force-conflicts"]);
  assert.deepEqual(await controller(cluster), before);
});

releaseTest(
  "helm test checks the installation with an account that can only read",
  async (helm, cluster) => {
    const level = "pod-security.kubernetes.io/enforce";
    await cluster.apply({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: NAMESPACE, labels: { [level]: "restricted" } },
    });
    await helm.succeed(["install", RELEASE, CHART, ...INTO]);
    const test = helm.run(["test", RELEASE, `--namespace=${NAMESPACE}`]);
    const pod = await eventually(
      "pod of the test",
      () => cluster.get<KubeObject>(...POD),
    );
    const { containers: [{ args }] } = pod.spec as { containers: [{ args: string[] }] };
    assert.deepEqual(args, ["check", `--system-namespace=${NAMESPACE}`, "--timeout=30s"]);
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, "pingress-check");
    const checked = await runPingress([...args, `--kubeconfig=${kubeconfig}`]);
    assert.match(checked.out, /✔ You have every right that these commands use\n/);
    assert.match(checked.out, /✔ The controller's account has every right that it needs\n/);
    for (const resource of ["secrets", "configmaps"]) {
      const answer = await kubectl(cluster, [
        "auth",
        "can-i",
        "list",
        resource,
        `--namespace=${NAMESPACE}`,
        `--as=system:serviceaccount:${NAMESPACE}:pingress-check`,
      ]);
      if (answer !== null) assert.equal(answer.stdout.trim(), "no", resource);
    }
    // As a kubelet would say.
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "pingress-check", namespace: NAMESPACE },
      status: { phase: "Succeeded" },
    } as Partial<KubeObject>, { subresource: "status" });
    const { code, stdout, stderr } = await test;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Phase: +Succeeded/);
    assert.equal(await cluster.get(...RIGHTS), null, "rights of the test are left");
    assert.equal(await cluster.get(...POD), null);

    const again = helm.run(["test", RELEASE, `--namespace=${NAMESPACE}`]);
    await eventually("pod of the second test", () => cluster.get<KubeObject>(...POD));
    await endPod(cluster, "Failed");
    const failed = await again;
    assert.equal(failed.code, 1);
    assert.match(failed.stdout, /Phase: +Failed/);
    assert.equal(await cluster.get(...RIGHTS), null, "rights of the failed test are left");
    assert.ok(await cluster.get(...POD), "its log is lost");
    await cluster.delete(...POD);
  },
);

policyTest("Gateways and their CRDs outlive the release", async (helm, cluster) => {
  const install = ["install", RELEASE, CHART, ...INTO, "--set=gateway.create=true"];
  const refused = await helm.run(install);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /no matches for kind "GatewayClass"/);
  await installGatewayCrds(cluster, ["GatewayClass", "Gateway"]);
  await helm.succeed(["upgrade", "--install", ...install.slice(1)]);
  const apiVersion = "gateway.networking.k8s.io/v1";
  const metadata = { name: "web", namespace: "default" };
  await cluster.apply({ apiVersion, kind: "Gateway", metadata });
  assert.ok(await cluster.get(apiVersion, "GatewayClass", "pingress"));
  await helm.succeed(["uninstall", RELEASE, `--namespace=${NAMESPACE}`]);
  // Policies without their parameters would deny it.
  await cluster.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "after-uninstall", namespace: "default" },
    spec: { ports: [{ port: 80 }] },
  });
  assert.ok(await cluster.get(apiVersion, "Gateway", "web", "default"));
  assert.ok(await cluster.get(apiVersion, "GatewayClass", "pingress"));
});

policyTest(
  "the API server accepts every object of Kubernetes that values add",
  async (helm, cluster) => {
    await installGatewayCrds(cluster, ["GatewayClass"]);
    for (const name of [NAMESPACE, "ingress-nginx"]) {
      await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    const values = {
      ...Object.fromEntries(
        ["gateway", "admission", "nginxClass", "dashboards"].map((key) => [key, { create: true }]),
      ),
      image: { pullSecrets: ["registry"] },
      controller: {
        flags: { configmap: "ingress-nginx/ingress-nginx-controller" },
        podDisruptionBudget: { create: true },
        podLabels: { team: "edge" },
        podAnnotations: { note: "x" },
        nodeSelector: { "kubernetes.io/os": "linux" },
        tolerations: [{ operator: "Exists" }],
        affinity: { nodeAffinity: {} },
        priorityClassName: "system-cluster-critical",
      },
      proxy: { podTemplate: { spec: { tolerations: [{ operator: "Exists" }] } } },
      ingressClass: { isDefault: true },
    };
    // By server-side apply, which refuses unknown fields.
    await helm.succeed(["install", RELEASE, CHART, ...INTO, "--values=-"], stringify(values));
    const template = await controller(cluster);
    assert.ok(template.args.some((arg) => arg.startsWith("--proxy-pod-template=")));
  },
);

releaseTest(
  "the Prometheus operator's schemas accept the monitors and the rules",
  async (helm, cluster) => {
    const kinds = ["podmonitors", "servicemonitors", "prometheusrules"];
    const crds = await operatorCrds("monitors", kinds);
    if (crds === null) return;
    for (const crd of crds) await cluster.apply(crd);
    for (const kind of kinds) {
      const path = `/apis/monitoring.coreos.com/v1/${kind}`;
      await eventually(path, async () => (await cluster.request("GET", path)).status === 200);
    }
    const monitor = { create: true, labels: { release: "prometheus" }, interval: "15s" };
    // Either, as the chart refuses both.
    for (
      const [kind, key] of [["PodMonitor", "podMonitor"], ["ServiceMonitor", "serviceMonitor"]]
    ) {
      const values = {
        [key]: monitor,
        prometheusRule: { create: true, labels: { release: "prometheus" } },
      };
      const verb = ["upgrade", "--install", RELEASE, CHART, ...INTO, "--values=-"];
      await helm.succeed(verb, stringify(values));
      const monitors = await cluster.list("monitoring.coreos.com/v1", kind, {
        namespace: NAMESPACE,
      });
      assert.deepEqual(
        monitors.map(({ metadata }) => metadata.name).sort(),
        ["pingress-controller", "pingress-proxy-server"],
      );
    }
    const rules = await cluster.list("monitoring.coreos.com/v1", "PrometheusRule", {
      namespace: NAMESPACE,
    });
    assert.equal(rules.length, ALERT_GROUPS.length);
  },
);
