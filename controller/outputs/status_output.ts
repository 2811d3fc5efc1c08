/**
 * The status of Ingresses, and the finalizer of the Rust controller. In: each reconciliation, and
 * where proxies can be reached. Out: both as they should be.
 */
import type { Reconciliation } from "../reconcile/reconciler.ts";
import { reachesBackend } from "../translate/model/status.ts";
import type { Output, OutputContext } from "./output.ts";
import { ProxyAddresses } from "./proxy_addresses.ts";
import { FinalizerRemover } from "./status/finalizers.ts";
import type { StatusIngress } from "./status/ingress.ts";
import { StatusWriter } from "./status/writer.ts";

export class StatusOutput implements Output {
  readonly #context: OutputContext;
  readonly #writer: StatusWriter;
  readonly #finalizers: FinalizerRemover;
  readonly #addresses: ProxyAddresses;
  #result: Reconciliation | null = null;
  /** The Ingresses that it is about: those of now may have another class already. */
  #translated: readonly StatusIngress[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(context: OutputContext) {
    this.#context = context;
    const { client, fence, log, watches } = context;
    const ingresses = watches.informer("ingresses").store;
    this.#addresses = new ProxyAddresses(context, () => this.sync());
    this.#writer = new StatusWriter({ client, ingresses, fence, log });
    this.#finalizers = new FinalizerRemover({ client, ingresses, fence });
  }

  /** Writes that wait, by what they are of. */
  get backlogs(): Readonly<Record<string, number>> {
    return { status: this.#writer.backlog, finalizers: this.#finalizers.backlog };
  }

  /** Written by `sync`, behind what begins to be published now. */
  observe(result: Reconciliation): void {
    this.#result = result;
    this.#translated = this.#context.watches.informer("ingresses").store.list();
  }

  /** An object of the proxies has changed. */
  changed(): void {
    // In the middle of a list, some nodes are missing yet, and what pods say would stand for them.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.sync();
    }, 0);
  }

  sync(): void {
    if (this.#result === null) return;
    this.#writer.sync({
      ingresses: this.#translated,
      served: this.#result.statuses.map(({ object }) => object),
      unready: this.#result.statuses.filter((status) => !reachesBackend(status))
        .map(({ object }) => object),
      untouched: this.#result.statuses.filter((status) => status.addresses === "off")
        .map(({ object }) => object),
      addresses: this.#addresses.current(),
    });
  }

  measure(): void {
    const { metrics } = this.#context;
    for (const accepted of ["all", "partly", "none"] as const) {
      const count = this.#result?.statuses.filter((status) => status.accepted === accepted).length;
      metrics.set("pingress_controller_ingresses", count ?? 0, { accepted });
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.all([this.#writer.close(), this.#finalizers.close()]);
  }

  close(): void {
    this.#addresses.close();
  }
}
