/**
 * What holds for all Ingresses of the profile nginx. In: nothing. Out: the type of what the ConfigMap
 * of ingress-nginx says, and of what is kept of it in a snapshot.
 */
import type { ReplyAction } from "../../../shared/snapshot/types.ts";

/** The very same object as long as the ConfigMap says the same. */
export interface GlobalSettings {
  /** What all paths reply; null where their Ingresses decide. */
  readonly closure: ReplyAction | null;
}

/** Without a ConfigMap, and for Ingresses of other profiles. */
export const NO_GLOBALS: GlobalSettings = { closure: null };

/** `NAMESPACE/NAME` of `--configmap`. */
export interface ConfigMapName {
  readonly namespace: string;
  readonly name: string;
}
