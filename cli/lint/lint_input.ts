/** What lint reads. In: nothing. Out: the type that a folder and a cluster come to. */
import type { Resources } from "../../controller/kube/resources.ts";
import type { LocatedProblem, ManifestObject } from "../../dev/manifests/file.ts";
import type { Excerpt } from "../../dev/manifests/excerpt.ts";
import type { Position } from "../../dev/manifests/position.ts";
import type { ObjectRef } from "../../shared/problem.ts";
import type { InputProblem } from "./finding.ts";

export interface LintInput {
  readonly resources: Resources;
  /** Those that `resources` has no place for, too: Deployments and ConfigMaps. */
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly LocatedProblem[];
  /** Objects that could not be read: the result is not complete. */
  readonly unread: readonly InputProblem[];
  /** What nobody tried to read. */
  readonly notChecked: readonly InputProblem[];
  /** Whether Secrets are read; else none is known to be missing. */
  readonly hasSecrets: boolean;
  /** Null in a cluster. */
  readonly locate: (object: ObjectRef | null, field: string) => Position | null;
  /** The line of a place; null for one that must not be shown, and in a cluster. */
  readonly excerptAt: (at: Position) => Excerpt | null;
}
