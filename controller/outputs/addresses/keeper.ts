/**
 * Keeps Services and EndpointSlices of Gateways as they are planned. In: the plans, our objects as watches show
 * them, and the pods of proxies. Out: calls to the API server for what is not as planned, and the addresses of
 * each Gateway with what the API server refuses.
 *
 * Order of one Gateway: slices get new ports and all changes of proxies, then the Service gets its ports, then
 * slices lose old ones. So no port of a Service is ever without endpoints, and none leads to a socket that is
 * about to be closed. When we begin to lead, the slices of all Gateways come before everything else: proxies may
 * have gone meanwhile, and others may have their addresses by now.
 *
 * Objects are created by POST, so that one of the same name that is not ours is never touched, and changed by
 * patches of the version that was looked at.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/log.ts";
import { keyOf } from "../../base/identity.ts";
import type { WriteClient } from "../../kube/fenced_client.ts";
import { isAlike } from "../../kube/likeness.ts";
import type { ObjectView } from "../../kube/store.ts";
import type { WriteFence } from "../../kube/term.ts";
import type { KubeObject } from "../../kube/types.ts";
import type { Pace } from "../write/pace.ts";
import { type After, type WriteOutcome, WriteQueue } from "../write/queue.ts";
import { addressState } from "./address_state.ts";
import { GatewayObjects } from "./gateway_objects.ts";
import { SERVICE_NAME_LABEL, serviceName } from "./names.ts";
import { OwnedObjects } from "./owned_objects.ts";
import type { AddressFault, GatewayAddressPlan, GatewayAddressState } from "./plan.ts";
import { type ProxyEndpoint, proxyEndpoints } from "./proxy_endpoints.ts";
import { PutBacks } from "./put_backs.ts";
import { Run } from "./run.ts";

/**
 * Each change of a proxy is a write for each Gateway: a rollout of three proxies with 300 Gateways, about four
 * changes each, takes 18 s.
 */
export const ADDRESS_PACE: Pace = { rate: 200, burst: 400, inFlight: 16 };

/**
 * Milliseconds for which objects stay whose Gateway is not planned any more. Kubernetes deletes those of a
 * Gateway that is gone; a GatewayClass that is deleted and created again must not cost addresses.
 */
export const REMOVAL_DELAY = 60_000;

/** Failures in a row that may pass by themselves, before they count: a status must not flap with each of them. */
const PATIENCE = 3;

const ZONE_LABEL = "topology.kubernetes.io/zone";

const UNNEEDED: WriteOutcome = { kind: "unneeded" };

export interface AddressKeeperOptions {
  readonly client: Pick<WriteClient, "create" | "patch" | "delete">;
  readonly fence: Pick<WriteFence, "mayWrite">;
  readonly log: Logger;
  /** Services and EndpointSlices that have our labels, whole. */
  readonly services: ObjectView<KubeObject>;
  readonly slices: ObjectView<KubeObject>;
  /** All Services, by whose names it is seen that a foreign one has gone; null where they are not watched. */
  readonly names: ObjectView<KubeObject> | null;
  /** Pods of proxies. */
  readonly pods: ObjectView<KubeObject>;
  /** For zones; null where they are not watched. */
  readonly nodes: {
    readonly store: ObjectView<KubeObject>;
    /** Whether they are listed, or known not to be had. */
    readonly isKnown: () => boolean;
  } | null;
  /** Called when the state of a Gateway may have changed. */
  readonly onChange: () => void;
  readonly pace?: Pace;
  /** Milliseconds; `REMOVAL_DELAY` without it. */
  readonly removalDelay?: number;
  readonly clock?: Clock;
  readonly after?: After;
}

export class AddressKeeper {
  readonly #options: AddressKeeperOptions;
  readonly #clock: Clock;
  readonly #queue: WriteQueue;
  readonly #services: OwnedObjects;
  readonly #slices: OwnedObjects;
  readonly #objects: GatewayObjects;
  readonly #putBacks: PutBacks;
  readonly #unsubscribe: readonly (() => void)[];
  /** By `keyOf`; null before the first. */
  #plans: ReadonlyMap<string, GatewayAddressPlan> | null = null;
  /** Null while they are not known. */
  #endpoints: readonly ProxyEndpoint[] | null = null;
  /** Why the last write of a Gateway failed. */
  readonly #refusals = new Map<string, AddressFault>();
  /** Failures in a row of a Gateway that may pass by themselves. */
  readonly #failures = new Map<string, number>();
  /** Since when Gateways that have objects are not planned. */
  readonly #missing = new Map<string, number>();
  /** We begin to lead, and have no plans yet. */
  #begins = true;
  /** Gateways whose slices come before everything else. */
  readonly #urgent = new Set<string>();
  /** Gateways that wait for them. */
  readonly #deferred = new Set<string>();

  constructor(options: AddressKeeperOptions) {
    this.#options = options;
    const { client, log, services, slices, names, pods, nodes } = options;
    const clock = this.#clock = options.clock ?? systemClock;
    const now = () => clock.monotonic();
    const changed = (key: string) => {
      this.#queue.add(key);
      options.onChange();
    };
    this.#queue = new WriteQueue({
      pace: options.pace ?? ADDRESS_PACE,
      fence: options.fence,
      write: (key) => this.#write(key),
      clock,
      after: options.after,
    });
    this.#services = new OwnedObjects(services, changed, now);
    this.#slices = new OwnedObjects(slices, changed, now);
    this.#putBacks = new PutBacks(now);
    this.#objects = new GatewayObjects({
      client,
      log,
      services: this.#services,
      slices: this.#slices,
      putBacks: this.#putBacks,
    });
    const refresh = () => this.refresh();
    this.#unsubscribe = [
      // Of these it counts only when they are listed.
      ...[services, slices].map((store) =>
        store.onUpdate(() => this.#endpoints === null ? refresh() : undefined)
      ),
      pods.onUpdate(refresh),
      ...(nodes === null ? [] : [nodes.store.onUpdate(refresh)]),
      ...[services, slices, ...(names === null ? [] : [names])].map((store) =>
        store.subscribe(({ before, after }) => {
          if (before !== null && after === null) this.#freed(before);
        })
      ),
    ];
    this.refresh();
  }

  /** Gateways that are about to be written, as far as leave and pace allow. */
  get backlog(): number {
    return this.#queue.backlog;
  }

  /**
   * Has everything made as planned. To be called after each translation.
   * @param plans One for each Gateway of ours; null while Gateways are not known: then everything stays.
   */
  sync(plans: readonly GatewayAddressPlan[] | null): void {
    if (plans === null) return;
    const before = this.#plans;
    const now = new Map(plans.map((plan) => [keyOf(plan.gateway), plan]));
    this.#plans = now;
    for (const [key, plan] of now) {
      this.#missing.delete(key);
      if (!isAlike(before?.get(key), plan)) this.#queue.add(key);
    }
    for (const key of this.#unplanned()) this.#queue.add(key);
    for (const key of this.#refusals.keys()) if (!now.has(key)) this.#refusals.delete(key);
    if (this.#begins) this.#begin();
  }

  /** Null for a Gateway that is not planned. @param key As `keyOf`. */
  state(key: string): GatewayAddressState | null {
    const plan = this.#plans?.get(key);
    if (plan === undefined) return null;
    const { namespace, uid } = plan.gateway;
    const service = this.#services.ofOwner(namespace, serviceName(plan.gateway), uid);
    const isThere = service !== null && service.object.metadata.deletionTimestamp === undefined;
    return addressState(plan, isThere ? service.object : null, this.#refusals.get(key) ?? null);
  }

  /** We begin or cease to lead: what was refused here, or put back, may be another's by now. */
  forget(): void {
    this.#putBacks.clear();
    this.#refusals.clear();
    this.#failures.clear();
  }

  /** We begin to lead. */
  wake(): void {
    this.forget();
    this.#begins = true;
    if (this.#plans !== null) this.#begin();
  }

  /** Looks at pods and nodes anew; to be called where it becomes known that there are no nodes to be had. */
  refresh(): void {
    if (!this.#isReady) return;
    const { pods, nodes } = this.#options;
    const endpoints = proxyEndpoints(
      pods.list(),
      (node) => nodes?.store.get("", node)?.metadata.labels?.[ZONE_LABEL] || null,
    );
    if (isAlike(this.#endpoints, endpoints)) return;
    const isFirst = this.#endpoints === null;
    this.#endpoints = endpoints;
    for (const key of this.#plans?.keys() ?? []) this.#queue.add(key);
    if (isFirst) { for (const key of this.#unplanned()) this.#queue.add(key); }
  }

  /** Settles when no call is on its way any more. */
  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#services.close();
    this.#slices.close();
    await this.#queue.close();
  }

  /** Queues all Gateways, slices first. */
  #begin(): void {
    this.#begins = false;
    this.#urgent.clear();
    const keys = [...this.#plans?.keys() ?? []];
    for (const key of keys) this.#urgent.add(key);
    for (const key of [...keys, ...this.#unplanned()]) {
      // A failure for want of the lease is over.
      this.#queue.delete(key);
      this.#queue.add(key);
    }
  }

  /** Gateways that have objects and no plan. */
  #unplanned(): string[] {
    const keys = new Set([...this.#services.gateways, ...this.#slices.gateways]);
    return [...keys].filter((key) => this.#plans?.has(key) === false);
  }

  /** Whether all that is written is made of something complete. */
  get #isReady(): boolean {
    const { services, slices, pods, nodes } = this.#options;
    return services.isSynced && slices.isSynced && pods.isSynced &&
      (nodes === null || nodes.isKnown());
  }

  /** The name of a Service, or of one of its slices, is free again. */
  #freed({ metadata: { namespace, name, labels } }: KubeObject): void {
    const service = labels?.[SERVICE_NAME_LABEL] ?? name;
    for (const [key, { gateway }] of this.#plans ?? []) {
      if (gateway.namespace === namespace && serviceName(gateway) === service) this.#queue.add(key);
    }
  }

  async #write(key: string): Promise<WriteOutcome> {
    const endpoints = this.#endpoints;
    // Whatever is not there yet has all Gateways looked at once it is.
    if (this.#plans === null || endpoints === null) return UNNEEDED;
    if (this.#urgent.size > 0 && !this.#urgent.has(key)) {
      this.#deferred.add(key);
      return UNNEEDED;
    }
    const plan = this.#plans.get(key);
    const run = new Run();
    if (this.#urgent.has(key)) {
      if (plan?.address === "own") await this.#objects.keepSlices(plan, endpoints, run);
      this.#urgent.delete(key);
      this.#deferred.add(key);
    } else if (plan === undefined) await this.#remove(key, run);
    // It asks for it, and its container ports are about to be another's.
    else if (plan.address === "shared") await this.#objects.remove(key, run);
    else await this.#objects.ensure(plan, endpoints, run);
    if (this.#urgent.size === 0) {
      for (const deferred of this.#deferred) this.#queue.add(deferred);
      this.#deferred.clear();
    }
    this.#note(key, run);
    return run.outcome;
  }

  async #remove(key: string, run: Run): Promise<void> {
    const since = this.#missing.get(key) ?? this.#clock.monotonic();
    this.#missing.set(key, since);
    const left = since + (this.#options.removalDelay ?? REMOVAL_DELAY) - this.#clock.monotonic();
    if (left > 0) return run.again(left);
    if (await this.#objects.remove(key, run)) this.#missing.delete(key);
  }

  #note(key: string, { fault, isAborted, isTransient }: Run): void {
    // Nothing is known of what was given up.
    if (isAborted) return;
    const failures = fault !== null && isTransient ? (this.#failures.get(key) ?? 0) + 1 : 0;
    if (failures === 0) this.#failures.delete(key);
    else this.#failures.set(key, failures);
    if (failures > 0 && failures < PATIENCE) return this.#options.onChange();
    const before = this.#refusals.get(key)?.message;
    if (fault === null || !this.#plans?.has(key)) this.#refusals.delete(key);
    else {
      this.#refusals.set(key, fault);
      if (fault.message !== before) {
        this.#options.log.warn("Address of a Gateway cannot be provided", {
          gateway: key,
          reason: fault.message,
        });
      }
    }
    this.#options.onChange();
  }
}
