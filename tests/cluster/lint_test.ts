/** `deno task lint --context` with a real API server, as a user with the rights of `overlays/lint`. */
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "./support/api_client.ts";
import { startGateway } from "./support/api_gateway.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { startFaultProxy } from "./support/fault_proxy.ts";
import type { Rules } from "./support/rbac.ts";

const ROOT = join(import.meta.dirname!, "../..");

const PREFIX = "nginx.ingress.kubernetes.io/";

interface LintJson {
  readonly totals: Readonly<Record<string, number>>;
  readonly ingresses: readonly {
    readonly name: string;
    readonly verdict: string;
    readonly at: null;
    readonly findings: readonly { readonly rule: string; readonly effect: string }[];
  }[];
  readonly cluster: readonly { readonly rule: string; readonly verdict: string }[];
  readonly unreadable: readonly { readonly message: string; readonly remedy: string }[];
  readonly notChecked: readonly { readonly message: string }[];
}

interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the task's own command. */
async function lint(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Output> {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const command: string[] = tasks.lint.command.split(" ").slice(1);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...command, ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...environment },
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: decode(stdout), err: decode(stderr) };
}

async function lintJson(args: readonly string[]): Promise<LintJson & { readonly code: number }> {
  const { code, out, err } = await lint([...args, "--context=test", "-o", "json"]);
  if (out === "") throw new Error(err);
  return { code, ...JSON.parse(out) };
}

/** The ClusterRole of the overlay, bound to a new service account; its token. */
async function linter(
  cluster: TestCluster,
  namespace: string,
  change: (role: Rules) => Rules = (role) => role,
): Promise<string> {
  const text = await Deno.readTextFile(join(ROOT, "overlays/lint/cluster-role.yaml"));
  const [written] = parseAllDocuments(text).map((document) => document.toJS() as Rules);
  const name = `lint-${namespace}`;
  const role = change({ ...written, metadata: { ...written.metadata, name } });
  const token = await cluster.serviceAccountToken(namespace, "linter");
  await cluster.apply([
    role,
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: "linter", namespace }],
    } as KubeObject,
  ]);
  await eventually("the rights of the linter", async () => {
    const { status } = await cluster.as(token).request(
      "GET",
      `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`,
    );
    return status === 200;
  });
  return token;
}

async function serve(
  cluster: TestCluster,
  namespace: string,
  name: string,
  annotations: Readonly<Record<string, string>>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await cluster.apply({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      ...{ namespace, name },
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [PREFIX + key, value]),
      ),
    },
    spec: {
      ingressClassName: "nginx",
      rules: [{
        host: `${name}.${namespace}.example.com`,
        http: {
          paths: [{
            path: "/",
            pathType: "Prefix",
            backend: { service: { name: "web", port: { number: 80 } } },
          }],
        },
      }],
      ...more,
    },
  } as KubeObject);
}

clusterTest(
  "a cluster is linted with the rights of overlays/lint, and no Secret is read",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    const tls = [{ hosts: [`same.${namespace}.example.com`], secretName: "same-tls" }];
    await serve(cluster, namespace, "same", {}, { tls });
    await serve(cluster, namespace, "broken", { "server-snippet": "return 200 s3cr3t;" });
    await cluster.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: "ingress-nginx-controller" },
      data: { "enable-modsecurity": "true", "add-headers": "s3cr3t" },
    } as KubeObject);
    const token = await linter(cluster, namespace);
    await using gateway = await startGateway(cluster);
    const kubeconfig = await gateway.kubeconfigFor(token);
    const result = await lintJson([
      `--kubeconfig=${kubeconfig}`,
      `--configmap=${namespace}/ingress-nginx-controller`,
      "--fail-on=breaks",
    ]);
    const own = result.ingresses.filter(({ name }) => name.startsWith(`${namespace}/`));
    deepEqual(own.map(({ name, verdict, at }) => [name, verdict, at]), [
      [`${namespace}/broken`, "BREAKS", null],
      // Closed by the ConfigMap, although its Secret is not read.
      [`${namespace}/same`, "BREAKS", null],
    ]);
    deepEqual(result.unreadable, []);
    match(
      result.notChecked.map(({ message }) => message).join("\n"),
      new RegExp(
        `not checked, as Secrets are not read: spec\\.tls\\[0\\].* of Ingress ${namespace}/same`,
      ),
    );
    deepEqual(
      result.cluster.find(({ rule }) => rule === "configmap/enable-modsecurity")?.verdict,
      "BREAKS",
    );
    equal(result.code, 1);
    doesNotMatch(JSON.stringify(result), /s3cr3t/);
    const requests = gateway.recorded({});
    deepEqual(requests.filter(({ status }) => status !== 200), []);
    deepEqual([...new Set(requests.map(({ verb, resource }) => `${verb} ${resource}`))].sort(), [
      "get configmaps",
      "list ingressclasses",
      "list ingresses",
      "list namespaces",
      "list services",
    ]);
  },
);

clusterTest(
  "a missing right is named with verb and resource, and the rest is linted",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await serve(cluster, namespace, "web", {});
    const token = await linter(cluster, namespace, (role) => ({
      ...role,
      rules: role.rules.filter(({ resources }) => !resources.includes("services")),
    }));
    const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(token));
    const result = await lintJson([`--kubeconfig=${kubeconfig}`]);
    equal(result.code, 2);
    equal(result.ingresses.find(({ name }) => name === `${namespace}/web`)?.verdict, "SAME");
    const messages = result.unreadable.map(({ message, remedy }) => `${message}; ${remedy}`).sort();
    match(
      messages[0],
      /^cannot list namespaces: .*; Allow the verb list on namespaces; .*pingress-lint/,
    );
    match(messages[1], /^cannot list services: .*; Allow the verb list on services; /);
    equal(messages.length, 2);
    const other = await lintJson([
      `--kubeconfig=${kubeconfig}`,
      `--configmap=${namespace}/renamed`,
    ]);
    const unread = other.unreadable.find(({ message }) => message.startsWith("cannot get"));
    match(unread!.remedy, /pingress-lint .* does once renamed is among its resourceNames$/);
  },
);

clusterTest("without the right to list Ingresses lint ends with one sentence", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const token = await cluster.serviceAccountToken(namespace, "nobody");
  const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(token));
  const { code, err, out } = await lint(["--context=test", `--kubeconfig=${kubeconfig}`]);
  deepEqual([code, out], [2, ""]);
  match(err, /^cannot list ingresses\.networking\.k8s\.io: .*; allow the verb list on ingresses/m);
});

clusterTest("with --watch-namespace one namespace is linted alone", async (cluster) => {
  const [namespace, other] = [await cluster.newNamespace(), await cluster.newNamespace()];
  await serve(cluster, namespace, "web", {});
  await serve(cluster, other, "web", {});
  const token = await linter(cluster, namespace);
  const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(token));
  const result = await lintJson([`--kubeconfig=${kubeconfig}`, `--watch-namespace=${namespace}`]);
  deepEqual(result.ingresses.map(({ name }) => name), [`${namespace}/web`]);
  equal(result.code, 0);
});

clusterTest(
  "an API server that does not answer ends lint after --timeout, and it says so",
  async (cluster) => {
    await using proxy = await startFaultProxy(cluster.port);
    const token = await cluster.serviceAccountToken(await cluster.newNamespace(), "linter");
    const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(token, proxy.server));
    proxy.stall(true);
    const { code, err } = await lint([
      "--context=test",
      `--kubeconfig=${kubeconfig}`,
      "--timeout=500ms",
    ]);
    equal(code, 2);
    match(
      err,
      /^cannot list ingresses\S* .*the API server did not answer within 0\.5 s; check the server/m,
    );
  },
);

clusterTest("mistakes in kubeconfig and command line are one sentence each", async (cluster) => {
  const token = await cluster.serviceAccountToken(await cluster.newNamespace(), "linter");
  const good = await cluster.writeFile(cluster.kubeconfigFor(token));
  const program = JSON.parse(cluster.kubeconfigFor(token));
  program.users[0].user = { exec: { command: "aws", apiVersion: "v1" } };
  const away = "https://127.0.0.1:1";
  for (
    const [args, expected] of [
      [[`--kubeconfig=${good}`, "--context=other"], /it has no context "other"/],
      [[`--kubeconfig=${join(ROOT, "no/such")}`, "--context=test"], /cannot be read/],
      [[`--kubeconfig=${await cluster.writeFile("[")}`, "--context=test"], /cannot be read/],
      [
        [`--kubeconfig=${await cluster.writeFile(JSON.stringify(program))}`, "--context=test"],
        /the exec of its user has the apiVersion "v1", which is none of /,
      ],
      [
        [
          `--kubeconfig=${await cluster.writeFile(cluster.kubeconfigFor("bad"))}`,
          "--context=test",
        ],
        /cannot list ingresses\S*: the API server does not accept the credentials/,
      ],
      [
        [
          `--kubeconfig=${await cluster.writeFile(cluster.kubeconfigFor(token, away))}`,
          "--context=test",
        ],
        /cannot list ingresses.*; check the server of the kubeconfig/,
      ],
      [[`--kubeconfig=${good}`], /--kubeconfig needs --context NAME/],
      [["examples", "--context=test"], /--context takes the place of DIR/],
      [["--context=test", "--configmap=x.yaml"], /must be NAMESPACE\/NAME/],
    ] as const
  ) {
    const { code, err, out } = await lint(args);
    deepEqual([code, out], [2, ""], err);
    match(err, expected);
    doesNotMatch(err, /\n {4}at /);
  }
});

clusterTest("the kubeconfig that KUBECONFIG names is the default one", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await serve(cluster, namespace, "web", {});
  const token = await linter(cluster, namespace);
  const KUBECONFIG = await cluster.writeFile(cluster.kubeconfigFor(token));
  const { code, out } = await lint(["--context=test"], { KUBECONFIG });
  match(out, new RegExp(`SAME {5}${namespace}/web\n`));
  match(out, /whether ingress-nginx was started with --configmap is not checked/);
  equal(code, 1 * Number(/[1-9]\d* OPENS/.test(out)));
});
