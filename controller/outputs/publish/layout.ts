/**
 * A snapshot as objects of Kubernetes. In: a snapshot. Out: the ConfigMaps and Secrets that hold it,
 * or what does not fit. Pure: the same snapshot and options give the same bytes.
 *
 * `pingress-config-v2` holds the whole snapshot as plain JSON while it is small, for people to read;
 * otherwise an index of the parts of its gzip. Keys are in Secrets of their own. `published_set.ts`
 * in `shared` has the names, `published.ts` beside this file the way back.
 */
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import type { Problem } from "../../../shared/problem.ts";
import {
  configFileName,
  configKey,
  configMapName,
  MAX_KEY_SECRETS,
  MAX_PARTS,
  type PublishedSet,
  sha256Of,
} from "../../../shared/snapshot/published_set.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { serialiseIndex, serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { withoutKeys } from "./content.ts";
import { packKeys } from "./keys.ts";
import {
  type ConfigMapContent,
  decodedBytes,
  MAX_OBJECT_BYTES,
  type ObjectSize,
  type SecretContent,
} from "./objects.ts";
import type { Secret } from "../../../shared/redacted.ts";

export interface LayoutOptions {
  /**
   * Numbers of the ConfigMaps for parts, those to take first in front; default 1 to 7. Other ones
   * than those of what is published keep that whole until the index is replaced.
   */
  readonly slots?: readonly number[];
}

export type PublishedLayout =
  | {
    readonly ok: true;
    /** The index or whole snapshot first, then the parts in their order. */
    readonly configMaps: readonly ConfigMapContent[];
    readonly secrets: readonly SecretContent[];
    readonly sizes: readonly ObjectSize[];
    /** That it will soon not fit any more. */
    readonly warnings: readonly Problem[];
    /** What reading its text will give; missing where no text has been made. */
    readonly text?: LaidText;
  }
  | { readonly ok: false; readonly problem: Problem };

/** A snapshot's text, as `PublishedReader` would parse it. */
export interface LaidText {
  /** sha256: of the first file if that is the snapshot, else of what the parts make up. */
  readonly hash: string;
  /** Without keys. */
  readonly snapshot: Snapshot;
  /** Of the first file if that is the snapshot, else null. */
  readonly set: PublishedSet | null;
}

/** A snapshot of so many bytes at most stands in the first ConfigMap as it is. */
export const WHOLE_BYTES = 512 * 1024;

/** Of each part; the API server takes 1 MiB. */
export const PART_BYTES = 900 * 1024;

/** Of the index, which lists a hash for each key. */
const INDEX_BYTES = MAX_OBJECT_BYTES - 64 * 1024;

/** What is fuller than this is warned of. */
const NEARLY_FULL = 0.85;

/** As small as 9 makes it, in half the time. */
const GZIP_LEVEL = 4;

export function layPublishedSet(snapshot: Snapshot, options: LayoutOptions = {}): PublishedLayout {
  const { snapshot: keyless, keys } = withoutKeys(snapshot);
  const config = layConfig(keyless, [...keys.keys()], options.slots ?? allSlots());
  if (!config.ok) return config;
  const layout = layKeysBeside(config.configMaps, keys);
  return layout.ok ? { ...layout, text: { ...config.text, snapshot: keyless } } : layout;
}

/** The layout with these ConfigMaps, the first of them in front, and these keys. */
export function layKeysBeside(
  configMaps: readonly ConfigMapContent[],
  keys: ReadonlyMap<string, Secret>,
): PublishedLayout {
  const packed = packKeys(keys);
  if (!packed.ok) return { ok: false, problem: tooManyKeys(keys.size, packed) };
  const sizes = configMaps.map(configMapSize);
  const fullness = Math.max(packed.fullness, fullnessOf(sizes));
  return {
    ok: true,
    configMaps,
    secrets: packed.secrets,
    sizes: [...sizes, ...packed.secrets.map(secretSize)],
    warnings: fullness > NEARLY_FULL ? [nearlyFull(fullness)] : [],
  };
}

/** How much of all ConfigMaps is taken, 0 to 1; a snapshot in one piece has room to grow. */
function fullnessOf([index, ...parts]: readonly ObjectSize[]): number {
  if (parts.length === 0) return 0;
  const packed = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  return Math.max(packed / (MAX_PARTS * PART_BYTES), index.bytes / INDEX_BYTES);
}

/** The numbers of the ConfigMaps for parts. */
export function allSlots(): number[] {
  return Array.from({ length: MAX_PARTS }, (_, index) => index + 1);
}

type ConfigLayout =
  | {
    readonly ok: true;
    readonly configMaps: readonly ConfigMapContent[];
    readonly text: Omit<LaidText, "snapshot">;
  }
  | { readonly ok: false; readonly problem: Problem };

function layConfig(
  snapshot: Snapshot,
  keys: readonly string[],
  slots: readonly number[],
): ConfigLayout {
  const text = serialiseSnapshot(snapshot, { revealKeys: false });
  if (text.length <= WHOLE_BYTES) {
    const set: PublishedSet = { sha256: null, parts: [], keys };
    const whole = serialiseSnapshot(snapshot, { revealKeys: false, set });
    if (Buffer.byteLength(whole) <= WHOLE_BYTES) {
      const laid = { hash: sha256Of(whole), set };
      return { ok: true, configMaps: [firstConfigMap(whole)], text: laid };
    }
  }
  const packed = gzipSync(text, { level: GZIP_LEVEL });
  const count = Math.ceil(packed.length / PART_BYTES);
  if (count > slots.length) return { ok: false, problem: tooLarge(text, packed.length) };
  const chunks = slots.slice(0, count).map((slot, index) => ({
    slot,
    bytes: packed.subarray(index * PART_BYTES, (index + 1) * PART_BYTES),
  }));
  const hash = sha256Of(text);
  const index = serialiseIndex(snapshot, {
    sha256: hash,
    parts: chunks.map(({ slot, bytes }) => ({
      path: configFileName(slot),
      sha256: sha256Of(bytes),
    })),
    keys,
  });
  const indexBytes = Buffer.byteLength(index);
  if (indexBytes > INDEX_BYTES) return { ok: false, problem: indexTooLarge(keys, indexBytes) };
  return {
    ok: true,
    configMaps: [firstConfigMap(index), ...chunks.map(({ slot, bytes }) => partOf(slot, bytes))],
    text: { hash, set: null },
  };
}

function firstConfigMap(text: string): ConfigMapContent {
  return { name: configMapName(0), data: { [configKey()]: text }, binaryData: {} };
}

function partOf(slot: number, bytes: Buffer): ConfigMapContent {
  const binaryData = { [configKey()]: bytes.toString("base64") };
  return { name: configMapName(slot), data: {}, binaryData };
}

export function configMapSize({ name, data, binaryData }: ConfigMapContent): ObjectSize {
  let bytes = 0;
  for (const value of Object.values(data)) bytes += Buffer.byteLength(value);
  for (const value of Object.values(binaryData)) bytes += decodedBytes(value);
  return { kind: "ConfigMap", name, bytes };
}

export function secretSize({ name, data }: SecretContent): ObjectSize {
  let bytes = 0;
  for (const value of Object.values(data)) bytes += decodedBytes(value);
  return { kind: "Secret", name, bytes };
}

const REMEDY = "Serve fewer hosts with this controller: run another with an IngressClass of its " +
  "own, or with --watch-namespace";

function problemOf(reason: string, message: string, severity: Problem["severity"]): Problem {
  return { object: null, field: "", reason, message, remedy: REMEDY, severity };
}

function tooLarge(text: string, packed: number): Problem {
  const message = `the configuration takes ${showBytes(packed)} compressed ` +
    `(${showBytes(Buffer.byteLength(text))} as JSON), more than the ` +
    `${showBytes(MAX_PARTS * PART_BYTES)} that ${MAX_PARTS} ConfigMaps hold, so the last ` +
    "published configuration stays active";
  return problemOf("ConfigurationTooLarge", message, "error");
}

function indexTooLarge(keys: readonly string[], bytes: number): Problem {
  const message = `the list of ${keys.length} private keys takes ${showBytes(bytes)}, more than ` +
    `the ${
      showBytes(INDEX_BYTES)
    } that one ConfigMap holds, so the last published configuration stays active`;
  return problemOf("ConfigurationTooLarge", message, "error");
}

function tooManyKeys(count: number, { bytes, limit }: { bytes: number; limit: number }): Problem {
  const message = `${count} private keys do not fit into ${MAX_KEY_SECRETS} Secrets: they take ` +
    `${showBytes(bytes)}, and each Secret holds ${showBytes(limit)}, so the last published ` +
    "configuration stays active";
  return problemOf("KeysTooLarge", message, "error");
}

function nearlyFull(fullness: number): Problem {
  const message = `the configuration takes ${Math.round(fullness * 100)} % of what ConfigMaps ` +
    "and Secrets hold; past that, changes are not published any more";
  return problemOf("ConfigurationNearlyTooLarge", message, "warning");
}

function showBytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`;
}
