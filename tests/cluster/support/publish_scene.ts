/**
 * A publisher on a real API server. In: a cluster. Out: a namespace of its own with watches, leave to
 * write that a test counts out, and what stands there afterwards.
 */
import { deepEqual, equal } from "node:assert/strict";
import { KubeClient } from "../../../controller/kube/client.ts";
import { loadCredentials } from "../../../controller/kube/credentials.ts";
import { Informer } from "../../../controller/kube/informer.ts";
import { keepContent } from "../../../controller/kube/reduce.ts";
import { ObjectStore } from "../../../controller/kube/store.ts";
import {
  CONFIG_MAPS,
  type KubeObject as Stored,
  type Resource,
  SECRETS,
} from "../../../controller/kube/types.ts";
import { Publisher, type PublishResult } from "../../../controller/outputs/publish/publisher.ts";
import { readPublishedSet } from "../../../controller/outputs/publish/published.ts";
import type { LiveConfigMap, LiveSecret } from "../../../controller/outputs/publish/objects.ts";
import type { Logger } from "../../../shared/log.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";

/** A ConfigMap or Secret. */
export interface Live extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

type Kind = "ConfigMap" | "Secret";

const KINDS: readonly Kind[] = ["ConfigMap", "Secret"];

/** What the publisher sees of one kind: the informer's, or what that was when it was frozen. */
class View {
  readonly informer: Informer<Stored>;
  readonly store = new ObjectStore<Stored>();
  frozen = false;

  constructor(client: KubeClient, resource: Resource, namespace: string) {
    this.informer = new Informer({
      client,
      resource,
      namespaces: [namespace],
      labelSelector: "pingress.io/published=snapshot",
      reduce: keepContent(resource),
      countsVersions: true,
    });
    this.informer.store.subscribe(({ before, after }) => {
      if (this.frozen) return;
      if (after !== null) this.store.put(after);
      else this.store.remove(before!.metadata.namespace!, before!.metadata.name);
    });
  }

  thaw(): void {
    this.frozen = false;
    this.store.replace(this.informer.store.list(), null);
  }
}

export class PublishScene {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly client: KubeClient;
  readonly #views: Readonly<Record<Kind, View>>;
  /** Writes that may be made yet. */
  leave = Infinity;
  /** Of the publisher's clock, in ms. */
  now = 0;
  /** What was logged. */
  readonly lines: unknown[] = [];
  publisher: Publisher;

  private constructor(cluster: TestCluster, namespace: string, client: KubeClient) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.client = client;
    this.#views = {
      ConfigMap: new View(client, CONFIG_MAPS, namespace),
      Secret: new View(client, SECRETS, namespace),
    };
    this.publisher = this.#newPublisher();
  }

  /** @param namespace of another scene, for two publishers at once. */
  static async create(cluster: TestCluster, namespace?: string): Promise<PublishScene> {
    const loaded = loadCredentials({
      kind: "kubeconfig",
      file: cluster.kubeconfig,
      context: null,
    });
    if (!loaded.ok) throw new Error(loaded.message);
    const scene = new PublishScene(
      cluster,
      namespace ?? await cluster.newNamespace("publish"),
      new KubeClient(loaded.credentials),
    );
    for (const kind of KINDS) scene.#views[kind].informer.start();
    await eventually("sync", () => KINDS.every((kind) => scene.#views[kind].informer.isSynced));
    return scene;
  }

  sync(snapshot: Snapshot): Promise<PublishResult> {
    return this.publisher.sync(snapshot);
  }

  /** Syncs and expects that it goes well. Out: what was written. */
  async done(snapshot: Snapshot): Promise<string[]> {
    const result = await this.sync(snapshot);
    if (!result.ok) throw new Error(JSON.stringify(result));
    return result.written.map(({ kind, name }) => `${kind} ${name}`);
  }

  /** Another publisher in place of this one, as after a change of leaders. */
  restart(): void {
    this.publisher.close();
    this.publisher = this.#newPublisher();
  }

  /** Watches tell nothing more. */
  freeze(): void {
    for (const kind of KINDS) this.#views[kind].frozen = true;
  }

  thaw(): void {
    for (const kind of KINDS) this.#views[kind].thaw();
  }

  /** Waits until the watches have told of everything that stands there now. */
  async settled(): Promise<void> {
    await eventually("news of all writes", async () => {
      const versions = (
        objects: readonly { metadata: { name: string; resourceVersion?: string } }[],
      ) =>
        objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort().join();
      for (const kind of KINDS) {
        const there = (await this.#listed(kind))
          .filter(({ metadata }) => metadata.labels?.["pingress.io/published"] === "snapshot");
        if (versions(there) !== versions(this.#views[kind].store.list())) return false;
      }
      return true;
    });
  }

  /** The same, for a change by somebody else. */
  async noticed(): Promise<void> {
    await this.settled();
  }

  /** All published objects and those with their names, sorted. */
  async list(): Promise<Live[]> {
    return (await Promise.all(KINDS.map((kind) => this.#listed(kind)))).flat();
  }

  /** What a pod would see: names and content of everything. */
  async contents(): Promise<unknown[]> {
    return (await this.list()).map(({ kind, metadata, type, data, binaryData, immutable }) => ({
      kind,
      name: metadata.name,
      labels: metadata.labels,
      type,
      data,
      binaryData,
      immutable,
    }));
  }

  async must(kind: Kind, name: string): Promise<Live> {
    const there = await this.cluster.get<Live>("v1", kind, name, this.namespace);
    if (there === null) throw new Error(`there is no ${kind} ${name}`);
    return there;
  }

  /** As somebody else. */
  async edit(kind: Kind, name: string, patch: unknown): Promise<void> {
    const path = await this.cluster.pathOf("v1", kind, name, this.namespace);
    const answer = await this.cluster.request(
      "PATCH",
      `${path}?fieldManager=somebody`,
      patch,
      "application/merge-patch+json",
    );
    equal(answer.status, 200, answer.text);
  }

  async delete(kind: Kind, name: string): Promise<void> {
    await this.cluster.delete("v1", kind, name, this.namespace);
  }

  /** Reads what stands in the API server as a stranger would. */
  async expectPublished(snapshot: Snapshot): Promise<void> {
    const [configMaps, secrets] = await Promise.all(KINDS.map((kind) => this.#listed(kind)));
    const published = readPublishedSet(
      configMaps as unknown as LiveConfigMap[],
      secrets as unknown as LiveSecret[],
    );
    equal(published.problem, null);
    const text = (one: Snapshot) => serialiseSnapshot(one, { revealKeys: true });
    equal(text(published.snapshot!) === text(snapshot), true, "another snapshot is published");
    deepEqual(published.version, snapshot.version);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.publisher.close();
    await Promise.all(KINDS.map((kind) => this.#views[kind].informer.stop()));
    this.client.close();
  }

  async #listed(kind: Kind): Promise<Live[]> {
    const all = await this.cluster.list<Live>("v1", kind, { namespace: this.namespace });
    return all.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt")
      .sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
  }

  #newPublisher(): Publisher {
    const log = (message: string, fields?: unknown) => void this.lines.push([message, fields]);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    return new Publisher({
      client: this.client,
      namespace: this.namespace,
      configMaps: this.#views.ConfigMap.store,
      secrets: this.#views.Secret.store,
      mayWrite: () => this.leave-- > 0,
      log: logger,
      now: () => this.now,
    });
  }
}
