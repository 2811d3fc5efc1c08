/**
 * The CRDs of Gateway API that are installed. In: kinds that are watched, after each discovery. Out: their
 * CRDs, as far as they may be read, and a call when they have changed.
 *
 * The right to read them is optional: nothing that is served depends on it. They are read when kinds come or
 * go, and now and then, since a new bundle may serve the same versions.
 */
import type { KubeClient } from "../kube/client.ts";
import { isAlike } from "../kube/likeness.ts";
import { BUNDLE_VERSION, type Crd, crdName, CRDS, type KubeObject } from "../kube/types.ts";
import { type KindName, KINDS } from "./kinds.ts";

/** Discoveries from one reading to the next, if no kind comes or goes: of 10 seconds, a minute. */
const READ_EVERY = 6;

export interface GatewayBundleOptions {
  readonly client: Pick<KubeClient, "get">;
  /** What `crds` gives has changed. */
  readonly onChange: () => void;
}

export class GatewayBundle {
  readonly #options: GatewayBundleOptions;
  #crds: readonly Crd[] | null = null;
  /** What was read last, with the versions of the kinds. */
  #read = "";
  /** Discoveries since. */
  #discoveries = 0;

  constructor(options: GatewayBundleOptions) {
    this.#options = options;
  }

  /** Of the kinds that are watched, sorted by name; null where they cannot be read, or were not yet. */
  get crds(): readonly Crd[] | null {
    return this.#crds;
  }

  /** To be called after each discovery. Never throws. */
  async discovered(watched: ReadonlyMap<KindName, string>, signal: AbortSignal): Promise<void> {
    const kinds = JSON.stringify([...watched].sort());
    const isDue = kinds !== this.#read || ++this.#discoveries >= READ_EVERY;
    if (!isDue) return;
    const crds = await this.#readAll([...watched.keys()], signal);
    // Tried again after the next discovery, and what was known is kept.
    if (crds === undefined) return;
    this.#read = kinds;
    this.#discoveries = 0;
    if (isAlike(crds, this.#crds)) return;
    this.#crds = crds;
    this.#options.onChange();
  }

  /** Null where they may not be read; undefined where that failed. */
  async #readAll(
    names: readonly KindName[],
    signal: AbortSignal,
  ): Promise<readonly Crd[] | null | undefined> {
    const { client } = this.#options;
    const results = await Promise.all(
      names.map((name) => crdName(KINDS[name].resource)).sort().map((name) =>
        client.get(CRDS, null, name, { signal, metadataOnly: true, isOptional: true })
      ),
    );
    const crds: Crd[] = [];
    for (const result of results) {
      if (result.ok) crds.push(readCrd(result.value));
      else if (result.error.code === 403) return null;
      // A kind that is on its way out, or is served by another API server than this one.
      else if (result.error.code !== 404) return undefined;
    }
    return crds;
  }
}

function readCrd({ metadata }: KubeObject): Crd {
  const { name, annotations, deletionTimestamp } = metadata;
  return {
    name,
    bundleVersion: annotations?.[BUNDLE_VERSION] || null,
    isTerminating: deletionTimestamp !== undefined,
  };
}
