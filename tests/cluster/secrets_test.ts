/** Secrets that Ingresses name, read from a real API server: all that is wanted, and nothing else. */
import assert from "node:assert/strict";
import type { KubeClient } from "../../controller/kube/client.ts";
import { NamedSecrets, type NamedSecretsOptions } from "../../controller/watch/secrets.ts";
import { type ApiGateway, startGateway } from "./support/api_gateway.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { failure } from "./support/gateway_answers.ts";
import { clientOf, FAST, type LogEntry, recordingLog } from "./support/informer_scene.ts";

/** Milliseconds that Secrets are waited for. */
const PATIENCE = 20_000;

class SecretScene implements AsyncDisposable {
  readonly secrets: NamedSecrets;
  readonly logged: LogEntry[];
  /** How often subscribers were told of a change. */
  changes = 0;
  readonly #client: KubeClient;

  constructor(kubeconfig: string, options: Partial<NamedSecretsOptions> = {}) {
    const { log, entries } = recordingLog();
    this.logged = entries;
    this.#client = clientOf(kubeconfig);
    this.secrets = new NamedSecrets({
      client: this.#client,
      mode: "named",
      bounds: { count: 1000, bytes: 8 << 20 },
      namespaces: null,
      log,
      timing: { poll: 300, backoff: { first: 100, last: 300 }, patience: 2_000, watch: FAST },
      ...options,
    });
    this.secrets.store.subscribe(() => this.changes++);
    this.secrets.start();
  }

  async want(...names: string[]): Promise<void> {
    this.secrets.want(new Set(names));
    assert.equal(await this.secrets.settled(PATIENCE), true);
  }

  /** What is stored, by name, as the text of `tls.crt`. */
  get content(): Record<string, string> {
    return Object.fromEntries(
      this.secrets.store.list().map(({ metadata, data }) => [
        metadata.name,
        atob(data?.["tls.crt"] ?? ""),
      ]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.secrets.stop();
    this.#client.close();
  }
}

function secret(namespace: string, name: string, text: string, type = "Opaque") {
  const data = { "tls.crt": btoa(text), "tls.key": btoa(`key of ${text}`) };
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name }, type, data };
}

/** Lets everything through, and keeps what the API server said. */
function overhear(gateway: ApiGateway): { text: string } {
  const heard = { text: "" };
  gateway.inject({ resource: "secrets" }, async (_request, forward) => {
    const response = await forward();
    const [copy, passed] = response.body!.tee();
    copy.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({ write: (chunk) => void (heard.text += chunk) }),
    ).catch(() => {});
    return new Response(passed, response);
  });
  return heard;
}

/** An account with some verbs on Secrets, everywhere; the path of its kubeconfig. */
async function account(
  cluster: TestCluster,
  namespace: string,
  verbs: readonly string[],
  server = cluster.server,
): Promise<string> {
  await grant(cluster, namespace, verbs);
  const api = "rbac.authorization.k8s.io";
  await cluster.apply({
    apiVersion: `${api}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: namespace },
    roleRef: { apiGroup: api, kind: "ClusterRole", name: namespace },
    subjects: [{ kind: "ServiceAccount", name: "reader", namespace }],
  });
  return await cluster.serviceAccountKubeconfig(namespace, "reader", { server });
}

async function grant(cluster: TestCluster, name: string, verbs: readonly string[]) {
  await cluster.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs }],
  });
}

clusterTest("the data of referenced Secrets is read, and of no others", async (cluster) => {
  const [one, two] = [await cluster.newNamespace(), await cluster.newNamespace()];
  await cluster.apply([
    secret(one, "web", "wanted-one"),
    secret(one, "other", "unwanted-one"),
    secret(two, "web", "unwanted-two"),
  ]);
  await using gateway = await startGateway(cluster);
  const heard = overhear(gateway);
  await using scene = new SecretScene(await gateway.kubeconfigFor(cluster.adminToken));
  await scene.want(`${one}/web`, `${one}/missing`);
  assert.deepEqual(scene.content, { web: "wanted-one" });
  await cluster.apply([secret(one, "other", "unwanted-again"), secret(one, "web", "wanted-again")]);
  await eventually("a rotation", () => scene.content.web === "wanted-again");
  const gets = gateway.recorded({ verb: "get", resource: "secrets" });
  assert.deepEqual(gets.map(({ namespace, name }) => `${namespace}/${name}`), [
    `${one}/web`,
    `${one}/web`,
  ]);
  assert.ok(heard.text.includes(btoa("wanted-one")));
  for (const text of ["unwanted-one", "unwanted-two", "unwanted-again"]) {
    assert.ok(!heard.text.includes(btoa(text)), text);
  }
  assert.deepEqual(scene.logged, []);
});

clusterTest(
  "a deleted Secret is removed, and returns when it is recreated",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await cluster.apply(secret(namespace, "web", "first"));
    await using scene = new SecretScene(cluster.kubeconfig);
    await scene.want(`${namespace}/web`, `${namespace}/late`);
    await cluster.delete("v1", "Secret", "web", namespace);
    await eventually("it to go", () => scene.content.web === undefined);
    assert.equal(await scene.secrets.settled(PATIENCE), true);
    await cluster.apply([
      secret(namespace, "web", "second"),
      secret(namespace, "late", "late", "example.com/odd"),
    ]);
    await eventually("both", () => scene.content.web === "second" && scene.content.late === "late");
    assert.equal(scene.secrets.store.get(namespace, "late")?.type, "example.com/odd");
  },
);

clusterTest(
  "a change of metadata only is not a change, and raises the version",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await cluster.apply(secret(namespace, "web", "text"));
    await using scene = new SecretScene(cluster.kubeconfig);
    await scene.want(`${namespace}/web`);
    const { changes } = scene;
    const path = `/api/v1/namespaces/${namespace}/secrets/web`;
    const patch = { metadata: { labels: { a: "b" } } };
    const { body } = await cluster.request("PATCH", path, patch, "application/merge-patch+json");
    const version = BigInt(body.metadata!.resourceVersion!);
    await eventually("the version", () => BigInt(scene.secrets.seen) >= version);
    assert.ok(BigInt(scene.secrets.revision) >= version);
    assert.equal(scene.changes, changes);
  },
);

clusterTest("Secrets that are no longer referenced are dropped", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.apply([secret(namespace, "a", "a"), secret(namespace, "b", "b")]);
  await using scene = new SecretScene(cluster.kubeconfig);
  await scene.want(`${namespace}/a`, `${namespace}/b`);
  assert.deepEqual(scene.content, { a: "a", b: "b" });
  await scene.want(`${namespace}/b`);
  assert.deepEqual(scene.content, { b: "b" });
  await scene.want();
  assert.deepEqual(scene.content, {});
});

clusterTest("300 Secrets are read a few at a time", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const names = Array.from({ length: 300 }, (_, i) => `s${i}`);
  await Promise.all(names.map((name) => cluster.create(secret(namespace, name, name))));
  await using gateway = await startGateway(cluster);
  let [now, most] = [0, 0];
  gateway.inject({ verb: "get", resource: "secrets" }, async (_request, forward) => {
    most = Math.max(most, ++now);
    const response = await forward();
    now--;
    return response;
  });
  await using scene = new SecretScene(await gateway.kubeconfigFor(cluster.adminToken));
  await scene.want(...names.map((name) => `${namespace}/${name}`));
  assert.equal(scene.secrets.store.size, 300);
  assert.ok(most <= 8, String(most));
});

clusterTest("a failed read leaves the last copy, and is retried", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.apply(secret(namespace, "web", "first"));
  await using gateway = await startGateway(cluster);
  await using scene = new SecretScene(await gateway.kubeconfigFor(cluster.adminToken));
  await scene.want(`${namespace}/web`);
  const gets = { verb: "get", resource: "secrets" } as const;
  const failing = gateway.inject(gets, failure(500));
  const { seen } = scene.secrets;
  const [changed] = await cluster.apply(secret(namespace, "web", "second"));
  await eventually("some tries", () => failing.hits >= 3);
  assert.deepEqual(scene.content, { web: "first" });
  assert.equal(await scene.secrets.settled(0), false);
  assert.ok(BigInt(scene.secrets.seen) < BigInt(changed.metadata.resourceVersion!));
  assert.ok(BigInt(scene.secrets.seen) >= BigInt(seen));
  failing.remove();
  await eventually("a success", () => scene.content.web === "second");
  const messages = scene.logged.map(({ level, message }) => [level, message]);
  assert.deepEqual(messages, [
    ["warn", "Cannot read a Secret"],
    ["info", "Reading all referenced Secrets again"],
  ]);
  assert.ok(!JSON.stringify(scene.logged).includes(btoa("first")));
});

clusterTest(
  "with only the permission to get, referenced Secrets are read one by one",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await cluster.apply(secret(namespace, "web", "first"));
    await using gateway = await startGateway(cluster);
    const kubeconfig = await account(cluster, namespace, ["get"], gateway.server);
    await using scene = new SecretScene(kubeconfig);
    await eventually("the fall-back", () => scene.secrets.isSynced);
    assert.equal(scene.secrets.isPolling, true);
    await scene.want(`${namespace}/web`, `${namespace}/late`);
    assert.deepEqual(scene.content, { web: "first" });
    await cluster.apply([secret(namespace, "web", "second"), secret(namespace, "late", "late")]);
    await eventually("both", () => scene.content.web === "second" && scene.content.late === "late");
    await cluster.delete("v1", "Secret", "late", namespace);
    assert.deepEqual(await scene.secrets.relist(), { ok: true });
    assert.deepEqual(scene.content, { web: "second" });
    const told = scene.logged.filter(({ message }) => message.startsWith("Cannot watch Secrets"));
    assert.equal(told.length, 1);
    const names = gateway.recorded({ verb: "get", resource: "secrets" }).map(({ name }) => name);
    assert.deepEqual([...new Set(names)].sort(), ["late", "web"]);
    // An outage says nothing of rights.
    const broken = gateway.inject({ verb: "list", resource: "secrets" }, failure(500));
    await eventually("failures", () => broken.hits >= 2);
    assert.equal(scene.secrets.isPolling && scene.secrets.isSynced, true);
    broken.remove();
    // With the rights of the manifests it watches again, and asks no more.
    await grant(cluster, namespace, ["get", "list", "watch"]);
    await eventually("watching", () => !scene.secrets.isPolling && scene.secrets.isSynced);
    await cluster.apply(secret(namespace, "web", "third"));
    await eventually("a rotation", () => scene.content.web === "third");
  },
);

clusterTest("revoked permissions on Secrets leave the data already read", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.apply(secret(namespace, "web", "first"));
  const kubeconfig = await account(cluster, namespace, ["get", "list", "watch"]);
  await using scene = new SecretScene(kubeconfig);
  await scene.want(`${namespace}/web`);
  await cluster.delete("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", namespace);
  await eventually(
    "a complaint",
    () => scene.logged.find(({ message }) => message === "Cannot read a Secret"),
  );
  assert.deepEqual(scene.content, { web: "first" });
  assert.equal((await scene.secrets.relist()).ok, false);
  await account(cluster, namespace, ["get", "list", "watch"]);
  await cluster.apply(secret(namespace, "web", "second"));
  await eventually("a rotation", () => scene.content.web === "second");
});

clusterTest(
  "Secrets of type kubernetes.io/tls are listed at once, others are read one by one",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    const type = "kubernetes.io/tls";
    await cluster.apply([
      secret(namespace, "web", "first", type),
      secret(namespace, "unnamed", "unnamed", type),
      secret(namespace, "authority", "authority"),
    ]);
    await using gateway = await startGateway(cluster);
    const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
    await using scene = new SecretScene(kubeconfig, { mode: "tls" });
    await scene.want(`${namespace}/web`, `${namespace}/authority`, `${namespace}/missing`);
    assert.deepEqual(scene.content, { web: "first", authority: "authority" });
    const gets = gateway.recorded({ verb: "get", resource: "secrets" }).map(({ name }) => name);
    assert.ok(!gets.includes("web") && !gets.includes("unnamed"), gets.join());
    await cluster.apply([
      secret(namespace, "web", "second", type),
      secret(namespace, "authority", "changed"),
    ]);
    await eventually(
      "changes",
      () => scene.content.web === "second" && scene.content.authority === "changed",
    );
    await cluster.delete("v1", "Secret", "web", namespace);
    await eventually("it to go", () => scene.content.web === undefined);
    await cluster.create(secret(namespace, "web", "opaque"));
    await eventually("it to be of another type", () => scene.content.web === "opaque");
  },
);

clusterTest("Secrets of watched namespaces are followed there", async (cluster) => {
  const [one, two] = [await cluster.newNamespace(), await cluster.newNamespace()];
  await cluster.apply([secret(one, "a", "a"), secret(two, "b", "b")]);
  await using scene = new SecretScene(cluster.kubeconfig, { namespaces: [one, two] });
  await scene.want(`${one}/a`, `${two}/b`);
  assert.deepEqual(scene.content, { a: "a", b: "b" });
  await cluster.apply(secret(two, "b", "changed"));
  await eventually("a rotation", () => scene.content.b === "changed");
});
