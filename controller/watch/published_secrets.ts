/**
 * Secrets that are in use. In: what is published. Out: the names of the Secrets that it has something of, which stay
 * when a namespace names more than it may.
 */
import { keyOf } from "../base/identity.ts";
import { readCredentialsId } from "../translate/model/credentials_name.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";

/** As `namespace/name`; authorities are not known by name, and not among them. */
export function publishedSecrets(published: Snapshot | null): ReadonlySet<string> {
  const secrets = new Set<string>();
  for (const { origin } of published?.certificates ?? []) {
    if (origin.kind === "Secret") secrets.add(keyOf(origin));
  }
  for (const { id, users } of published?.credentials ?? []) {
    const name = users.kind === "missing" ? null : readCredentialsId(id);
    if (name !== null) secrets.add(keyOf(name));
  }
  return secrets;
}
