/**
 * Keeps what proxies start from as the cluster is. In: a snapshot, and the ConfigMaps and Secrets as
 * watches show them. Out: calls to the API server for what differs, whoever has changed it.
 *
 *     Secrets ─▶ parts ─▶ pingress-config-v2, the index of all ─▶ what is superseded, two minutes later
 *
 * In this order, and with parts beside those in use while there is room, what is published is whole
 * at every moment: a controller may end between any two writes.
 */
import type { Logger } from "../../../shared/log.ts";
import { formatObject, type ObjectRef, type Problem } from "../../../shared/problem.ts";
import {
  configMapName,
  FORMAT_1,
  isKeySecretName,
} from "../../../shared/snapshot/published_set.ts";
import { type Snapshot, SNAPSHOT_FORMAT } from "../../../shared/snapshot/types.ts";
import type { KubeClient } from "../../kube/client.ts";
import { NOT_LEADING } from "../../kube/fenced_client.ts";
import type { ObjectView } from "../../kube/store.ts";
import {
  type ApiError,
  type ApiResult,
  CONFIG_MAPS,
  type KubeObject,
  type Resource,
  SECRETS,
} from "../../kube/types.ts";
import { allSlots } from "./layout.ts";
import type { LiveConfigMap, LiveSecret, ObjectSize } from "./objects.ts";
import { OwnWrites, type Seen } from "./own_writes.ts";
import { planPublish, type PublishPlan } from "./plan.ts";
import type { Published } from "./published.ts";
import { PublishedFormats } from "./formats.ts";
import {
  type Content,
  isAsPlanned,
  mustBeMadeAnew,
  PUBLISHED_LABELS,
  removalOf,
} from "./repair.ts";
import { Retention } from "./retention.ts";

/** Milliseconds for which what is superseded stays; kubelets look at volumes about once a minute. */
const RETENTION = 120_000;

type ConfigMap = KubeObject & LiveConfigMap;
type SecretObject = KubeObject & LiveSecret;

export interface PublisherOptions {
  readonly client: Pick<KubeClient, "apply" | "patch" | "delete">;
  readonly namespace: string;
  /** Those with the label `pingress.io/published=snapshot`; others do not matter. */
  readonly configMaps: ObjectView<ConfigMap>;
  readonly secrets: ObjectView<SecretObject>;
  /** Asked before each write: whether we lead. */
  readonly mayWrite: () => boolean;
  readonly log: Logger;
  /** Milliseconds for which what is superseded stays; default two minutes. */
  readonly retention?: number;
  /** Milliseconds that never go back. */
  readonly now?: () => number;
}

export type PublishResult =
  | {
    readonly ok: true;
    /** What was made, changed or put back, in this order. */
    readonly written: readonly ObjectRef[];
    readonly removed: readonly ObjectRef[];
    /** Of everything that is published now. */
    readonly sizes: readonly ObjectSize[];
    /** That it will soon not fit any more. */
    readonly warnings: readonly Problem[];
    /** Milliseconds after which to sync again although nothing changes; null for never. */
    readonly again: number | null;
    /** `digestOf` the snapshot; null where nothing is published any more. */
    readonly digest: string | null;
  }
  /** It does not fit; what was published stays. */
  | { readonly ok: false; readonly kind: "too-large"; readonly problem: Problem }
  /** We do not lead (any more). */
  | { readonly ok: false; readonly kind: "stopped" }
  /** Somebody else has changed the object meanwhile: sync again once the watch has told of it. */
  | {
    readonly ok: false;
    readonly kind: "conflict" | "failed";
    readonly object: ObjectRef;
    readonly error: ApiError;
  };

/** Ends a run from within. */
class Abort extends Error {
  constructor(readonly result: Extract<PublishResult, { ok: false }>) {
    super(result.kind);
  }
}

/** What one run has done. */
class Work {
  readonly written: ObjectRef[] = [];
  readonly removed: ObjectRef[] = [];
}

type Kind = "ConfigMap" | "Secret";

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #configMaps: OwnWrites<ConfigMap>;
  readonly #secrets: OwnWrites<SecretObject>;
  readonly #retention: Retention;
  readonly #reader = new PublishedFormats();
  #whole: Published | null = null;
  /** One run at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#configMaps = new OwnWrites(options.configMaps, options.namespace);
    this.#secrets = new OwnWrites(options.secrets, options.namespace);
    const now = options.now ?? (() => performance.now());
    this.#retention = new Retention(options.retention ?? RETENTION, now);
  }

  /**
   * What is published, our last writes included. Where it has been damaged, the last that was whole,
   * with `problem` and without `digest`: certificates that live on in it must not go by that.
   */
  published(): Published {
    const configMaps = objectsOf(this.#listConfigMaps());
    const secrets = objectsOf(this.#listSecrets());
    const reading = this.#reader.read(
      { configMaps, secrets },
      objectsOf(this.#listEarlier()),
      this.#whole,
    );
    const isGone = configMaps.length === 0 && secrets.length === 0;
    if (reading.problem === null) this.#whole = reading;
    else if (isGone) this.#whole = null;
    if (reading.problem === null || this.#whole === null) return reading;
    return { ...this.#whole, digest: null, slots: reading.slots, problem: reading.problem };
  }

  /** Makes what is published say the same as `snapshot`; only another version is not written. */
  sync(snapshot: Snapshot): Promise<PublishResult> {
    return this.#run(async (work) => {
      const configMaps = this.#listConfigMaps();
      const secrets = this.#listSecrets();
      const plan = planPublish(
        snapshot,
        this.published(),
        { configMaps: objectsOf(configMaps), secrets: objectsOf(secrets) },
        this.#retention,
        this.#reader.earlierKeys(objectsOf(this.#listEarlier())),
      );
      if (!plan.ok) throw new Abort({ ok: false, kind: "too-large", problem: plan.problem });
      // Before the writes: the watch may tell of them before they are answered.
      if (plan.text !== undefined) this.#reader.expect(plan.text, plan.digest);
      await this.#carryOut(plan, configMaps, secrets, work);
      // Remembered, should somebody damage it.
      this.published();
      this.#told(plan, work);
      const { sizes, warnings, digest } = plan;
      return { ok: true, ...work, sizes, warnings, again: this.#retention.next, digest };
    });
  }

  /** Deletes all of it. */
  remove(): Promise<PublishResult> {
    return this.#run(async (work) => {
      // The index first: it must not name what is gone.
      const configMaps = [...this.#listConfigMaps(), ...this.#listEarlier()]
        .sort(([a], [b]) => a < b ? -1 : 1);
      for (const [, seen] of configMaps) await this.#delete("ConfigMap", seen, work);
      const secrets = [...this.#listSecrets()].sort(([a], [b]) => a < b ? -1 : 1);
      for (const [, seen] of secrets) await this.#delete("Secret", seen, work);
      this.#retention.update([]);
      if (work.removed.length > 0) {
        this.#options.log.info("Published configuration removed", {
          objects: work.removed.map(formatObject),
        });
      }
      return { ok: true, ...work, sizes: [], warnings: [], again: null, digest: null };
    });
  }

  /** For a new leader: another one may have written since this one did. */
  reset(): void {
    this.#retention.update([]);
  }

  /** The stores may be used on without it. */
  close(): void {
    this.#configMaps.close();
    this.#secrets.close();
  }

  /** Those with our names; others may have our labels. */
  #listConfigMaps(): Map<string, Seen<ConfigMap>> {
    return this.#configMapsOf(SNAPSHOT_FORMAT);
  }

  /** Those of format 1: they are left as they are for the version before. */
  #listEarlier(): Map<string, Seen<ConfigMap>> {
    return this.#configMapsOf(FORMAT_1);
  }

  #configMapsOf(format: number): Map<string, Seen<ConfigMap>> {
    const names = new Set([0, ...allSlots()].map((slot) => configMapName(slot, format)));
    return new Map([...this.#configMaps.list()].filter(([name]) => names.has(name)));
  }

  #listSecrets(): Map<string, Seen<SecretObject>> {
    return new Map([...this.#secrets.list()].filter(([name]) => isKeySecretName(name)));
  }

  #run(work: (work: Work) => Promise<PublishResult>): Promise<PublishResult> {
    const run = this.#last.then(async () => {
      try {
        return await work(new Work());
      } catch (error) {
        if (error instanceof Abort) return error.result;
        throw error;
      }
    });
    this.#last = run.catch(() => {});
    return run;
  }

  async #carryOut(
    plan: Extract<PublishPlan, { ok: true }>,
    configMaps: ReadonlyMap<string, Seen<ConfigMap>>,
    secrets: ReadonlyMap<string, Seen<SecretObject>>,
    work: Work,
  ): Promise<void> {
    for (const { name, data } of plan.secrets) {
      await this.#ensure("Secret", name, { type: "Opaque", data }, secrets.get(name), work);
    }
    const [index, ...parts] = plan.configMaps;
    for (const { name, data, binaryData } of [...parts, index]) {
      const content = name === index.name ? { data } : { binaryData };
      await this.#ensure("ConfigMap", name, content, configMaps.get(name), work);
    }
    for (const name of plan.superfluous.configMaps) {
      await this.#delete("ConfigMap", configMaps.get(name)!, work);
    }
    for (const name of plan.superfluous.secrets) {
      await this.#delete("Secret", secrets.get(name)!, work);
    }
  }

  /** Makes one object as it is to be, if it is not. */
  async #ensure(
    kind: Kind,
    name: string,
    content: Content,
    seen: Seen<ConfigMap | SecretObject> | undefined,
    work: Work,
  ): Promise<void> {
    if (seen !== undefined && isAsPlanned(seen.object, content)) return;
    let version = seen?.version;
    if (seen !== undefined && mustBeMadeAnew(seen.object, content)) {
      await this.#delete(kind, seen, new Work());
      version = undefined;
    }
    const { namespace, client } = this.#options;
    const object = { metadata: { name, namespace, labels: PUBLISHED_LABELS }, ...content };
    const applied = await this.#write(
      kind,
      name,
      () =>
        client.apply<KubeObject>(resourceOf(kind), object, {
          ...(version === undefined || version === "" ? {} : { resourceVersion: version }),
        }),
    );
    this.#wrote(kind, applied);
    work.written.push(this.#refTo(kind, name));
    // Apply leaves what others have added beside ours.
    const patch = removalOf(applied, content);
    if (patch === null) return;
    const { resourceVersion } = applied.metadata;
    const patched = await this.#write(kind, name, () =>
      client.patch<KubeObject>(
        resourceOf(kind),
        namespace,
        name,
        { ...patch, metadata: { resourceVersion } },
        { type: "merge" },
      ));
    this.#wrote(kind, patched);
  }

  async #delete(kind: Kind, { object }: Seen<ConfigMap | SecretObject>, work: Work): Promise<void> {
    const { name, uid } = object.metadata;
    const { namespace, client } = this.#options;
    await this.#write<KubeObject | null>(kind, name, async () => {
      const result = await client.delete(resourceOf(kind), namespace, name, {
        ...(uid === undefined ? {} : { uid }),
      });
      // Somebody else was faster.
      return !result.ok && result.error.code === 404 ? { ok: true, value: null } : result;
    });
    if (kind === "Secret") this.#secrets.deleted(object as SecretObject);
    else this.#configMaps.deleted(object as ConfigMap);
    work.removed.push(this.#refTo(kind, name));
  }

  /** What a call answers, if it may be made and succeeds. */
  async #write<T>(kind: Kind, name: string, call: () => Promise<ApiResult<T>>): Promise<T> {
    if (!this.#options.mayWrite()) throw new Abort({ ok: false, kind: "stopped" });
    const result = await call();
    if (result.ok) return result.value;
    const { error } = result;
    if (error.reason === NOT_LEADING) throw new Abort({ ok: false, kind: "stopped" });
    const isConflict = error.code === 409 || error.code === 404;
    if (isConflict) {
      this.#configMaps.forget();
      this.#secrets.forget();
    }
    throw new Abort({
      ok: false,
      kind: isConflict ? "conflict" : "failed",
      object: this.#refTo(kind, name),
      error,
    });
  }

  #wrote(kind: Kind, object: KubeObject): void {
    if (kind === "Secret") this.#secrets.wrote(object);
    else this.#configMaps.wrote(object);
  }

  #refTo(kind: Kind, name: string): ObjectRef {
    return { kind, namespace: this.#options.namespace, name };
  }

  #told({ sizes }: Extract<PublishPlan, { ok: true }>, { written, removed }: Work): void {
    if (written.length === 0 && removed.length === 0) return;
    this.#options.log.info("Published", {
      written: written.map(({ kind, name }) => `${kind} ${name}`),
      removed: removed.map(({ kind, name }) => `${kind} ${name}`),
      bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
    });
  }
}

function objectsOf<T>(seen: ReadonlyMap<string, Seen<T>>): T[] {
  return Array.from(seen.values(), ({ object }) => object);
}

function resourceOf(kind: Kind): Resource {
  return kind === "Secret" ? SECRETS : CONFIG_MAPS;
}
