/**
 * What is to be published, given what is. In: a snapshot, what stands in the API server, and what
 * has to stay for a while. Out: the content of every ConfigMap and Secret, and which of them are
 * superfluous. Makes no call.
 */
import { Buffer } from "node:buffer";
import type { Problem } from "../../../shared/problem.ts";
import {
  configKey,
  configMapName,
  isSha256,
  sha256Of,
} from "../../../shared/snapshot/published_set.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { digestOf, withoutKeys } from "./content.ts";
import { MAX_SECRET_BYTES, packedBytes } from "./keys.ts";
import {
  allSlots,
  configMapSize,
  type LaidText,
  layKeysBeside,
  layPublishedSet,
  type PublishedLayout,
  secretSize,
} from "./layout.ts";
import {
  type ConfigMapContent,
  type Entries,
  type LiveConfigMap,
  type LiveSecret,
  type ObjectSize,
  type SecretContent,
} from "./objects.ts";
import type { Published } from "./published.ts";
import type { Retention } from "./retention.ts";

export type PublishPlan =
  | {
    readonly ok: true;
    /** The index or whole snapshot first, then the parts that it names. */
    readonly configMaps: readonly ConfigMapContent[];
    readonly secrets: readonly SecretContent[];
    /** Names of those that are there and are to go, once the others are as planned. */
    readonly superfluous: {
      readonly configMaps: readonly string[];
      readonly secrets: readonly string[];
    };
    readonly sizes: readonly ObjectSize[];
    readonly warnings: readonly Problem[];
    /** `digestOf` the snapshot. */
    readonly digest: string;
    /** Of a snapshot that is not published yet. */
    readonly text?: LaidText;
  }
  | { readonly ok: false; readonly problem: Problem };

/** What the API server has under the names of the format that is written, whoever has written it. */
export interface LiveSet {
  readonly configMaps: readonly LiveConfigMap[];
  readonly secrets: readonly LiveSecret[];
}

/**
 * @param published what `live` comes to.
 * @param retention is told what is superseded by this plan.
 * @param earlierKeys Hashes of the keys that the configuration of an earlier format names. They stay
 * as long as that does, because the version before starts from it after `kubectl rollout undo`.
 */
export function planPublish(
  snapshot: Snapshot,
  published: Published,
  live: LiveSet,
  retention: Retention,
  earlierKeys: ReadonlySet<string> = new Set(),
): PublishPlan {
  const configMaps = new Map(live.configMaps.map((one) => [one.metadata?.name ?? "", one]));
  const digest = digestOf(snapshot);
  const layout = published.digest === digest
    ? keepLayout(snapshot, published, configMaps)
    : layPublishedSet(snapshot, { slots: slotsInTurn(published, configMaps, retention) });
  if (!layout.ok) return layout;
  const secrets = new Map(layout.secrets.map(({ name, data }) => [name, data]));
  const old = live.secrets.map((secret) =>
    supersededKeys(secret, secrets.get(secret.metadata!.name!) ?? {})
  );
  const planned = new Set(layout.configMaps.map(({ name }) => name));
  const parts = allSlots().map((slot) => configMapName(slot))
    .filter((name) => configMaps.has(name) && !planned.has(name));
  retention.update([
    ...parts,
    ...old.flatMap(({ name, data }) =>
      Object.keys(data).filter((hash) => !earlierKeys.has(hash)).map((hash) => `${name}/${hash}`)
    ),
  ]);
  const gone: string[] = [];
  for (const { name, data } of old) {
    const earlier = Object.entries(data).filter(([hash]) => earlierKeys.has(hash));
    const kept = Object.entries(data).filter(([hash]) => retention.holds(`${name}/${hash}`));
    // Without those that do not fit: better that a proxy waits a minute for its new keys than that
    // nobody gets them.
    for (const more of [earlier, kept]) {
      const all = { ...Object.fromEntries(more), ...secrets.get(name) };
      if (packedBytes(all) <= MAX_SECRET_BYTES) secrets.set(name, all);
    }
    if (Object.keys(secrets.get(name) ?? {}).length > 0) continue;
    secrets.delete(name);
    gone.push(name);
  }
  const contents = Array.from(secrets, ([name, data]): SecretContent => ({ name, data }));
  return {
    ok: true,
    configMaps: layout.configMaps,
    secrets: contents,
    superfluous: {
      configMaps: parts.filter((name) => !retention.holds(name)),
      secrets: gone,
    },
    sizes: [...layout.configMaps.map(configMapSize), ...contents.map(secretSize)],
    warnings: layout.warnings,
    digest,
    text: layout.text,
  };
}

/** What is published, without what others have added. */
function keepLayout(
  snapshot: Snapshot,
  { slots }: Published,
  configMaps: ReadonlyMap<string, LiveConfigMap>,
): PublishedLayout {
  const contents = [0, ...slots].map((slot): ConfigMapContent => {
    const name = configMapName(slot);
    const { data, binaryData } = configMaps.get(name)!;
    return { name, data: only(slot === 0, data), binaryData: only(slot > 0, binaryData) };
  });
  return layKeysBeside(contents, withoutKeys(snapshot).keys);
}

function only(isWanted: boolean, entries: Entries | null | undefined): Entries {
  return isWanted ? { [configKey()]: entries![configKey()] } : {};
}

/** Free numbers first, then those superseded for longest, and those in use last. */
function slotsInTurn(
  { slots }: Published,
  configMaps: ReadonlyMap<string, LiveConfigMap>,
  retention: Retention,
): number[] {
  const rank = (slot: number): number => {
    const name = configMapName(slot);
    if (slots.includes(slot)) return Infinity;
    return configMaps.has(name) ? retention.since(name) : -Infinity;
  };
  return allSlots().sort((a, b) => {
    const [left, right] = [rank(a), rank(b)];
    return left === right ? a - b : left < right ? -1 : 1;
  });
}

/** The keys of a Secret that it needs not hold any more. */
function supersededKeys(secret: LiveSecret, planned: Entries): SecretContent {
  const data: Record<string, string> = {};
  for (const [hash, value] of Object.entries(secret.data ?? {})) {
    if (hash in planned || !isSha256(hash)) continue;
    if (sha256Of(Buffer.from(value, "base64")) === hash) data[hash] = value;
  }
  return { name: secret.metadata!.name!, data };
}
