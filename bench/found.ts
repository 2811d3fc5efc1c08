/** Whether a peer is on this machine. In: a command that says its version. Out: that, or what to do. */
import { versionOf } from "./child.ts";

export type Found =
  | { readonly kind: "found"; readonly version: string }
  /** It could be here; `remedy` says how. */
  | { readonly kind: "missing"; readonly remedy: string }
  /** It is left out on purpose; `why` says so. */
  | { readonly kind: "left out"; readonly why: string };

/** A program that packages install. */
export async function findInstalled(version: readonly string[], remedy: string): Promise<Found> {
  const said = await versionOf(version);
  return said === null ? { kind: "missing", remedy } : { kind: "found", version: said };
}
