/**
 * Reading back what is published. In: ConfigMaps and Secrets as the API server has them. Out: the
 * snapshot that they hold, with its keys, or what is wrong with them: the way back of `layout.ts`.
 *
 * Nothing that stands there is taken on trust: others may have edited or deleted any of it.
 */
import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import {
  configFileName,
  configKey,
  configMapName,
  isKeySecretName,
  isSha256,
  type PublishedSet,
  sha256Of,
} from "../../../shared/snapshot/published_set.ts";
import { secretFileName } from "../../../shared/credentials/credentials.ts";
import { Redacted, type Secret } from "../../../shared/redacted.ts";
import {
  type Certificate,
  type Credentials,
  type Snapshot,
  SNAPSHOT_FORMAT,
  type SnapshotVersion,
} from "../../../shared/snapshot/types.ts";
import { type ParsedSnapshot, parseSnapshot } from "../../../shared/snapshot/parse.ts";
import { digestOf } from "./content.ts";
import { allSlots, type LaidText } from "./layout.ts";
import type { LiveConfigMap, LiveSecret } from "./objects.ts";

export interface Published {
  /**
   * What is published, with its keys. Null where there is nothing, or nothing that can be read.
   * Certificates whose key is missing are left out.
   */
  readonly snapshot: Snapshot | null;
  readonly version: SnapshotVersion | null;
  /** `digestOf` the snapshot; null where it is not whole. */
  readonly digest: string | null;
  /** Numbers of the ConfigMaps with parts that the index names. */
  readonly slots: readonly number[];
  /** Why it is not whole, as a clause without secrets; null where it is. */
  readonly problem: string | null;
}

/** Bytes of a snapshot's text; a proxy reads no more. */
const MAX_TEXT = 256 * 1024 * 1024;

/**
 * Reads from the ConfigMaps and Secrets of the controller's namespace, among which others do not
 * matter. A configuration of the Rust controller counts as none.
 */
export function readPublishedSet(
  configMaps: readonly LiveConfigMap[],
  secrets: readonly LiveSecret[],
): Published {
  return new PublishedReader().read(configMaps, secrets);
}

/** The same from one time to the next, without reading twice what has not changed. */
export class PublishedReader {
  #first = new Recent<ParsedSnapshot>();
  #joined = new Recent<ParsedSnapshot>();
  #digests = new WeakMap<Snapshot, string>();
  #last: Reading | null = null;
  #keys = new WeakMap<LiveSecret, ReadonlyMap<string, Secret>>();
  readonly #format: number;

  /** @param format whose ConfigMaps it reads; default the one that is written. */
  constructor(format: number = SNAPSHOT_FORMAT) {
    this.#format = format;
  }

  /**
   * @param configMaps Objects that have not changed are the same as before, as are `secrets`.
   */
  read(configMaps: readonly LiveConfigMap[], secrets: readonly LiveSecret[]): Published {
    const last = this.#last;
    if (last !== null && isSame(last.configMaps, configMaps) && isSame(last.secrets, secrets)) {
      return last.published;
    }
    const published = this.#read(configMaps, secrets);
    this.#last = { configMaps, secrets, published };
    return published;
  }

  #read(configMaps: readonly LiveConfigMap[], secrets: readonly LiveSecret[]): Published {
    const byName = new Map(configMaps.map((one) => [one.metadata?.name ?? "", one]));
    const name = configMapName(0, this.#format);
    const first = `ConfigMap ${name}`;
    const text = byName.get(name)?.data?.[configKey(this.#format)];
    if (text === undefined) return nothing(`there is no ${first}`);
    const parsed = this.#first.get(sha256Of(text), () => parseSnapshot(text));
    const { set } = parsed;
    if (set === null) {
      return nothing(
        parsed.snapshot === null
          ? `${first} cannot be read: ${firstError(parsed)}`
          : `${first} is another program's`,
      );
    }
    if (set.sha256 === null) return this.#complete(parsed, set, [], secrets);
    const joined = joinParts(set, byName, this.#format);
    if (!joined.ok) return { ...nothing(joined.problem), slots: joined.slots };
    const unpacked = this.#joined.get(set.sha256, () => unpack(joined.bytes, set));
    return this.#complete(unpacked, set, joined.slots, secrets);
  }

  /**
   * Spares parsing what has just been made.
   *
   * @param digest `digestOf` its snapshot.
   */
  expect({ hash, snapshot, set }: LaidText, digest: string): void {
    const texts = set === null ? this.#joined : this.#first;
    texts.put(hash, { snapshot, problems: [], set });
    this.#digests.set(snapshot, digest);
  }

  #complete(
    parsed: ParsedSnapshot,
    set: PublishedSet,
    slots: readonly number[],
    secrets: readonly LiveSecret[],
  ): Published {
    const { snapshot } = parsed;
    if (snapshot === null) {
      return { ...nothing(`what is published cannot be read: ${firstError(parsed)}`), slots };
    }
    const keys = new Map(secrets.flatMap((secret) => [...this.#keysOf(secret)]));
    const missing = set.keys.filter((hash) => !keys.has(hash));
    const whole = {
      ...snapshot,
      ...(snapshot.credentials === undefined
        ? {}
        : { credentials: withUsers(snapshot.credentials, keys) }),
      certificates: withKeys(snapshot.certificates, keys),
    };
    const { version } = snapshot;
    if (missing.length > 0) {
      const problem = `Secrets lack ${missing.length} of ${set.keys.length} private keys`;
      return { snapshot: whole, version, digest: null, slots, problem };
    }
    let digest = this.#digests.get(snapshot);
    if (digest === undefined) this.#digests.set(snapshot, digest = digestOf(snapshot));
    return { snapshot: whole, version, digest, slots, problem: null };
  }

  #keysOf(secret: LiveSecret): ReadonlyMap<string, Secret> {
    let keys = this.#keys.get(secret);
    if (keys === undefined) this.#keys.set(secret, keys = keysOf(secret));
    return keys;
  }
}

/** The keys of a published Secret that are what their names say, by these; none of other Secrets. */
export function keysOf({ metadata, data }: LiveSecret): Map<string, Secret> {
  const keys = new Map<string, Secret>();
  if (!isKeySecretName(metadata?.name ?? "")) return keys;
  for (const [hash, value] of Object.entries(data ?? {})) {
    if (!isSha256(hash)) continue;
    const pem = Buffer.from(value, "base64");
    const text = pem.toString();
    if (secretFileName(text) === hash) keys.set(hash, new Redacted(text));
  }
  return keys;
}

/** What was read of which objects. */
interface Reading {
  readonly configMaps: readonly LiveConfigMap[];
  readonly secrets: readonly LiveSecret[];
  readonly published: Published;
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

/**
 * What was made or asked for last under two keys: while a configuration is written, the one before it
 * is still read.
 */
class Recent<T> {
  readonly #values = new Map<string, T>();

  get(key: string, make: () => T): T {
    const value = this.#values.has(key) ? this.#values.get(key) as T : make();
    this.put(key, value);
    return value;
  }

  put(key: string, value: T): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > 2) this.#values.delete(oldest);
  }
}

type Joined =
  | { readonly ok: true; readonly bytes: Buffer; readonly slots: readonly number[] }
  | { readonly ok: false; readonly problem: string; readonly slots: readonly number[] };

function joinParts(
  { parts }: PublishedSet,
  configMaps: ReadonlyMap<string, LiveConfigMap>,
  format: number,
): Joined {
  const first = `ConfigMap ${configMapName(0, format)}`;
  const slots = parts.map(({ path }) =>
    allSlots().find((slot) => configFileName(slot, format) === path)
  );
  const known = slots.filter((slot) => slot !== undefined);
  const chunks: Buffer[] = [];
  for (let i = 0; i < parts.length; i++) {
    const slot = slots[i];
    if (slot === undefined) {
      return { ok: false, problem: `${first} names a part that no ConfigMap has`, slots: known };
    }
    const name = configMapName(slot, format);
    const value = configMaps.get(name)?.binaryData?.[configKey(format)];
    if (value === undefined) {
      return { ok: false, problem: `there is no ConfigMap ${name}`, slots: known };
    }
    const chunk = Buffer.from(value, "base64");
    if (sha256Of(chunk) !== parts[i].sha256) {
      const problem = `ConfigMap ${name} is not the part that ${first} names`;
      return { ok: false, problem, slots: known };
    }
    chunks.push(chunk);
  }
  return { ok: true, bytes: Buffer.concat(chunks), slots: known };
}

function unpack(bytes: Buffer, { sha256 }: PublishedSet): ParsedSnapshot {
  try {
    const text = gunzipSync(bytes, { maxOutputLength: MAX_TEXT });
    if (sha256Of(text) !== sha256) return unreadable("the parts make up another text");
    return parseSnapshot(text.toString());
  } catch (error) {
    return unreadable(error instanceof Error ? error.message : String(error));
  }
}

function unreadable(message: string): ParsedSnapshot {
  const problem = { path: "$", message, remedy: "publish it again", severity: "error" } as const;
  return { snapshot: null, problems: [problem], set: null };
}

/** With keys in place of files; without those whose key is missing. */
function withKeys(
  certificates: readonly Certificate[],
  keys: ReadonlyMap<string, Secret>,
): Certificate[] {
  return certificates.flatMap((certificate) => {
    if (certificate.key.kind !== "file" || !isSha256(certificate.key.path)) return certificate;
    const pem = keys.get(certificate.key.path);
    return pem === undefined ? [] : { ...certificate, key: { kind: "secret", pem } };
  });
}

/** Likewise; who has a filter with credentials that are left out is not admitted. */
function withUsers(
  credentials: readonly Credentials[],
  keys: ReadonlyMap<string, Secret>,
): Credentials[] {
  return credentials.flatMap((one) => {
    if (one.users.kind !== "file") return one;
    const text = keys.get(one.users.path);
    return text === undefined ? [] : { id: one.id, users: { kind: "secret", text } };
  });
}

function firstError({ problems }: ParsedSnapshot): string {
  const { path, message } = problems.find(({ severity }) => severity === "error")!;
  return `${path}: ${message}`;
}

function nothing(problem: string): Published {
  return { snapshot: null, version: null, digest: null, slots: [], problem };
}
