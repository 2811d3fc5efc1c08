import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import type { KubeClient } from "../kube/client.ts";
import { excessOf } from "../kube/excess.ts";
import { sizeOf } from "../kube/reduce.ts";
import { GatewayReaders } from "../translate/gateway/gateway_readers.ts";
import { ParameterConfigMaps } from "./parameter_config_maps.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Milliseconds. */
const PATIENCE = 10_000;

const GATEWAY_CLASS = {
  metadata: { name: "pingress" },
  spec: {
    controllerName: "pingress.io/gateway-controller",
    parametersRef: { group: "", kind: "ConfigMap", namespace: "system", name: "class" },
  },
};

const REFUSED = {
  ok: false,
  error: { code: 403, reason: "Forbidden", message: "no", retryAfter: null },
};

/** A client for which every ConfigMap is there, and none can be watched. */
class Client {
  readonly reads = new Set<string>();
  constructor(readonly data: Readonly<Record<string, string>>) {}

  get(_resource: unknown, namespace: string, name: string) {
    this.reads.add(`${namespace}/${name}`);
    const finalizers = ["x".repeat(100 * KIB)];
    const metadata = { namespace, name, uid: name, resourceVersion: "5", finalizers };
    return Promise.resolve({ ok: true, value: { metadata, data: this.data } });
  }

  list = () => Promise.resolve(REFUSED);
  watch = () => Promise.resolve(REFUSED);
  onRecovery = () => () => {};
  wellFor = 0;
  unwellFor = 0;
}

/** The higher its number, the younger. */
function gateway(number: number) {
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1) + 1000 * number).toISOString();
  return {
    metadata: { namespace: "shop", name: `g${number}`, creationTimestamp },
    spec: {
      gatewayClassName: "pingress",
      infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: `c${number}` } },
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  };
}

function published(...numbers: readonly number[]): Snapshot {
  const listeners = numbers.map((number) => ({ id: `shop/g${number}/http` }));
  return { listeners } as unknown as Snapshot;
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

class Scene implements AsyncDisposable {
  readonly client: Client;
  readonly maps: ParameterConfigMaps;
  readonly #readers = new GatewayReaders();

  constructor(
    data: Readonly<Record<string, string>>,
    bounds = { count: 1000, bytes: 8 * MIB },
  ) {
    this.client = new Client(data);
    this.maps = new ParameterConfigMaps({
      ...{ client: this.client as unknown as KubeClient, namespaces: null, bounds },
      ...{ classNamespace: "system", maxBytes: 256 * KIB },
    });
  }

  async read(gateways: readonly number[], snapshot: Snapshot | null = null): Promise<void> {
    const lists = { gatewayClasses: [GATEWAY_CLASS], gateways: gateways.map(gateway) };
    this.maps.want(this.maps.choose(lists, this.#readers, snapshot));
    await this.maps.synced;
    assert.equal(await this.maps.settled(PATIENCE), true);
  }

  /** Names of those that are kept whole. */
  get kept(): string[] {
    return this.maps.store.list().filter((each) => excessOf(each) === null)
      .map(({ metadata }) => metadata.name).sort();
  }

  count(bound: string): number {
    return this.maps.store.list().filter((each) => excessOf(each)?.bound === bound).length;
  }

  async [Symbol.asyncDispose]() {
    await this.maps.stop();
  }
}

Deno.test("ConfigMaps of 2,500 Gateways are read up to the bound, and what is no parameter is not kept", async () => {
  await using scene = new Scene({ serviceType: "ClusterIP", junk: "x".repeat(200 * KIB) });
  await scene.read(numbers(2_500));
  assert.equal(scene.client.reads.size, 1001);
  assert.equal(scene.kept.length, 1001);
  assert.ok(scene.kept.includes("class") && scene.kept.includes("c999"));
  assert.equal(scene.count("configMaps"), 1500);
  assert.ok(sizeOf(scene.maps.store.list()) < MIB);
});

Deno.test("large parameters of a namespace are kept up to the bound of bytes, those of a class always", async () => {
  await using scene = new Scene({ annotations: "x".repeat(200 * KIB) });
  await scene.read(numbers(100));
  assert.equal(scene.kept.length, 41);
  assert.ok(scene.kept.includes("class") && scene.kept.includes("c0"));
  assert.equal(scene.count("configMapBytes"), 60);
  assert.ok(sizeOf(scene.maps.store.list()) < 9 * MIB);
});

Deno.test("ConfigMaps of published Gateways come first, and others are read once there is room", async () => {
  await using scene = new Scene({ serviceType: "ClusterIP" }, { count: 2, bytes: MIB });
  await scene.read([0, 1, 2, 3], published(3));
  assert.deepEqual(scene.kept, ["c0", "c3", "class"]);
  await scene.read([1, 2, 3], published(3));
  assert.deepEqual(scene.kept, ["c1", "c3", "class"]);
  await scene.read([2, 3], published(3));
  assert.deepEqual(scene.kept, ["c2", "c3", "class"]);
});

Deno.test("published Gateways have no more ConfigMaps read than the bound", async () => {
  await using scene = new Scene({ serviceType: "ClusterIP" }, { count: 2, bytes: MIB });
  await scene.read([3, 2, 1, 0], published(0, 1, 2, 3));
  assert.deepEqual(scene.kept, ["c0", "c1", "class"]);
  assert.equal(scene.count("configMaps"), 2);
});
