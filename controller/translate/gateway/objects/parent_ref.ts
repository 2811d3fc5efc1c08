/**
 * Parents of routes. In: an element of `spec.parentRefs` of unknown shape. Out: which Gateway or ListenerSet
 * it names, and which of its listeners.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#parentreference
 */
import { asPort, asText, fieldOf, isAbsent } from "../../../base/json.ts";
import { GATEWAY_API, GATEWAYS, LISTENER_SETS } from "../../../kube/types.ts";
import { readReference, type Reference } from "./reference.ts";

export interface ParentRef extends Reference {
  /** Null for all listeners. */
  readonly sectionName: string | null;
  /** Null for all ports. */
  readonly port: number | null;
  /** As the object has it: in the status, it says which parent an entry is of. */
  readonly written: unknown;
  /** Its place in `spec.parentRefs`. */
  readonly index: number;
}

const KINDS: ReadonlySet<string> = new Set([GATEWAYS.kind, LISTENER_SETS.kind]);

/** Null for what is neither: other controllers may know it. */
export function readParentRef(
  value: unknown,
  namespace: string,
  index: number,
): ParentRef | null {
  const defaults = { group: GATEWAY_API, kind: GATEWAYS.kind, namespace };
  const reference = readReference(value, defaults);
  if (reference?.group !== GATEWAY_API || !KINDS.has(reference.kind)) return null;
  const port = fieldOf(value, "port");
  const readPort = isAbsent(port) ? null : asPort(port);
  // A port that is none must not stand for all.
  if (readPort === null && !isAbsent(port)) return null;
  const sectionName = asText(fieldOf(value, "sectionName"));
  return { ...reference, sectionName, port: readPort, written: value, index };
}
