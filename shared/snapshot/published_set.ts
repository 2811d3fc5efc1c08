/**
 * What a published configuration is made of. In: the field `set` of a configuration file. Out: the
 * parts that its text is cut into, and the keys that belong to it; and the names of both, as files
 * and as objects of Kubernetes.
 *
 * A ConfigMap and a Secret hold 1 MiB each, and each reaches a pod at a time of its own. So the
 * first file, the only one whose name never changes, names everything else by its sha256: what
 * does not fit it is of another moment, or has been damaged.
 */
import { createHash } from "node:crypto";
import type { ConfigCheck } from "./config_check.ts";
import { SNAPSHOT_FORMAT } from "./types.ts";

/** Written by the version before, and read for one release. */
export const FORMAT_1 = 1;

/** The field `set` of the first file. All hashes are sha256 in hex. */
export interface PublishedSet {
  /** Of the snapshot's text, which the parts make up; null where the first file is the snapshot. */
  readonly sha256: string | null;
  /** In order, cut from the gzip of the snapshot's text. Empty: the first file is the snapshot. */
  readonly parts: readonly PublishedPart[];
  /** Hashes of the private keys' PEM, sorted; each is also the name of the file that holds it. */
  readonly keys: readonly string[];
}

export interface PublishedPart {
  /** A name in the folder of the first file. */
  readonly path: string;
  readonly sha256: string;
}

/** ConfigMaps beside the first: `pingress-config-1` and so on. */
export const MAX_PARTS = 7;

/** Secrets with keys, the first of them without a number. */
export const MAX_KEY_SECRETS = 16;

/**
 * The first file of format 1, and the name by which a proxy finds that of any format. The
 * configuration of the controller in Rust has it too.
 */
export const FORMAT_1_FILE = configFileName(0, FORMAT_1);

/** The one key of each ConfigMap of a format. */
export function configKey(format: number = SNAPSHOT_FORMAT): string {
  return configFileName(0, format);
}

/**
 * The ConfigMap of the first file (0) or of a part (from 1). Each format has ConfigMaps of its own: a
 * controller removes keys that it does not know from those that it writes, and ignores others.
 */
export function configMapName(index: number, format: number = SNAPSHOT_FORMAT): string {
  return `pingress-config${suffixOf(index, format)}`;
}

/** The file that a proxy sees of `configMapName(index, format)`. */
export function configFileName(index: number, format: number = SNAPSHOT_FORMAT): string {
  return `proxy${suffixOf(index, format)}.json`;
}

function suffixOf(index: number, format: number): string {
  return `${format === FORMAT_1 ? "" : `-v${format}`}${index === 0 ? "" : `-${index}`}`;
}

/** The Secret of keys with this index, from 0. */
export function keySecretName(index: number): string {
  return index === 0 ? "pingress-keys" : `pingress-keys-${index}`;
}

const KEY_SECRET_NAMES = new Set(
  Array.from({ length: MAX_KEY_SECRETS }, (_, index) => keySecretName(index)),
);

/** Whether a Secret of this name holds published keys. */
export function isKeySecretName(name: string): boolean {
  return KEY_SECRET_NAMES.has(name);
}

/** sha256 in hex; of a text, its UTF-8. */
export function sha256Of(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Whether a text looks like what `sha256Of` gives. */
export function isSha256(text: unknown): text is string {
  return typeof text === "string" && /^[0-9a-f]{64}$/.test(text);
}

/** As it is written: its fields in one order. */
export function plainSet({ sha256, parts, keys }: PublishedSet) {
  return {
    sha256: sha256 ?? undefined,
    parts: parts.map(({ path, sha256 }) => ({ path, sha256 })),
    keys: [...keys],
  };
}

/** Null where it cannot be read, which has been reported then. */
export function readSet(value: unknown, path: string, check: ConfigCheck): PublishedSet | null {
  const set = check.object(value, path, ["sha256", "parts", "keys"]);
  if (set === null) return null;
  const parts = check.array(
    set.parts,
    `${path}.parts`,
    "refused",
    (part, place) => readPart(part, place, check),
  );
  const keys = check.array(
    set.keys,
    `${path}.keys`,
    "refused",
    (key, place) => readSha256(key, place, check),
  );
  if (parts.length === 0) return { sha256: null, parts, keys };
  const sha256 = readSha256(set.sha256, `${path}.sha256`, check);
  return sha256 === null ? null : { sha256, parts, keys };
}

function readPart(value: unknown, path: string, check: ConfigCheck): PublishedPart | null {
  const part = check.object(value, path, ["path", "sha256"]);
  if (part === null) return null;
  const name = readFileName(part.path, `${path}.path`, check);
  const sha256 = readSha256(part.sha256, `${path}.sha256`, check);
  return name === null || sha256 === null ? null : { path: name, sha256 };
}

/** A name only: whoever writes the first file must not choose what else is read. */
function readFileName(value: unknown, path: string, check: ConfigCheck): string | null {
  const name = check.name(value, path);
  if (name === null || /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/.test(name)) return name;
  return check.refuse(path, "it is not the name of a file in the same folder", "write only a name");
}

function readSha256(value: unknown, path: string, check: ConfigCheck): string | null {
  if (isSha256(value)) return value;
  return check.refuse(path, "it is no sha256", "write 64 hexadecimal digits in lower case");
}
