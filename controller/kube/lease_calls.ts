/**
 * Reading and writing one Lease. In: a client, and where the Lease is. Out: the Lease, or how that
 * failed; and word of it in the log, once for each row of failures.
 */
import type { Logger } from "../../shared/log.ts";
import type { KubeClient } from "./client.ts";
import type { Lease, LeaseSpec } from "./lease.ts";
import { type ApiError, type ApiResult, type KubeMeta, LEASES } from "./types.ts";

/** The verbs that are needed, and no others. */
export type LeaseClient = Pick<KubeClient, "get" | "create" | "update">;

type LeaseVerb = keyof LeaseClient;

export interface LeasePlace {
  readonly namespace: string;
  readonly name: string;
  /** On a Lease that is created here. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

export class LeaseCalls {
  readonly #client: LeaseClient;
  readonly #place: LeasePlace;
  readonly #log: Logger;
  #failure: string | null = null;
  readonly #forbidden = new Set<LeaseVerb>();

  constructor(client: LeaseClient, place: LeasePlace, log: Logger) {
    this.#client = client;
    this.#place = place;
    this.#log = log;
  }

  /** `NAMESPACE/NAME`, for people. */
  get title(): string {
    return `${this.#place.namespace}/${this.#place.name}`;
  }

  /** Why the last calls failed; null since `worked`. */
  get failure(): string | null {
    return this.#failure;
  }

  /** The Lease, null where there is none. @param deadline in ms. */
  async read(deadline: number): Promise<ApiResult<Lease | null>> {
    const { namespace, name } = this.#place;
    const result = await this.#client.get<Lease>(LEASES, namespace, name, { deadline });
    if (result.ok) return result;
    if (result.error.code === 404) return { ok: true, value: null };
    return this.#failed("get", result.error);
  }

  /**
   * Puts `spec` into the place of exactly the Lease that was read, or makes one where it is null. Fails
   * with 409, or 404, where another one is there by now. Others' annotations stay. @param deadline in
   * ms.
   */
  async write(
    lease: Lease | null,
    spec: LeaseSpec,
    deadline: number,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<ApiResult<Lease>> {
    const verb = lease === null ? "create" : "update";
    // With the resourceVersion, and with the UID: a PUT creates where there is no Lease any more.
    const { annotations: before, ...metadata } = lease?.metadata ?? this.#place as KubeMeta;
    const all = { ...before, ...annotations };
    const object: Lease = {
      metadata: Object.keys(all).length === 0 ? metadata : { ...metadata, annotations: all },
      spec,
    };
    const result = await this.#client[verb]<Lease>(LEASES, object, { deadline });
    return result.ok ? result : this.#failed(verb, result.error);
  }

  /** All that was tried has worked, or was not needed. */
  worked(): void {
    if (this.#failure !== null) {
      this.#log.info("The lease is accessible again", { lease: this.title });
    }
    this.#failure = null;
    this.#forbidden.clear();
  }

  /** A conflict is no failure: somebody was faster. */
  #failed(verb: LeaseVerb, error: ApiError): { readonly ok: false; readonly error: ApiError } {
    const { code, message } = error;
    if (code === 403 && !this.#forbidden.has(verb)) {
      this.#forbidden.add(verb);
      this.#log.error("RBAC denies access to the lease", {
        lease: this.title,
        missing: this.#ruleFor(verb),
        reason: message,
      });
    } else if (code !== 403 && code !== 409 && this.#failure === null) {
      this.#log.warn("Cannot access the lease, will retry", {
        lease: this.title,
        reason: message,
      });
    }
    if (code !== 409) this.#failure = message;
    return { ok: false, error };
  }

  /** https://kubernetes.io/docs/reference/access-authn-authz/rbac/: a create has no name to match. */
  #ruleFor(verb: LeaseVerb): string {
    const { namespace, name } = this.#place;
    const names = verb === "create" ? "" : `, resourceNames [${name}]`;
    return `apiGroups [${LEASES.group}], resources [${LEASES.plural}]${names}, verbs [${verb}] ` +
      `in namespace ${namespace}`;
  }
}
