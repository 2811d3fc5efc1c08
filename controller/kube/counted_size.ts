/**
 * What an object counts for the bounds of its tenant. In: an object as it is kept. Out: bytes that do not depend on
 * what the controller itself writes into its status: else a status that makes an object too large would be replaced
 * by the shorter one of a stub, with which the object is whole again, and so on without an end.
 */
import { sizeOf } from "./reduce.ts";
import { GATEWAY_CONTROLLER, type KubeObject } from "./types.ts";

/** Bytes of an entry of ours in a status, for one parent of a route or one listener: about what an ordinary one takes. */
const ENTRY_BYTES = 512;

type Fields = Readonly<Record<string, unknown>>;

/** As JSON, without its status. */
export function sizeWithoutStatus(object: KubeObject): number {
  return sizeOf({ ...object, status: undefined });
}

/** Of a status: what others write into their lists, and for our entries always the same. */
export function statusAllowance(object: KubeObject): number {
  const { spec, status } = object as unknown as {
    readonly spec?: Fields;
    readonly status?: Fields;
  };
  const ours = (lengthOf(spec?.parentRefs) + lengthOf(spec?.listeners)) * ENTRY_BYTES;
  const foreign = [status?.parents, status?.ancestors].flatMap((list) =>
    (Array.isArray(list) ? list : []).filter((entry) =>
      entry?.controllerName !== GATEWAY_CONTROLLER
    )
  );
  return ours + (foreign.length === 0 ? 0 : sizeOf(foreign));
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
