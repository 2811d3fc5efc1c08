/**
 * What holds for all Ingresses of the profile nginx. In: nothing. Out: the type of what the ConfigMap
 * of ingress-nginx says, and of what is kept of it in a snapshot.
 */
import type { ReplyAction } from "../../../shared/snapshot/types.ts";

/** The very same object as long as the ConfigMap says the same. */
export interface GlobalSettings {
  /** What all paths reply; null where their Ingresses decide. */
  readonly closure: ReplyAction | null;
  /** Texts of annotations, by name, where an Ingress has none. */
  readonly defaults: ReadonlyMap<string, string>;
  /** Ingresses with annotations of a higher risk are refused; null for none. */
  readonly risk: Risk | null;
  /** Words that no value of an annotation may have. */
  readonly forbiddenWords: readonly string[];
}

/** From the lowest to the highest. */
export const RISKS = ["Low", "Medium", "High", "Critical"] as const;
export type Risk = typeof RISKS[number];

export const NO_DEFAULTS: ReadonlyMap<string, string> = new Map();

/** Without a ConfigMap, and for Ingresses of other profiles. */
export const NO_GLOBALS: GlobalSettings = {
  closure: null,
  defaults: NO_DEFAULTS,
  risk: null,
  forbiddenWords: [],
};

/** `NAMESPACE/NAME` of `--configmap`. */
export interface ConfigMapName {
  readonly namespace: string;
  readonly name: string;
}
