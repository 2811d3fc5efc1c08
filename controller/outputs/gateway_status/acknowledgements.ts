/**
 * How far proxies have come. In: each content that is streamed, and what each proxy has. Out: the newest
 * content that a proxy has all of, as a number that grows with every content.
 *
 * Proxies of another replica have what that one has translated: the same content has the same hash there;
 * and a version says by itself how far each kind had been seen, whichever replica has written it.
 */
import type { SnapshotVersion } from "../../../shared/snapshot/types.ts";
import { compareRevisions } from "../../kube/revision.ts";
import { GATEWAYS } from "../../kube/types.ts";

/** What is streamed, or what a proxy has. */
export interface Version {
  /** Of the content; null where there is none. */
  readonly hash: string | null;
  readonly version: SnapshotVersion | null;
}

/** Contents that are remembered: a proxy that is further behind has none of them. */
const MAX_CONTENTS = 256;

interface SentContent {
  readonly hash: string;
  readonly version: SnapshotVersion;
  readonly sequence: number;
}

export class Acknowledgements {
  /** By hash, the oldest first. */
  readonly #contents = new Map<string, SentContent>();
  #sequence = 0;

  /** The newest content. @returns its number; of an equal content, a new one all the same. */
  sent(hash: string, version: SnapshotVersion): number {
    const sequence = ++this.#sequence;
    this.#contents.delete(hash);
    this.#contents.set(hash, { hash, version, sequence });
    const [oldest] = this.#contents.keys();
    if (this.#contents.size > MAX_CONTENTS) this.#contents.delete(oldest);
    return sequence;
  }

  /** The number of the newest content that this one includes; 0 for none that is known. */
  sequenceOf({ hash, version }: Version): number {
    const same = hash === null ? undefined : this.#contents.get(hash);
    if (same?.sequence === this.#sequence || version === null) return same?.sequence ?? 0;
    const included = Array.from(this.#contents.values()).findLast((content) =>
      includes(version, content.version)
    );
    return Math.max(same?.sequence ?? 0, included?.sequence ?? 0);
  }
}

/** Whether all that went into `older` has been seen; never where kinds of Gateway API do not count. */
function includes(version: SnapshotVersion, older: SnapshotVersion): boolean {
  if (version.epoch !== older.epoch || !Object.hasOwn(older.seen, GATEWAYS.kind)) return false;
  return Object.entries(older.seen).every(([kind, seen]) =>
    Object.hasOwn(version.seen, kind) && compareRevisions(version.seen[kind], seen) >= 0
  );
}
