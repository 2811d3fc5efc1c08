/**
 * The configuration that an admin port shows. In: its JSON, in which private keys and passwords are left out. Out:
 * the snapshot, with names of files in their place; null for one of another version.
 */
import { asList, asObject, fieldOf } from "../../controller/base/json.ts";
import { parseSnapshot } from "../../shared/snapshot/parse.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";

/** Nobody reads it: keys and passwords stay in the pods. */
const NOT_SHOWN = { kind: "file", path: "not-shown" } as const;

export function readShownSnapshot(page: unknown): Snapshot | null {
  const snapshot = asObject(page);
  if (snapshot === null) return null;
  const text = JSON.stringify({
    ...snapshot,
    certificates: (asList(snapshot.certificates) ?? []).map((one) => withoutSecret(one, "key")),
    ...(snapshot.credentials === undefined ? {} : {
      credentials: (asList(snapshot.credentials) ?? []).map((one) => withoutSecret(one, "users")),
    }),
  });
  return parseSnapshot(text).snapshot;
}

/** A file, or users that are missing, is no secret. */
function withoutSecret(part: unknown, field: "key" | "users"): unknown {
  return fieldOf(fieldOf(part, field), "kind") === "secret"
    ? { ...asObject(part), [field]: NOT_SHOWN }
    : part;
}
