/** An informer that is started and stopped while its kind comes and goes. */
import { deepEqual, equal } from "node:assert/strict";
import { Informer } from "../../controller/kube/informer.ts";
import type { KubeObject, Resource } from "../../controller/kube/types.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { clientOf, FAST, recordingLog } from "./support/informer_scene.ts";

const WIDGETS: Resource = {
  group: "pingress.example.com",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};

const DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${WIDGETS.plural}.${WIDGETS.group}` },
  spec: {
    group: WIDGETS.group,
    scope: "Namespaced",
    names: { plural: WIDGETS.plural, singular: "widget", kind: WIDGETS.kind },
    versions: [{
      name: WIDGETS.version,
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object" } },
    }],
  },
};

clusterTest(
  "a custom kind is added, removed and added again, and its informer with it",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    const path = `/apis/${WIDGETS.group}/${WIDGETS.version}/namespaces/${namespace}/widgets`;
    const { log, entries } = recordingLog();
    const client = clientOf(cluster.kubeconfig);
    const informer = new Informer<KubeObject>({
      client,
      log,
      resource: WIDGETS,
      namespaces: null,
      isOptional: true,
      reduce: (object) => object,
      timing: FAST,
    });
    let updates = 0;
    informer.store.onUpdate(() => updates++);
    const names = () => informer.store.list().map(({ metadata }) => metadata.name).sort();
    /** With one object of it. */
    const define = async (name: string) => {
      await cluster.apply(DEFINITION);
      const object = {
        apiVersion: `${WIDGETS.group}/${WIDGETS.version}`,
        kind: WIDGETS.kind,
        metadata: { name },
      };
      await eventually(
        "the API",
        async () => (await cluster.request("POST", path, object)).status === 201,
      );
    };
    try {
      await define("first");
      informer.start();
      await eventually("the first list", () => informer.isSynced);
      deepEqual(names(), ["first"]);
      await cluster.delete(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        DEFINITION.metadata.name,
      );
      await eventually("failures", () => informer.failures.length > 0);
      updates = 0;
      await informer.reset();
      deepEqual([informer.isSynced, names(), informer.failures.length], [false, [], 0]);
      equal(informer.stats.state, "stopped");
      equal(updates, 1);
      equal((await informer.relist()).ok, false);
      await define("second");
      informer.start();
      await eventually("another list", () => informer.isSynced);
      deepEqual(names(), ["second"]);
      equal(updates, 2);
      deepEqual(entries.filter(({ level }) => level === "error"), []);
    } finally {
      await informer.stop();
      client.close();
      await cluster.delete(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        DEFINITION.metadata.name,
      );
    }
  },
);
