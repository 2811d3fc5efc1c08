/**
 * The calls of a leader. In: a client, and the fence of an election. Out: the same calls, of which
 * writes are refused when we do not lead, and given up before another may: the one place where this
 * is seen to, so that nobody who writes has to remember it.
 *
 * Reads pass: they harm nobody.
 */
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  KubeClient,
  PatchOptions,
} from "./client.ts";
import type { WriteFence } from "./term.ts";
import type { ApiError, ApiResult, KubeObject, Resource } from "./types.ts";

/** What those who write need of a client. */
export type WriteClient = Pick<
  KubeClient,
  "get" | "create" | "update" | "apply" | "patch" | "delete"
>;

/** The reason of a write that was not begun. */
export const NOT_LEADING = "NotLeading";

/** Milliseconds for one write, if the fence allows as many. */
const DEADLINE = 30_000;

export class FencedClient implements WriteClient {
  readonly #client: WriteClient;
  readonly #fence: WriteFence;

  constructor(client: WriteClient, fence: WriteFence) {
    this.#client = client;
    this.#fence = fence;
  }

  get<T extends KubeObject>(
    resource: Resource,
    namespace: string | null,
    name: string,
    options?: CallOptions,
  ): Promise<ApiResult<T>> {
    return this.#client.get<T>(resource, namespace, name, options);
  }

  create<T extends KubeObject>(
    resource: Resource,
    object: KubeObject,
    options: CallOptions = {},
  ): Promise<ApiResult<T>> {
    return this.#write(options, (fenced) => this.#client.create<T>(resource, object, fenced));
  }

  update<T extends KubeObject>(
    resource: Resource,
    object: KubeObject,
    options: CallOptions = {},
  ): Promise<ApiResult<T>> {
    return this.#write(options, (fenced) => this.#client.update<T>(resource, object, fenced));
  }

  apply<T extends KubeObject>(
    resource: Resource,
    object: KubeObject,
    options: ApplyOptions = {},
  ): Promise<ApiResult<T>> {
    return this.#write(options, (fenced) => this.#client.apply<T>(resource, object, fenced));
  }

  patch<T extends KubeObject>(
    resource: Resource,
    namespace: string | null,
    name: string,
    patch: unknown,
    options: PatchOptions,
  ): Promise<ApiResult<T>> {
    return this.#write(
      options,
      (fenced) => this.#client.patch<T>(resource, namespace, name, patch, fenced),
    );
  }

  delete(
    resource: Resource,
    namespace: string | null,
    name: string,
    options: DeleteOptions = {},
  ): Promise<ApiResult<KubeObject>> {
    return this.#write(
      options,
      (fenced) => this.#client.delete(resource, namespace, name, fenced),
    );
  }

  #write<O extends CallOptions, T>(
    options: O,
    call: (options: O) => Promise<ApiResult<T>>,
  ): Promise<ApiResult<T>> {
    if (!this.#fence.mayWrite()) return Promise.resolve({ ok: false, error: REFUSED });
    const signal = this.#fence.writeSignal();
    return call({
      ...options,
      deadline: Math.min(options.deadline ?? DEADLINE, this.#fence.writeDeadline()),
      signal: options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]),
    });
  }
}

const REFUSED: ApiError = {
  code: 0,
  reason: NOT_LEADING,
  message: "another replica leads, so nothing was written",
  retryAfter: null,
};
