/** Kinds of Gateway API that come and go with their CRDs while the controller runs. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { DEFAULT_OBJECT_BOUNDS } from "../../controller/kube/object_bounds.ts";
import { GATEWAY_API } from "../../controller/kube/types.ts";
import { GatewayBundle } from "../../controller/watch/gateway_bundle.ts";
import { GatewayDiscovery } from "../../controller/watch/gateway_discovery.ts";
import { Watches } from "../../controller/watch/watches.ts";
import { type ApiGateway, startGateway } from "./support/api_gateway.ts";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import {
  applyOfCrd,
  type Crd,
  gatewayCrd,
  installCrd,
  installGatewayCrds,
  removeCrd,
} from "./support/gateway_crds.ts";
import { failure } from "./support/gateway_answers.ts";
import { countOf } from "./support/installation.ts";
import { manifest } from "./support/kubectl.ts";
import { NAMESPACE } from "./support/predecessor.ts";
import { HOST_PORT_ARGS, RbacScene } from "./support/rbac_scene.ts";
import { clientOf, FAST, type LogEntry, recordingLog } from "./support/informer_scene.ts";

/** Milliseconds; in earnest, ten seconds. */
const INTERVAL = 300;

/** Milliseconds, for a list that was denied: it is tried again ever more rarely. */
const PATIENCE = 120_000;

const V1 = `${GATEWAY_API}/v1`;
const DISCOVERY = { path: /^\/apis\/gateway\.networking\.k8s\.io$/ };

/** Watches of a whole cluster with Gateway API, started. */
class Scene implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly gateway: ApiGateway;
  readonly watches: Watches;
  readonly api: GatewayDiscovery;
  readonly bundle: GatewayBundle;
  readonly logged: LogEntry[];
  readonly #client: ReturnType<typeof clientOf>;

  private constructor(cluster: TestCluster, gateway: ApiGateway, kubeconfig: string) {
    const { log, entries } = recordingLog();
    this.cluster = cluster;
    this.gateway = gateway;
    this.logged = entries;
    const client = this.#client = clientOf(kubeconfig);
    this.watches = new Watches({
      client,
      log,
      watchNamespaces: null,
      namespace: "default",
      secrets: { mode: "named", bounds: { count: 1000, bytes: 8 << 20 } },
      nodeAddresses: true,
      configMap: null,
      gateway: true,
      objectBounds: DEFAULT_OBJECT_BOUNDS,
      timing: FAST,
    });
    const bundle = this.bundle = new GatewayBundle({ client, onChange: () => {} });
    this.api = new GatewayDiscovery({
      ...{ client, watches: this.watches, log, bundle },
      interval: INTERVAL,
    });
  }

  static async create(cluster: TestCluster): Promise<Scene> {
    const gateway = await startGateway(cluster);
    const scene = new Scene(cluster, gateway, await gateway.kubeconfigFor(cluster.adminToken));
    scene.watches.start();
    scene.api.start();
    await eventually("all other kinds", () => scene.watches.areKnown);
    return scene;
  }

  get watched(): Record<string, string> {
    return Object.fromEntries(this.api.watched);
  }

  /** Requests for what Gateway API has. */
  get discoveries(): number {
    return this.gateway.recorded(DISCOVERY).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api.stop();
    await this.watches.stop();
    this.#client.close();
    await this.gateway.close();
  }
}

const CLASSES = gatewayCrd("GatewayClass", ["v1"]);
const GATEWAYS = gatewayCrd("Gateway", ["v1"]);
const ROUTES = gatewayCrd("HTTPRoute", ["v1"]);

const CRD_READS = { verb: "get", resource: "customresourcedefinitions" } as const;

function routeNamed(name: string): Partial<KubeObject> {
  return { apiVersion: V1, kind: "HTTPRoute", metadata: { name, namespace: "default" } };
}

function names(objects: readonly { readonly metadata?: { readonly name?: string } }[] | null = []) {
  return objects?.map(({ metadata }) => metadata?.name).sort() ?? null;
}

clusterTest(
  "without the CRDs nothing waits for Gateway API, and its objects are not requested",
  async (cluster) => {
    await using scene = await Scene.create(cluster);
    await eventually("two discoveries", () => scene.discoveries >= 2);
    deepEqual(scene.watched, {});
    deepEqual(scene.watches.unlisted, []);
    equal(scene.watches.resources().gateways, null);
    deepEqual(scene.gateway.recorded({ resource: "gateways" }), []);
    // Nor ours for Gateways.
    for (const name of ["gatewayServices", "gatewaySlices"] as const) {
      equal(scene.watches.informer(name).isRunning, false);
    }
    deepEqual(scene.logged.filter(({ level }) => level !== "debug"), []);
  },
);

clusterTest(
  "kinds are watched when their CRDs come, each by itself, and no longer when they have gone",
  async (cluster) => {
    await using scene = await Scene.create(cluster);
    const { watches } = scene;
    let changes = 0;
    watches.onChange(() => changes++);
    await installCrd(cluster, CLASSES);
    await installCrd(cluster, GATEWAYS);
    await eventually("classes and Gateways", () => watches.resources().gateways != null);
    await eventually("classes", () => watches.resources().gatewayClasses != null);
    deepEqual(scene.watched, { gatewayClasses: "v1", gateways: "v1" });
    equal(watches.resources().httpRoutes, null);
    await installCrd(cluster, ROUTES);
    await applyOfCrd(cluster, routeNamed("web"));
    await eventually("the route", () => names(watches.resources().httpRoutes)?.join() === "web");
    deepEqual(watches.unlisted, []);
    ok(changes > 0);
    const urgent: boolean[] = [];
    watches.onChange((isUrgent) => urgent.push(isUrgent));
    await applyOfCrd(cluster, routeNamed("late"));
    await eventually("a new route is urgent", () => urgent.includes(true));
    await removeCrd(cluster, ROUTES);
    await eventually("the end of routes", () => watches.resources().httpRoutes === null);
    deepEqual(scene.watched, { gatewayClasses: "v1", gateways: "v1" });
    await installCrd(cluster, ROUTES);
    await applyOfCrd(cluster, routeNamed("again"));
    await eventually(
      "the new route",
      () => names(watches.resources().httpRoutes)?.join() === "again",
    );
    for (const crd of [CLASSES, GATEWAYS, ROUTES]) await removeCrd(cluster, crd);
    await eventually("the end of all", () => scene.api.watched.size === 0);
    equal(watches.resources().gateways, null);
    deepEqual(watches.unlisted, []);
  },
);

clusterTest(
  "while a list of Gateways is denied nothing is watched, which is logged once",
  async (cluster) => {
    await using scene = await Scene.create(cluster);
    const { watches } = scene;
    const denied = scene.gateway.inject(
      { verb: "list", resource: "gateways" },
      failure(403, "Forbidden"),
    );
    for (const crd of [GATEWAYS, ROUTES]) await installCrd(cluster, crd);
    const served = { gateways: "v1", httpRoutes: "v1" };
    await eventually("two lists", () => denied.hits >= 2);
    deepEqual(scene.watched, {});
    deepEqual(watches.unlisted, []);
    deepEqual(scene.gateway.recorded({ resource: "httproutes" }), []);
    const logged = scene.logged.filter(({ level }) => level !== "debug")
      .map(({ level, message }) => [level, message]);
    deepEqual(logged, [["info", "Gateway API is not served"]]);
    denied.remove();
    await eventually("both kinds", () => scene.api.watched.size === 2);
    deepEqual(scene.watched, served);
    await eventually("Gateways", () => watches.resources().gateways !== null);
    await eventually("our Services", () => watches.informer("gatewayServices").isSynced);
    for (const crd of [GATEWAYS, ROUTES]) await removeCrd(cluster, crd);
  },
);

clusterTest("objects are kept while discovery fails", async (cluster) => {
  await using scene = await Scene.create(cluster);
  const { watches } = scene;
  await installCrd(cluster, ROUTES);
  await applyOfCrd(cluster, routeNamed("web"));
  await eventually("the route", () => names(watches.resources().httpRoutes)?.join() === "web");
  for (
    const [answer, message] of [
      [failure(503), "Cannot discover the kinds of Gateway API"],
      [failure(403, "Forbidden"), "Cannot discover the kinds of Gateway API"],
    ] as const
  ) {
    scene.logged.length = 0;
    const broken = scene.gateway.inject(DISCOVERY, answer);
    await eventually("three answers", () => broken.hits >= 3);
    deepEqual(scene.watched, { httpRoutes: "v1" });
    deepEqual(names(watches.resources().httpRoutes), ["web"]);
    // Once, however often it is tried.
    equal(scene.logged.filter((entry) => entry.message === message).length, 1);
    broken.remove();
    await eventually(
      "discovery again",
      () => scene.logged.some(({ message }) => message === "Discovered Gateway API again"),
    );
  }
  // A single answer without the kind, as while a CRD is replaced.
  const missing = scene.gateway.inject(DISCOVERY, failure(404, "NotFound"), 1);
  const before = scene.discoveries;
  await eventually("two more answers", () => missing.hits === 1 && scene.discoveries > before + 2);
  deepEqual(scene.watched, { httpRoutes: "v1" });
  deepEqual(names(watches.resources().httpRoutes), ["web"]);
  await removeCrd(cluster, ROUTES);
});

clusterTest(
  "a ReferenceGrant of v1beta1 is watched, and kept while the API changes to v1",
  async (cluster) => {
    await using scene = await Scene.create(cluster);
    const { watches } = scene;
    await installCrd(cluster, gatewayCrd("ReferenceGrant", ["v1beta1"]));
    await applyOfCrd(cluster, {
      apiVersion: `${GATEWAY_API}/v1beta1`,
      kind: "ReferenceGrant",
      metadata: { name: "grant", namespace: "default" },
    });
    const grants = () => names(watches.resources().referenceGrants);
    await eventually("the grant", () => grants()?.join() === "grant");
    deepEqual(scene.watched, { referenceGrants: "v1beta1" });
    // A newer version beside it changes nothing.
    await installCrd(cluster, gatewayCrd("ReferenceGrant", ["v1beta1", "v1"]));
    const before = scene.discoveries;
    await eventually("two more discoveries", () => scene.discoveries > before + 2);
    deepEqual(scene.watched, { referenceGrants: "v1beta1" });
    const seen = new Set<string>();
    watches.onChange(() => seen.add(String(grants())));
    const kind = watches.versioned((name) => scene.api.isServed(name))
      .find((each) => each.kind === "ReferenceGrant")!;
    const [version, revision] = [kind.seen, kind.revision];
    await installCrd(cluster, gatewayCrd("ReferenceGrant", ["v1beta1", "v1"], ["v1"]));
    await eventually("the newer version", () => {
      // Configurations made meanwhile are not older than those before.
      ok(BigInt(kind.seen) >= BigInt(version) && BigInt(kind.revision) >= BigInt(revision));
      return scene.watched.referenceGrants === "v1";
    });
    await applyOfCrd(cluster, {
      apiVersion: V1,
      kind: "ReferenceGrant",
      metadata: { name: "newer", namespace: "default" },
    });
    await eventually("a new grant", () => grants()?.join() === "grant,newer");
    // At no moment without the first.
    for (const each of seen) ok(each.startsWith("grant"), each);
    await removeCrd(cluster, gatewayCrd("ReferenceGrant", ["v1"]));
  },
);

clusterTest("a kind counts as known when it is listed, or when there is none", async (cluster) => {
  await using scene = await Scene.create(cluster);
  const kinds = scene.watches.versioned((name) => scene.api.isServed(name));
  const routes = kinds.find(({ kind }) => kind === "HTTPRoute")!;
  deepEqual(await routes.relist(), { ok: true });
  deepEqual([routes.isSynced, routes.seen], [true, "0"]);
  await installCrd(cluster, ROUTES);
  await applyOfCrd(cluster, routeNamed("web"));
  deepEqual(await routes.relist(), { ok: true });
  deepEqual(names(scene.watches.resources().httpRoutes), ["web"]);
  ok(BigInt(routes.seen) > 0n);
  const lists = { verb: "list", resource: "httproutes" } as const;
  for (
    const [answer, result] of [
      [failure(500), false],
      // It may not be read, so that is all that can be known.
      [failure(403, "Forbidden"), true],
      // The kind is there, and cannot be listed all the same.
      [failure(404, "NotFound"), false],
    ] as const
  ) {
    const broken = scene.gateway.inject(lists, answer);
    equal((await routes.relist()).ok, result);
    broken.remove();
  }
  const broken = scene.gateway.inject(DISCOVERY, failure(503));
  const gone = scene.gateway.inject(lists, failure(404, "NotFound"));
  equal((await routes.relist()).ok, false);
  broken.remove();
  gone.remove();
  await removeCrd(cluster, ROUTES);
  await eventually("no kind", async () => (await routes.relist()).ok);
  // Nothing is translated without Ingresses, so a refusal is no answer.
  const ingresses = kinds.find(({ kind }) => kind === "Ingress")!;
  const denied = scene.gateway.inject(
    { verb: "list", resource: "ingresses" },
    failure(403, "Forbidden"),
  );
  equal((await ingresses.relist()).ok, false);
  denied.remove();
});

clusterTest("CRDs are known by their bundle, if they may be read", async (cluster) => {
  await using scene = await Scene.create(cluster);
  const { bundle, gateway } = scene;
  const crds = () =>
    bundle.crds?.map(({ name, bundleVersion, isTerminating }) =>
      `${name.split(".")[0]} ${bundleVersion}${isTerminating ? ", terminating" : ""}`
    ).join("; ") ?? null;
  const becomes = (wanted: string | null) => eventually(`CRDs ${wanted}`, () => crds() === wanted);
  const patch = async (crd: Crd, metadata: object) =>
    await cluster.request(
      "PATCH",
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`,
      { metadata },
      "application/merge-patch+json",
    );
  const annotate = (crd: Crd, version: string | null) =>
    patch(crd, { annotations: { "gateway.networking.k8s.io/bundle-version": version } });
  await becomes("");
  const denied = gateway.inject(CRD_READS, failure(403, "Forbidden"));
  await installCrd(cluster, GATEWAYS);
  await becomes(null);
  // Nothing that is served depends on it. The first list of Gateways may come later than that answer.
  await eventually("Gateways", () => scene.watches.resources().gateways !== null);
  denied.remove();
  await becomes("gateways v1.6.3");
  // What cannot be read now is what it was.
  const broken = gateway.inject(CRD_READS, failure(500));
  await installCrd(cluster, ROUTES);
  await eventually("readings that fail", () => broken.hits >= 2);
  equal(crds(), "gateways v1.6.3");
  broken.remove();
  await becomes("gateways v1.6.3; httproutes v1.6.3");
  await annotate(ROUTES, "v1.7.0");
  await becomes("gateways v1.6.3; httproutes v1.7.0");
  await annotate(ROUTES, null);
  await becomes("gateways v1.6.3; httproutes null");
  await patch(ROUTES, { finalizers: ["example.com/keep"] });
  const { kind, metadata: { name } } = ROUTES;
  await cluster.delete("apiextensions.k8s.io/v1", kind, name);
  await becomes("gateways v1.6.3; httproutes null, terminating");
  await patch(ROUTES, { finalizers: null });
  await becomes("gateways v1.6.3");
  await removeCrd(cluster, GATEWAYS);
  await becomes("");
});

clusterTest("kinds with unknown versions only are not watched", async (cluster) => {
  await using scene = await Scene.create(cluster);
  const crd = gatewayCrd("BackendTLSPolicy", ["v1alpha1"]);
  await installCrd(cluster, crd);
  const before = scene.discoveries;
  await eventually("two more discoveries", () => scene.discoveries > before + 2);
  deepEqual(scene.watched, {});
  await removeCrd(cluster, crd);
});

Deno.test("objects of Gateway API are watched with the ClusterRole of overlays/gateway alone", async (t) => {
  const scene = await RbacScene.create("Gateway API");
  if (scene === null) return;
  await using _ = scene;
  const { cluster, way } = scene;
  await installGatewayCrds(cluster);
  {
    await using controller = await way.start(...HOST_PORT_ARGS);
    await t.step("without it, all else is served", async () => {
      await eventually("a refusal", () => way.refused().includes("list gateways /"), PATIENCE);
      // The right to read CRDs is optional.
      const refused = way.refused().filter((call) => !call.includes("customresourcedefinitions"));
      deepEqual([...new Set(refused)], ["list gateways /"]);
      await eventually(
        "what is published",
        async () =>
          (await cluster.list("v1", "ConfigMap", { namespace: NAMESPACE }))
            .some(({ metadata: { name } }) => name.startsWith("pingress-config")),
        PATIENCE,
      );
      const { status, text } = await controller.admin("/readyz");
      equal(status, 200, text);
      const { level, reason } = await controller.line("Gateway API is not served");
      deepEqual([level, reason], ["info", "the controller may not list gateways"]);
      const bad = controller.lines.filter(({ level }) => level === "warn" || level === "error");
      deepEqual(bad, []);
      equal(await countOf(controller, 403), 0);
    });
    await t.step("with it, they are watched", async () => {
      const role = await manifest<KubeObject>("../overlays/gateway/cluster-role.yaml");
      await cluster.apply(role, { fieldManager: "installation" });
      await eventually(
        "watch",
        () =>
          way.gateway.recorded({ verb: ["watch"], resource: "gateways" })
            .some(({ isOpen }) => isOpen),
        PATIENCE,
      );
      const told = controller.lines.filter(({ message }) =>
        message === "Gateway API is not served"
      );
      equal(told.length, 1);
    });
  }
});
