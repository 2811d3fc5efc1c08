/**
 * One whole list, page by page. In: a kind and what to keep of each object. Out: all of them, as they
 * were at one moment, or how it failed; half a list is none.
 *
 * Pages are as large as can be parsed without holding up the process: objects of a kind are of much
 * the same size, so the pages before tell.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import { garbled } from "./answer.ts";
import type { KubeClient, ListOptions, Selection } from "./client.ts";
import { isRevision } from "./revision.ts";
import {
  ABORTED,
  type ApiError,
  type ApiResult,
  type KubeList,
  type KubeObject,
  type Resource,
} from "./types.ts";

export interface ListerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly selection: Selection;
  /** Makes what is kept of an object. */
  readonly reduce: (object: T) => T;
}

export interface WholeList<T> {
  readonly objects: readonly T[];
  /** The moment: a watch from here misses nothing. */
  readonly revision: string;
}

/** Objects of the first page ever, when their size is not known yet. */
const FIRST_PAGE = 50;

/** Objects of a page at most. */
const LARGEST_PAGE = 500;

/** Bytes of a page, about; parsing a MiB takes some 10 ms. */
const PAGE_BYTES = 1024 * 1024;

export class Lister<T extends KubeObject> {
  readonly #options: ListerOptions<T>;
  /** Of an object, on the page that had the largest. Null before the first. */
  #bytesEach: number | null = null;

  constructor(options: ListerOptions<T>) {
    this.#options = options;
  }

  /** A list of the moment of this call or later, not of what a cache of the server has. */
  async list(signal: AbortSignal): Promise<ApiResult<WholeList<T>>> {
    const first = await this.#pages(signal, true);
    if (first.ok || first.error.code !== 410) return first;
    // The moment was forgotten before the last page came. In one piece it cannot be.
    return await this.#pages(signal, false);
  }

  /** How far the server has got. Only the least is read. */
  async revision(signal: AbortSignal): Promise<ApiResult<string>> {
    const { client, resource, selection } = this.#options;
    const page = await client.list(resource, { ...selection, metadataOnly: true }, {
      signal,
      limit: 1,
    });
    if (!page.ok) return page;
    const { resourceVersion } = page.value.metadata;
    return isRevision(resourceVersion) ? { ok: true, value: resourceVersion } : NO_LIST;
  }

  async #pages(signal: AbortSignal, inPages: boolean): Promise<ApiResult<WholeList<T>>> {
    const { client, resource, selection, reduce } = this.#options;
    const objects: T[] = [];
    let token: string | undefined;
    do {
      const options: ListOptions = {
        signal,
        continue: token,
        ...(inPages ? { limit: this.#pageSize() } : {}),
      };
      const page = await client.list<T>(resource, selection, options);
      if (!page.ok) return page;
      const { metadata, items } = page.value;
      if (!isRevision(metadata.resourceVersion) || !items.every(isObject)) return NO_LIST;
      for (const item of items) objects.push(reduce(item));
      this.#learn(page.value);
      token = metadata.continue;
      if (!token) return { ok: true, value: { objects, revision: metadata.resourceVersion } };
    } while (!signal.aborted);
    return ABORTED_LIST;
  }

  #pageSize(): number {
    if (this.#bytesEach === null) return FIRST_PAGE;
    return Math.max(1, Math.min(LARGEST_PAGE, Math.floor(PAGE_BYTES / this.#bytesEach)));
  }

  #learn({ items, bytes }: KubeList<T>): void {
    if (items.length === 0) return;
    this.#bytesEach = Math.max(this.#bytesEach ?? 1, bytes / items.length);
  }
}

const NO_LIST: { readonly ok: false; readonly error: ApiError } = {
  ok: false,
  error: garbled("the list holds what is not an object"),
};

const ABORTED_LIST: { readonly ok: false; readonly error: ApiError } = {
  ok: false,
  error: { code: 0, reason: ABORTED, message: "the list was given up", retryAfter: null },
};

function isObject(item: KubeObject | null): boolean {
  return typeof item?.metadata?.name === "string" && isRevision(item.metadata.resourceVersion);
}
