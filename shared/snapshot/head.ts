/**
 * What a configuration file says of itself. In: its text. Out: its version and what belongs to it,
 * which stand in an index as well as in a whole snapshot; nothing of its content is checked.
 */
import { ConfigCheck, isObject } from "./config_check.ts";
import { readVersion } from "./parse.ts";
import { type PublishedSet, readSet } from "./published_set.ts";
import type { SnapshotVersion } from "./types.ts";

export interface SnapshotHead {
  readonly version: SnapshotVersion;
  /** Null for a file that stands alone. */
  readonly set: PublishedSet | null;
}

/** Null where it is no snapshot of ours, or where one of the two cannot be read. Never throws. */
export function readHead(text: string): SnapshotHead | null {
  const root = parseJson(text);
  if (!isObject(root) || typeof root.format !== "number") return null;
  const check = new ConfigCheck();
  const version = readVersion(root.version, check);
  const set = root.set === undefined ? null : readSet(root.set, "$.set", check);
  return check.refused ? null : { version, set };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
