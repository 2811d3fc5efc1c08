/**
 * What the controller publishes, as the API server tells it. In: a watch of the ConfigMaps. Out: when
 * a whole configuration stood there that carries what is waited for, and how often each was written.
 *
 * A time is that at which the bytes of the last event had come, before they were even parsed: looking
 * into a large configuration takes longer than to write it.
 */
import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import {
  configFileName,
  configKey,
  configMapName,
  MAX_PARTS,
  type PublishedSet,
  sha256Of,
} from "../../shared/snapshot/published_set.ts";
import type { LiveConfigMap } from "../../controller/outputs/publish/objects.ts";
import type { ApiClient } from "../../tests/cluster/support/api_client.ts";

/** Writes since the watch began. */
export interface WriteCounts {
  /** Of `pingress-config-v2`: each makes another configuration valid. */
  readonly index: number;
  /** Of `pingress-config-v2-1` and so on. */
  readonly parts: number;
}

interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: LiveConfigMap;
}

/** An object, and when it came, in ms of `performance.now`. */
interface Arrived {
  readonly object: LiveConfigMap;
  readonly at: number;
}

interface Waiter {
  readonly holds: (text: string) => boolean;
  readonly resolve: (at: number) => void;
  readonly reject: (error: Error) => void;
}

/** Names of the ConfigMaps, by the name of the file that a proxy sees. */
const NAMES = new Map(
  Array.from(
    { length: MAX_PARTS + 1 },
    (_, index) => [configFileName(index), configMapName(index)],
  ),
);

export class PublishedWatch {
  #objects = new Map<string, Arrived>();
  #counts = { index: 0, parts: 0 };
  #waiters = new Set<Waiter>();
  #failure: Error | null = null;
  readonly #body: ReadableStream<Uint8Array>;
  readonly #reading: Promise<void>;
  readonly #abort = new AbortController();

  private constructor(body: ReadableStream<Uint8Array>) {
    this.#body = body;
    this.#reading = this.#read().catch((error: Error) => this.#fail(error));
  }

  /** Begins before anything is published in `namespace`. Throws where the API server refuses. */
  static async open(client: ApiClient, namespace: string): Promise<PublishedWatch> {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const { status, body } = await client.request("GET", `${path}?limit=1`);
    const version = body.metadata?.resourceVersion;
    if (status !== 200) throw new Error(`Cannot list ConfigMaps: ${status}`);
    const query = `watch=1&resourceVersion=${version}&timeoutSeconds=7200`;
    const response = await client.open("GET", `${path}?${query}`);
    if (!response.ok || response.body === null) throw new Error(`No watch: ${response.status}`);
    return new PublishedWatch(response.body);
  }

  get counts(): WriteCounts {
    return { ...this.#counts };
  }

  /**
   * The time at which a configuration was complete whose JSON `holds`; that of the one that stands,
   * where it does already. Rejects after `patience` ms, and when the watch ends.
   */
  async carrying(
    what: string,
    holds: (text: string) => boolean,
    patience: number,
  ): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const waiter = { holds, resolve, reject };
    this.#waiters.add(waiter);
    const timer = setTimeout(
      () => reject(new Error(`${what} was not published within ${patience} ms`)),
      patience,
    );
    if (this.#failure !== null) reject(this.#failure);
    this.#look();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#reading;
  }

  async #read(): Promise<void> {
    const lines = this.#body.pipeThrough(new TextDecoderStream());
    let parts: string[] = [];
    try {
      for await (const chunk of withSignal(lines, this.#abort.signal)) {
        const at = performance.now();
        const pieces = chunk.split("\n");
        for (const piece of pieces.slice(0, -1)) {
          parts.push(piece);
          this.#take(JSON.parse(parts.join("")), at);
          parts = [];
        }
        parts.push(pieces.at(-1)!);
      }
    } catch (error) {
      if (!this.#abort.signal.aborted) throw error;
    }
    if (!this.#abort.signal.aborted) throw new Error("the watch of ConfigMaps has ended");
  }

  #take({ type, object }: WatchEvent, at: number): void {
    const name = object.metadata?.name ?? "";
    if (type === "ERROR") throw new Error(`the watch failed: ${JSON.stringify(object)}`);
    if (type === "DELETED") this.#objects.delete(name);
    if (type !== "ADDED" && type !== "MODIFIED") return;
    this.#objects.set(name, { object, at });
    if (name === configMapName(0)) this.#counts.index++;
    else this.#counts.parts++;
    this.#look();
  }

  #look(): void {
    if (this.#waiters.size === 0) return;
    const found = this.#complete();
    if (found === null) return;
    for (const waiter of this.#waiters) if (waiter.holds(found.text)) waiter.resolve(found.at);
  }

  /** The configuration that stands there, unless it lacks a part. */
  #complete(): { readonly text: string; readonly at: number } | null {
    const first = this.#objects.get(configMapName(0));
    const index = first?.object.data?.[configKey()];
    if (first === undefined || index === undefined) return null;
    const { set } = JSON.parse(index) as { readonly set?: PublishedSet };
    if (set === undefined) return null;
    if (set.parts.length === 0) return { text: index, at: first.at };
    let { at } = first;
    const chunks: Buffer[] = [];
    for (const { path, sha256 } of set.parts) {
      const part = this.#objects.get(NAMES.get(path) ?? "");
      const chunk = Buffer.from(part?.object.binaryData?.[configKey()] ?? "", "base64");
      if (part === undefined || sha256Of(chunk) !== sha256) return null;
      at = Math.max(at, part.at);
      chunks.push(chunk);
    }
    return { text: gunzipSync(Buffer.concat(chunks)).toString(), at };
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const { reject } of this.#waiters) reject(error);
  }
}

async function* withSignal<T>(stream: ReadableStream<T>, signal: AbortSignal): AsyncGenerator<T> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    reader.releaseLock();
  }
}
