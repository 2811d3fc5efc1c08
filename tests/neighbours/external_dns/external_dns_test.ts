/**
 * The real external-dns beside a real controller: the records that it plans have the addresses that
 * Pingress publishes in the status of Ingresses and Gateways, and exist for what is served alone.
 */
import assert from "node:assert/strict";
import type { KubeObject } from "../../cluster/support/api_client.ts";
import type { TestCluster } from "../../cluster/support/cluster.ts";
import { clusterTest } from "../../cluster/support/cluster_case.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { ControllerScene, rule } from "../../cluster/support/controller_scene.ts";
import { FAST_ELECTION } from "../../cluster/support/elections.ts";
import { installGatewayCrds } from "../../cluster/support/gateway_crds.ts";
import { gatewayClass, gatewayOf, routeOf } from "../../cluster/support/gateway_objects.ts";
import { readyProxy, replicasKubeconfig } from "../../cluster/support/gateway_proxies.ts";
import { type LiveStatus, shown, V1 } from "../../cluster/support/gateway_status_scene.ts";
import { connectProxy, streamTrust } from "../../cluster/support/stream_scene.ts";
import { findPrograms } from "../../peers/go_program.ts";
import { EXTERNAL_DNS, plannedRecords } from "./external_dns.ts";

const ZONE = "example.com";
/** Of the node with the proxy. */
const ADDRESSES = [["A", "192.0.2.7"], ["AAAA", "2001:db8::7"]] as const;

/** A status of a Gateway may wait for a second look at the proxies: in ms. */
const PATIENCE = 60_000;

type Live = KubeObject & { readonly status?: LiveStatus };

interface LiveIngress extends KubeObject {
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly unknown[] } };
}

/** A test with a run of external-dns for the kinds of sources that it is given. */
function recordsTest(
  name: string,
  run: (
    cluster: TestCluster,
    recordsOf: (...sources: readonly string[]) => Promise<string[]>,
  ) => Promise<void>,
): void {
  clusterTest(name, async (cluster) => {
    const found = await findPrograms(name, [EXTERNAL_DNS]);
    if (found === null) return;
    const [program] = found;
    const { kubeconfig } = cluster;
    await run(
      cluster,
      (...sources) => plannedRecords({ program, kubeconfig, sources, zone: ZONE }),
    );
  });
}

const addressed = (host: string) => ADDRESSES.map(([type, value]) => `${host} ${type} ${value}`);

async function hasAddress(cluster: TestCluster, name: string, namespace: string): Promise<void> {
  await eventually(`address of ${name}`, async () => {
    const live = await cluster.get<LiveIngress>(
      "networking.k8s.io/v1",
      "Ingress",
      name,
      namespace,
    );
    return (live?.status?.loadBalancer?.ingress ?? []).length > 0;
  }, PATIENCE);
}

recordsTest(
  "records of external-dns have the nodes' addresses, for Ingresses and HTTPRoutes that are served",
  async (cluster, recordsOf) => {
    await installGatewayCrds(cluster);
    const other = await cluster.newNamespace("other");
    await using scene = await ControllerScene.prepare(cluster, {
      args: [...FAST_ELECTION, `--watch-namespace=${other}`],
      kubeconfig: await replicasKubeconfig(cluster),
    });
    const { app, system } = scene;
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "node" } });
    const addresses = ADDRESSES.map(([, address]) => ({ type: "InternalIP", address }));
    await cluster.request(
      "PATCH",
      `${await cluster.pathOf("v1", "Node", "node")}/status`,
      { status: { addresses } },
      "application/merge-patch+json",
    );
    await using controller = await scene.startController();
    await streamTrust(cluster, system);
    const token = await readyProxy(scene, "proxy-a", "10.0.0.1");
    await using _proxy = await connectProxy(scene, { token }, controller);

    await scene.service("web");
    await scene.service("empty", []);
    // Its certificate is issued once its records are there.
    await scene.ingress("app", { tls: [{ hosts: ["app.example.com"], secretName: "later" }] });
    await scene.ingress("closed", { rules: [rule("closed.example.com", "/", "empty")] });
    await scene.ingress("foreign", { ingressClassName: "nginx" });
    await cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "theirs" },
      spec: {
        ingressClassName: "pingress",
        rules: [rule("theirs.example.com", "/", "web")],
      },
    } as Partial<KubeObject>, { namespace: other });
    await scene.eventuallyRouted("theirs.example.com Prefix /");
    await cluster.apply(gatewayClass());
    await cluster.apply(gatewayOf(), { namespace: app });
    const route = (name: string, hostname: string) =>
      cluster.apply(routeOf(name, hostname), { namespace: app });
    await route("served", "served.example.com");
    await route("refused", "theirs.example.com");
    const accepted = (name: string, wanted: string) =>
      eventually(`${name}: ${wanted}`, async () => {
        const live = await cluster.get<Live>(V1, "HTTPRoute", name, app);
        return shown(live?.status?.parents?.[0]?.conditions, "Accepted") === wanted;
      }, PATIENCE);
    await accepted("served", "True/Accepted@1");
    await accepted("refused", "False/HostnameNotOwned@1");
    await eventually("addresses of the Gateway", async () => {
      const live = await cluster.get<Live>(V1, "Gateway", "web", app);
      return live?.status?.addresses?.length === ADDRESSES.length;
    }, PATIENCE);
    await hasAddress(cluster, "app", app);

    assert.deepEqual(await recordsOf("ingress"), addressed("app.example.com"));
    assert.deepEqual(await recordsOf("gateway-httproute"), addressed("served.example.com"));
  },
);

recordsTest(
  "a host name in --publish-address becomes a CNAME record",
  async (cluster, recordsOf) => {
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--publish-address=lb.example.net"],
    });
    await scene.service("web");
    await scene.ingress("named");
    await using _controller = await scene.startController();
    await hasAddress(cluster, "named", scene.app);
    const records = await recordsOf("ingress");
    assert.deepEqual(records.filter((record) => record.startsWith("named.")), [
      "named.example.com CNAME lb.example.net",
    ]);
  },
);
