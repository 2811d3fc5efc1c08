/**
 * Reading what belongs to a published configuration. In: the folder of its first file, and what
 * that one names. Out: the snapshot's text and the private keys once all of it is there, or what is
 * lacking still.
 *
 * A pod sees each ConfigMap and Secret at a time of its own, so the files of one moment may be of
 * two configurations. Nothing of such a mixture is used: everything is named by its sha256.
 */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { type PublishedSet, sha256Of } from "../../shared/snapshot/published_set.ts";
import { Redacted, type Secret } from "../../shared/redacted.ts";
import { secretFileName } from "../../shared/credentials/credentials.ts";
import type { Certificate, Credentials, Snapshot } from "../../shared/snapshot/types.ts";
import { decodeConfig, MAX_CONFIG_FILE, readBytes, type Unreadable } from "./config_file.ts";

export type SetReading =
  | {
    readonly kind: "whole";
    /** Null where the first file is the snapshot. */
    readonly text: string | null;
    /** By their hash. */
    readonly keys: ReadonlyMap<string, Secret>;
  }
  | {
    readonly kind: "incomplete";
    /** What there is to wait for, as a clause that names files. */
    readonly lacks: string;
  }
  /** All of it is there, and is of no use. */
  | Unreadable & { readonly kind: "unusable" };

/**
 * Never rejects.
 *
 * @param known Keys that need not be read again.
 */
export async function readPublishedSet(
  folder: string,
  set: PublishedSet,
  known: ReadonlyMap<string, Secret>,
): Promise<SetReading> {
  const parts = await readParts(folder, set);
  const { keys, missing } = await readKeys(folder, set.keys, known);
  const lacks = [...parts.lacks];
  if (missing.length > 0) {
    lacks.push(`${missing.length} of ${set.keys.length} private keys, ${missing[0]} first`);
  }
  if (lacks.length > 0) return { kind: "incomplete", lacks: lacks.join("; ") };
  if (set.sha256 === null) return { kind: "whole", text: null, keys };
  const decoded = await decodeConfig(parts.bytes);
  if (!decoded.ok) return { kind: "unusable", ...decoded };
  if (sha256Of(decoded.text) === set.sha256) return { kind: "whole", text: decoded.text, keys };
  const message = "its parts are those that it names, but make up another text";
  return { kind: "unusable", ok: false, message, remedy: "publish it again" };
}

/** With the keys of a set in place of files, so that what is used is what has been checked. */
export function withKeys(snapshot: Snapshot, keys: ReadonlyMap<string, Secret>): Snapshot {
  if (keys.size === 0) return snapshot;
  const certificates = snapshot.certificates.map((certificate): Certificate => {
    const { key } = certificate;
    const pem = key.kind === "file" ? keys.get(key.path) : undefined;
    return pem === undefined ? certificate : { ...certificate, key: { kind: "secret", pem } };
  });
  const credentials = snapshot.credentials?.map((one): Credentials => {
    const text = one.users.kind === "file" ? keys.get(one.users.path) : undefined;
    return text === undefined ? one : { id: one.id, users: { kind: "secret", text } };
  });
  return { ...snapshot, ...(credentials === undefined ? {} : { credentials }), certificates };
}

async function readParts(
  folder: string,
  { parts }: PublishedSet,
): Promise<{ bytes: Uint8Array; lacks: string[] }> {
  const chunks: Uint8Array[] = [];
  const lacks: string[] = [];
  let length = 0;
  for (const { path, sha256 } of parts) {
    const reading = await readBytes(join(folder, path));
    if (!reading.ok) {
      lacks.push(`${path}: ${reading.message}`);
    } else if (sha256Of(reading.bytes) !== sha256) {
      lacks.push(`${path}: it is of another configuration, or damaged`);
    } else if ((length += reading.bytes.length) > MAX_CONFIG_FILE) {
      lacks.push(`${path}: with it, the parts have more than ${MAX_CONFIG_FILE} bytes`);
      break;
    } else {
      chunks.push(reading.bytes);
    }
  }
  return { bytes: Buffer.concat(chunks), lacks };
}

async function readKeys(
  folder: string,
  hashes: readonly string[],
  known: ReadonlyMap<string, Secret>,
): Promise<{ keys: Map<string, Secret>; missing: string[] }> {
  const keys = new Map<string, Secret>();
  const missing: string[] = [];
  for (const hash of hashes) {
    const key = known.get(hash) ?? await readKey(join(folder, hash), hash);
    if (key === null) missing.push(hash);
    else keys.set(hash, key);
  }
  return { keys, missing };
}

async function readKey(path: string, hash: string): Promise<Secret | null> {
  const reading = await readBytes(path);
  if (!reading.ok) return null;
  const text = new TextDecoder().decode(reading.bytes);
  return secretFileName(text) === hash ? new Redacted(text) : null;
}
