/**
 * Many Ingresses in many namespaces: all are served and told so, at a pace that the API server can
 * bear, and nothing is written that is there. `PINGRESS_FULL=1` takes 10,000 and a quarter of an hour.
 */
import assert from "node:assert/strict";
import { populate } from "../../bench/controller/population.ts";
import type { LiveConfigMap, LiveSecret } from "../../controller/outputs/publish/objects.ts";
import { readPublishedSet } from "../../controller/outputs/publish/published.ts";
import { STATUS_PACE } from "../../controller/outputs/status/writer.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { type ClusterSize, LARGE } from "../support/large_cluster.ts";
import type { KubeObject } from "./support/api_client.ts";
import { startGateway } from "./support/api_gateway.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually, PATIENCE } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import type { LiveIngress } from "./support/writing_scene.ts";

const IS_FULL = Deno.env.get("PINGRESS_FULL") === "1";

const SIZE: ClusterSize = IS_FULL
  ? LARGE
  : { ingresses: 300, namespaces: 30, services: 60, endpoints: 600, certificates: 30 };

/** Milliseconds for all statuses, or all Events, at the pace at which they are written. */
const ALL_WRITTEN = PATIENCE + 2 * SIZE.ingresses / STATUS_PACE.rate * 1000;

const ADDRESS = "203.0.113.1";

interface Parts {
  readonly snapshot: Snapshot;
  readonly configMaps: number;
  readonly secrets: number;
}

/** What is published, once it is whole and `holds` says yes. */
async function eventuallyPublished(
  cluster: TestCluster,
  namespace: string,
  what: string,
  holds: (snapshot: Snapshot) => boolean,
): Promise<Parts> {
  return await eventually(what, async () => {
    const configMaps = await cluster.list<KubeObject & LiveConfigMap>("v1", "ConfigMap", {
      namespace,
    });
    const secrets = await cluster.list<KubeObject & LiveSecret>("v1", "Secret", { namespace });
    const { snapshot, digest } = readPublishedSet(configMaps, secrets);
    if (digest === null || snapshot === null || !holds(snapshot)) return null;
    return { snapshot, configMaps: configMaps.length, secrets: secrets.length };
  }, 4 * PATIENCE);
}

/** Which version of everything there is that a controller writes. */
async function versions(cluster: TestCluster, namespace: string): Promise<string[]> {
  const all = await Promise.all([
    cluster.list("networking.k8s.io/v1", "Ingress"),
    cluster.list("v1", "Event"),
    cluster.list("v1", "ConfigMap", { namespace }),
    cluster.list("v1", "Secret", { namespace }),
    cluster.list("apps/v1", "DaemonSet", { namespace }),
  ]);
  return all.flat().map(({ kind, metadata }) =>
    `${kind} ${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`
  ).sort();
}

/** Waits until every output had its turn and none has anything left to write. */
async function settled(controller: ControllerProcess): Promise<void> {
  await controller.line("Leading");
  await eventually("end of all writing", async () => {
    const { text } = await controller.admin("/metrics");
    const lines = text.split("\n");
    const waiting = lines.filter((line) =>
      /^pingress_controller_(changes_waiting_seconds|writes_waiting)/.test(line)
    );
    const isRun = (job: string) =>
      lines.some((line) =>
        line.startsWith(`pingress_controller_job_runs_total{job="${job}"`) && !line.endsWith(" 0")
      );
    return waiting.length === 5 && waiting.every((line) => line.endsWith(" 0")) &&
      ["publish", "workload", "cleanup"].every(isRun);
  }, ALL_WRITTEN);
}

clusterTest(
  `${SIZE.ingresses} Ingresses are published and get their status, at a limited rate, and once`,
  async (cluster) => {
    const namespace = await cluster.newNamespace("system");
    const { resources } = await populate(cluster, SIZE);
    await using gateway = await startGateway(cluster);
    const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
    const args = [
      "--backend=HostPort",
      `--namespace=${namespace}`,
      `--publish-address=${ADDRESS}`,
    ];
    const statusWrites = (from = 0) =>
      gateway.recorded({ resource: "ingresses", subresource: "status", verb: "patch" }, from);
    let before: string[];
    {
      await using controller = await ControllerProcess.spawn({ kubeconfig, args });
      await controller.ready(4 * PATIENCE);
      const { snapshot, configMaps, secrets } = await eventuallyPublished(
        cluster,
        namespace,
        "all routes",
        ({ routes }) => routes.length === SIZE.ingresses,
      );
      assert.equal(snapshot.certificates.length, SIZE.certificates);
      const hosts = new Set(snapshot.certificates.flatMap((certificate) => certificate.hosts));
      assert.equal(hosts.size, SIZE.ingresses);
      assert.ok(snapshot.routes.every(({ action }) => action.kind === "forward"));
      if (IS_FULL) assert.ok(configMaps > 1, `${configMaps}`);

      await eventually("an address in every Ingress", async () => {
        const ingresses = await cluster.list<LiveIngress>("networking.k8s.io/v1", "Ingress");
        return ingresses.every(({ status }) => status?.loadBalancer?.ingress?.[0].ip === ADDRESS);
      }, ALL_WRITTEN);
      const writes = await eventually("answer to every write", () => {
        const writes = statusWrites();
        return writes.every(({ status }) => status !== null) ? writes : null;
      });
      assert.deepEqual(new Set(writes.map(({ status }) => status)), new Set([200]));
      assert.equal(writes.length, SIZE.ingresses, "one for each");
      const seconds = (writes.at(-1)!.time - writes[0].time) / 1000;
      const allowed = STATUS_PACE.burst + STATUS_PACE.rate * seconds;
      // The gateway's clock may have been late for the first, on a machine that is busy.
      assert.ok(writes.length <= 1.2 * allowed, `${writes.length} in ${seconds} s`);
      await settled(controller);

      const from = gateway.requests.length;
      const changed = resources.ingresses[7];
      const [rule] = changed.spec!.rules!;
      await cluster.apply(
        {
          apiVersion: "networking.k8s.io/v1",
          kind: "Ingress",
          metadata: { name: changed.metadata!.name!, namespace: changed.metadata!.namespace },
          spec: {
            ...changed.spec,
            rules: [{ ...rule, http: { paths: [{ ...rule.http!.paths![0], path: "/changed" }] } }],
          },
        } as unknown as KubeObject,
      );
      const after = await eventuallyPublished(
        cluster,
        namespace,
        "the changed route",
        ({ routes }) => routes.some(({ id }) => id === `${rule.host} Prefix /changed`),
      );
      const isOther = ({ host }: { readonly host: string }) => host !== rule.host;
      assert.deepEqual(
        JSON.stringify(after.snapshot.routes.filter(isOther)),
        JSON.stringify(snapshot.routes.filter(isOther)),
      );
      await settled(controller);
      assert.deepEqual(statusWrites(from), []);
      assert.deepEqual(
        gateway.recorded({ verb: ["create", "update", "delete"], namespace }, from)
          .filter(({ resource }) => resource !== "leases").map(({ path }) => path),
        [],
      );
      const memory = await controller.memory();
      console.log(
        `${SIZE.ingresses} Ingresses: ${configMaps} ConfigMaps, ${secrets} Secrets, ` +
          `${(writes.length / seconds).toFixed(1)} statuses a second, ` +
          `${Math.round(memory / 2 ** 20)} MiB resident`,
      );
      before = await versions(cluster, namespace);
      assert.equal(await controller.stop(), 0);
    }

    const from = gateway.requests.length;
    await using controller = await ControllerProcess.spawn({ kubeconfig, args });
    await controller.ready(4 * PATIENCE);
    await settled(controller);
    const writes = gateway.recorded({ verb: ["create", "update", "patch", "delete"] }, from);
    // An Event is tried for and found there, and the workload is asked for by an apply; that changes
    // nothing, as their versions show.
    assert.deepEqual(
      writes.filter(({ resource }) => !["leases", "events", "daemonsets"].includes(resource))
        .map(({ method, path }) => `${method} ${path}`),
      [],
    );
    assert.deepEqual(await versions(cluster, namespace), before);
  },
);
