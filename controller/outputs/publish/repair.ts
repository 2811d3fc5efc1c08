/**
 * One published object, as it is and as it is to be. In: both. Out: whether they agree, and if not,
 * what applying ours does not mend: server-side apply leaves alone what others have added.
 */
import { isAlike } from "../../kube/likeness.ts";
import { OWNER_LABELS } from "../workload/names.ts";
import type { Entries, LiveConfigMap, LiveSecret } from "./objects.ts";

/** By which what is published is found. */
export const PUBLISHED_LABEL = "pingress.io/published";

/** On every ConfigMap and Secret that is published; by the last, watches choose them. */
export const PUBLISHED_LABELS: Entries = {
  ...OWNER_LABELS,
  [PUBLISHED_LABEL]: "snapshot",
};

/** What an object is to hold; a field that is missing is to be empty. */
export interface Content {
  /** Of Secrets only. */
  readonly type?: string;
  readonly data?: Entries;
  readonly binaryData?: Entries;
}

type Live = LiveConfigMap & LiveSecret;

/** Whether an object holds `content` and nothing else, and has our labels. */
export function isAsPlanned(live: Live, content: Content): boolean {
  const labels = live.metadata?.labels;
  return Object.entries(PUBLISHED_LABELS).every(([name, value]) => labels?.[name] === value) &&
    live.immutable !== true &&
    (content.type === undefined || live.type === content.type) &&
    isAlike(live.data ?? {}, content.data ?? {}) &&
    isAlike(live.binaryData ?? {}, content.binaryData ?? {});
}

/**
 * Whether no change will make it so: what is immutable, a Secret's type, and a key that somebody
 * has put into the other of the two fields, where ours may not be as well.
 */
export function mustBeMadeAnew(live: Live, content: Content): boolean {
  return live.immutable === true ||
    (content.type !== undefined && live.type !== content.type) ||
    haveCommonKey(live.data, content.binaryData) ||
    haveCommonKey(live.binaryData, content.data);
}

/** The merge patch (RFC 7396) that takes away what is beside `content`; null where nothing is. */
export function removalOf(
  live: Live,
  content: Content,
): Readonly<Record<string, Readonly<Record<string, null>>>> | null {
  const patch: Record<string, Record<string, null>> = {};
  for (const field of ["data", "binaryData"] as const) {
    const foreign = Object.keys(live[field] ?? {})
      .filter((key) => !Object.hasOwn(content[field] ?? {}, key));
    if (foreign.length > 0) patch[field] = Object.fromEntries(foreign.map((key) => [key, null]));
  }
  return Object.keys(patch).length === 0 ? null : patch;
}

function haveCommonKey(a: Entries | null | undefined, b: Entries | null | undefined): boolean {
  return Object.keys(a ?? {}).some((key) => Object.hasOwn(b ?? {}, key));
}
