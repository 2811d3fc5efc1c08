/**
 * What is published in any format that can be read. In: ConfigMaps and Secrets as the API server has
 * them. Out: the later of the configurations that they hold, and the keys that an earlier format
 * still needs.
 *
 * Format 1 is read for one release. It is the later one before this version has published anything,
 * and after a rollback to the version before, which knows nothing of format 2.
 */
import { configKey, configMapName, FORMAT_1 } from "../../../shared/snapshot/published_set.ts";
import { readHead } from "../../../shared/snapshot/head.ts";
import type { SnapshotVersion } from "../../../shared/snapshot/types.ts";
import { compareVersions } from "../../../shared/snapshot/version_order.ts";
import type { LaidText } from "./layout.ts";
import type { LiveConfigMap } from "./objects.ts";
import type { LiveSet } from "./plan.ts";
import { type Published, PublishedReader } from "./published.ts";

/** The first file of format 1. */
interface First {
  readonly text: string;
  readonly version: SnapshotVersion | null;
  readonly keys: ReadonlySet<string>;
}

const NO_FIRST: First = { text: "", version: null, keys: new Set() };

export class PublishedFormats {
  readonly #current = new PublishedReader();
  /** Only while it is needed: it remembers a whole configuration. */
  #earlier: PublishedReader | null = null;
  #first = NO_FIRST;

  /**
   * Without `digest` where it is of format 1: it is still to be published in the format of today.
   *
   * @param earlier ConfigMaps of format 1.
   * @param known What was read last that was whole.
   */
  read(live: LiveSet, earlier: readonly LiveConfigMap[], known: Published | null): Published {
    const current = this.#current.read(live.configMaps, live.secrets);
    const { version } = this.#firstOf(earlier);
    const isKnown = known !== null && known.digest !== null;
    const latest = current.version ?? (isKnown ? known.version : null);
    const isLater = version !== null &&
      (latest === null || compareVersions(version, latest) === "newer");
    if (!isLater) {
      this.#earlier = null;
      return current;
    }
    this.#earlier ??= new PublishedReader(FORMAT_1);
    const before = this.#earlier.read(earlier, live.secrets);
    const isUseful = before.problem === null || current.snapshot === null;
    if (before.snapshot === null || !isUseful) return current;
    return { ...before, digest: null, slots: current.slots };
  }

  /** Hashes of the keys that the configuration of format 1 names; none where there is none. */
  earlierKeys(earlier: readonly LiveConfigMap[]): ReadonlySet<string> {
    return this.#firstOf(earlier).keys;
  }

  /** See `PublishedReader`. */
  expect(text: LaidText, digest: string): void {
    this.#current.expect(text, digest);
  }

  #firstOf(earlier: readonly LiveConfigMap[]): First {
    const first = earlier.find(({ metadata }) => metadata?.name === configMapName(0, FORMAT_1));
    const text = first?.data?.[configKey(FORMAT_1)] ?? "";
    if (text !== this.#first.text) this.#first = toFirst(text);
    return this.#first;
  }
}

function toFirst(text: string): First {
  const head = readHead(text);
  // Without a set it is nobody's that published.
  if (head === null || head.set === null) return { ...NO_FIRST, text };
  return { text, version: head.version, keys: new Set(head.set.keys) };
}
