/**
 * Calls to the API server. In: a kind, a name and what to do. Out: the object, or how it failed, as
 * a value. Knows no retry: who calls knows what waits on it.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/ and
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
import { Redacted, type Secret } from "../../shared/redacted.ts";
import { garbled, isOutage, readAnswer, readEvent } from "./answer.ts";
import type { Credentials } from "./credentials.ts";
import { requestPath } from "./request_path.ts";
import { type HttpAnswer, type HttpCall, Transport } from "./transport.ts";
import {
  ABORTED,
  type ApiError,
  type ApiResult,
  apiVersionOf,
  type KubeList,
  type KubeObject,
  type Resource,
  type ServerVersion,
  type WatchEvent,
} from "./types.ts";

/** As whom the controller owns fields. */
export const FIELD_MANAGER = "pingress-controller";

/** By this name, metrics count requests for what the API server serves. */
const DISCOVERY: Resource = {
  group: "",
  version: "",
  plural: "apis",
  kind: "APIGroup",
  namespaced: false,
};

/** By this name, metrics count requests for the API server's version. */
const SERVER_VERSION: Resource = { ...DISCOVERY, plural: "version", kind: "Info" };

/** Milliseconds without a good answer after which not one kind alone is out of order, but all. */
const OUTAGE = 5_000;

/** Milliseconds for one call; the API server's own limit is a minute. */
const DEADLINE = 30_000;

export interface CallOptions {
  /** Milliseconds; 30,000 without it. */
  readonly deadline?: number;
  readonly signal?: AbortSignal;
}

/** Which objects. Names and selectors are sent as they are. */
export interface Selection {
  /** Null for all namespaces, and for kinds that have none. */
  readonly namespace: string | null;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only `metadata` (PartialObjectMetadata): no data of a Secret crosses the wire. */
  readonly metadataOnly?: boolean;
}

export interface GetOptions extends CallOptions, Pick<Selection, "metadataOnly"> {
  /** Whether it, or the right to it, may be missing: the answers 403 and 404 are not reported then. */
  readonly isOptional?: boolean;
}

export interface ListOptions extends CallOptions {
  /** Objects a page. */
  readonly limit?: number;
  readonly continue?: string;
  /** As of `GetOptions`. */
  readonly isOptional?: boolean;
}

export interface WatchOptions extends CallOptions {
  readonly resourceVersion: string;
  /** Seconds after which the server ends the watch. */
  readonly timeoutSeconds: number;
  /** Milliseconds without a byte after which the watch counts as dead. */
  readonly silence: number;
  readonly onEvent: (event: WatchEvent<KubeObject>) => void;
  /** Called when the server has taken the watch. */
  readonly onOpen?: () => void;
}

export interface ApplyOptions extends CallOptions {
  /** Fails with 409 if the object has another one by now. */
  readonly resourceVersion?: string;
  readonly subresource?: "status";
  readonly fieldManager?: string;
  /** Checks everything, stores nothing. */
  readonly dryRun?: boolean;
}

export interface PatchOptions extends CallOptions {
  /** RFC 6902 for `json`, RFC 7396 for `merge`. */
  readonly type: "json" | "merge";
  readonly subresource?: "status";
}

export interface DeleteOptions extends CallOptions {
  /** Fails with 409 if another object has the name by now. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** What metrics are told of each call. */
export interface CallReport {
  readonly verb: string;
  /** `ingresses`, `ingresses/status`. */
  readonly resource: string;
  /** 0 where no whole answer came. */
  readonly code: number;
  /** What the server says where it refuses the call (403); null elsewhere. */
  readonly refusal: string | null;
  readonly milliseconds: number;
}

export class KubeClient {
  readonly #transport: Transport;
  readonly #credentials: Credentials;
  readonly #onCall: (report: CallReport) => void;
  readonly #recoveries = new Set<() => void>();
  readonly #reads = new AbortController();
  #isAnswering = true;
  #isUnwell = false;
  /** When an answer came last that was none of an outage; milliseconds of the monotonic clock. */
  #wellAt = performance.now();

  constructor(credentials: Credentials, onCall: (report: CallReport) => void = () => {}) {
    this.#credentials = credentials;
    this.#transport = new Transport(credentials);
    this.#onCall = onCall;
  }

  get<T extends KubeObject>(
    resource: Resource,
    namespace: string | null,
    name: string,
    options: GetOptions = {},
  ): Promise<ApiResult<T>> {
    return this.#call("get", resource, "", {
      method: "GET",
      path: requestPath(resource, namespace, name),
      headers: accept(options, "PartialObjectMetadata"),
      ...this.#readLimits(options),
    }, options.isOptional);
  }

  /**
   * What the API server says of a group, or of one of its versions: an APIGroup or an APIResourceList.
   * Any account may read it (system:discovery). Fails with 404 where there is none.
   * @param version Null for the group.
   */
  discover<T>(
    group: string,
    version: string | null,
    options: CallOptions = {},
  ): Promise<ApiResult<T>> {
    return this.#call("get", DISCOVERY, "", {
      method: "GET",
      path: `/apis/${[group, version ?? []].flat().map(encodeURIComponent).join("/")}`,
      ...this.#readLimits(options),
    }, true);
  }

  /** The API server's own version. Any account may read it (system:public-info-viewer). */
  serverVersion(options: CallOptions = {}): Promise<ApiResult<ServerVersion>> {
    return this.#call("get", SERVER_VERSION, "", {
      method: "GET",
      path: "/version",
      ...this.#readLimits(options),
    }, true);
  }

  /** One page. The items carry no apiVersion and kind. */
  async list<T extends KubeObject>(
    resource: Resource,
    selection: Selection,
    options: ListOptions = {},
  ): Promise<ApiResult<KubeList<T>>> {
    const { limit, continue: next } = options;
    const query = { ...selectors(selection), limit: limit?.toString(), continue: next };
    const answer = await this.#send("list", resource, "", {
      method: "GET",
      path: requestPath(resource, selection.namespace, null, query),
      headers: accept(selection, "PartialObjectMetadataList"),
      ...this.#readLimits(options),
    }, options.isOptional);
    const result = readAnswer<KubeList<T>>(answer);
    if (!result.ok) return result;
    const { metadata, items } = result.value;
    // An empty list of PartialObjectMetadata has null in place of its items.
    const isList = Array.isArray(items ?? []) && typeof metadata?.resourceVersion === "string";
    if (!isList) return { ok: false, error: garbled("the answer is not a list") };
    const bytes = "status" in answer ? answer.bytes : 0;
    return { ok: true, value: { metadata, items: items ?? [], bytes } };
  }

  /**
   * Resolves when the watch ends: null if the server ended it in order. Code 410: list again. What
   * `onEvent` throws ends it too, as an error.
   */
  async watch(
    resource: Resource,
    selection: Selection,
    options: WatchOptions,
  ): Promise<ApiError | null> {
    const path = requestPath(resource, selection.namespace, null, {
      ...selectors(selection),
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(options.timeoutSeconds),
    });
    let failed: ApiError | null = null;
    let isOpen = false;
    const stop = new AbortController();
    const call: HttpCall = {
      method: "GET",
      path,
      headers: accept(selection, "PartialObjectMetadata"),
      ...limits(options),
      signal: options.signal === undefined
        ? stop.signal
        : AbortSignal.any([stop.signal, options.signal]),
    };
    const lines = {
      silence: options.silence,
      onLine: (line: string) => {
        if (failed !== null) return;
        const event = readEvent(line);
        if (event.ok) return options.onEvent(event.value);
        failed = event.error;
        stop.abort();
      },
      onOpen: () => {
        isOpen = true;
        this.#note(null);
        options.onOpen?.();
      },
    };
    const started = performance.now();
    const end = await this.#authorized(() => this.#transport.stream(call, lines));
    const result = failed === null && end !== null ? readAnswer(end) : null;
    const error = failed ?? (result === null || result.ok ? null : result.error);
    const code = isOpen ? 200 : error?.code ?? 0;
    this.#report("watch", resource, "", code, started, code === 403 ? error!.message : null);
    return error;
  }

  /** Server-side apply, forced: what we set is ours. Makes the object where there is none. */
  apply<T extends KubeObject>(
    resource: Resource,
    object: KubeObject,
    options: ApplyOptions = {},
  ): Promise<ApiResult<T>> {
    const { metadata } = object;
    const { resourceVersion } = options;
    const body = {
      ...object,
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: resourceVersion === undefined ? metadata : { ...metadata, resourceVersion },
    };
    return this.#call("apply", resource, options.subresource ?? "", {
      method: "PATCH",
      path: requestPath(resource, metadata.namespace ?? null, metadata.name, {
        fieldManager: options.fieldManager ?? FIELD_MANAGER,
        force: "true",
        dryRun: options.dryRun ? "All" : undefined,
      }, options.subresource),
      headers: { "content-type": "application/apply-patch+yaml" },
      body: JSON.stringify(body),
      ...limits(options),
    });
  }

  create<T extends KubeObject>(
    resource: Resource,
    object: KubeObject,
    options: CallOptions = {},
  ): Promise<ApiResult<T>> {
    return this.#call("create", resource, "", {
      method: "POST",
      path: requestPath(resource, object.metadata.namespace ?? null, null, {
        fieldManager: FIELD_MANAGER,
      }),
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...object,
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
      }),
      ...limits(options),
    });
  }

  /** Replaces the object; 409 if its `metadata.resourceVersion` is not the stored one. */
  update<T extends KubeObject>(
    resource: Resource,
    object: KubeObject,
    options: CallOptions = {},
  ): Promise<ApiResult<T>> {
    return this.#call("update", resource, "", {
      method: "PUT",
      path: requestPath(resource, object.metadata.namespace ?? null, object.metadata.name, {
        fieldManager: FIELD_MANAGER,
      }),
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...object,
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
      }),
      ...limits(options),
    });
  }

  patch<T extends KubeObject>(
    resource: Resource,
    namespace: string | null,
    name: string,
    patch: unknown,
    options: PatchOptions,
  ): Promise<ApiResult<T>> {
    return this.#call("patch", resource, options.subresource ?? "", {
      method: "PATCH",
      path: requestPath(
        resource,
        namespace,
        name,
        { fieldManager: FIELD_MANAGER },
        options.subresource,
      ),
      headers: { "content-type": `application/${options.type}-patch+json` },
      body: JSON.stringify(patch),
      ...limits(options),
    });
  }

  delete(
    resource: Resource,
    namespace: string | null,
    name: string,
    options: DeleteOptions = {},
  ): Promise<ApiResult<KubeObject>> {
    const { uid, resourceVersion } = options;
    return this.#call("delete", resource, "", {
      method: "DELETE",
      path: requestPath(resource, namespace, name),
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: "Background",
        preconditions: uid === undefined && resourceVersion === undefined
          ? undefined
          : { uid, resourceVersion },
      }),
      ...limits(options),
    });
  }

  /**
   * Calls `recovered` each time the server answers again after a call that it did not answer, or
   * answers well after seconds in which it refused everything, so that others need not wait until
   * their next try. Returns what ends it.
   */
  onRecovery(recovered: () => void): () => void {
    this.#recoveries.add(recovered);
    return () => void this.#recoveries.delete(recovered);
  }

  /** Our own address, as other pods reach us; null before the first call. */
  get localAddress(): string | null {
    return this.#transport.localAddress;
  }

  /** The token that we show; null where there is none, or it cannot be read now. */
  async token(): Promise<Secret | null> {
    try {
      const { headers } = await this.#credentials.current();
      const token = /^bearer +(\S+)$/i.exec(headers.Authorization ?? "")?.[1];
      return token === undefined ? null : new Redacted(token);
    } catch {
      return null;
    }
  }

  /** Milliseconds since the server last answered well, if it has not since then; else 0. */
  get unwellFor(): number {
    return this.#isUnwell ? performance.now() - this.#wellAt : 0;
  }

  /**
   * Ends reads that have no deadline of their own, now and from now on. A process that stops waits for
   * its writes alone: an API server that does not answer would hold it up for longer than its pod has.
   */
  abandonReads(): void {
    this.#reads.abort();
  }

  /** Closes idle connections. */
  close(): void {
    this.#credentials.close();
  }

  #readLimits(options: CallOptions): { deadline: number; signal?: AbortSignal } {
    if (options.deadline !== undefined) return limits(options);
    const { signal } = this.#reads;
    return limits({
      signal: options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]),
    });
  }

  async #call<T>(
    verb: string,
    resource: Resource,
    subresource: string,
    call: HttpCall,
    isOptional = false,
  ): Promise<ApiResult<T>> {
    return readAnswer<T>(await this.#send(verb, resource, subresource, call, isOptional));
  }

  async #send(
    verb: string,
    resource: Resource,
    subresource: string,
    call: HttpCall,
    isOptional = false,
  ): Promise<HttpAnswer | ApiError> {
    const started = performance.now();
    const answer = await this.#authorized(() => this.#transport.exchange(call));
    const code = "status" in answer ? answer.status : answer.code;
    if (isOptional && (code === 403 || code === 404)) return answer;
    const refused = code === 403 ? readAnswer(answer) : null;
    const refusal = refused === null || refused.ok ? null : refused.error.message;
    this.#report(verb, resource, subresource, code, started, refusal);
    return answer;
  }

  /** The token may have been renewed since it was read: once more with what is there now. */
  async #authorized<T extends HttpAnswer | ApiError | null>(send: () => Promise<T>): Promise<T> {
    const { round } = this.#credentials;
    const end = await send();
    this.#note(end);
    if (end === null || !("status" in end) || end.status !== 401) return end;
    this.#credentials.invalidate(round);
    return await send();
  }

  #note(end: HttpAnswer | ApiError | null): void {
    const isAnswer = end === null || "status" in end;
    if (!isAnswer && end.reason === ABORTED) return;
    const now = performance.now();
    const wasAway = isAnswer && !this.#isAnswering;
    this.#isAnswering = isAnswer;
    const isWell = end === null || ("status" in end && !isOutage(end.status));
    const wasUnwell = isWell && now - this.#wellAt > OUTAGE && this.#isUnwell;
    if (isWell) this.#wellAt = now;
    this.#isUnwell = !isWell;
    if (!wasAway && !wasUnwell) return;
    for (const recovered of this.#recoveries) recovered();
  }

  #report(
    verb: string,
    resource: Resource,
    subresource: string,
    code: number,
    started: number,
    refusal: string | null,
  ): void {
    this.#onCall({
      verb,
      resource: subresource === "" ? resource.plural : `${resource.plural}/${subresource}`,
      code,
      refusal,
      milliseconds: performance.now() - started,
    });
  }
}

function limits({ deadline, signal }: CallOptions): { deadline: number; signal?: AbortSignal } {
  return { deadline: deadline ?? DEADLINE, signal };
}

function accept(
  { metadataOnly }: Pick<Selection, "metadataOnly">,
  kind: "PartialObjectMetadata" | "PartialObjectMetadataList",
): Record<string, string> {
  return metadataOnly ? { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` } : {};
}

function selectors({ labelSelector, fieldSelector }: Selection) {
  return { labelSelector, fieldSelector };
}
