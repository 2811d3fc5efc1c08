/**
 * The status of GatewayClasses, Gateways, HTTPRoutes and ListenerSets. In: each translation, what proxies
 * acknowledge to any replica, and the addresses of Gateways. Out: each status as it should be, and the
 * finalizer of classes that are in use.
 */
import { systemClock } from "../../shared/clock.ts";
import type { Problem } from "../../shared/problem.ts";
import { fieldOf, type JsonObject } from "../base/json.ts";
import { isAlike } from "../kube/likeness.ts";
import {
  type Crd,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
  type KubeObject,
  LISTENER_SETS,
} from "../kube/types.ts";
import { programmedProblems } from "../problems/gateway/condition_problems.ts";
import type { Reconciliation } from "../reconcile/reconciler.ts";
import type { ProxyAck } from "../stream/proxy_acks.ts";
import type {
  GatewayPort,
  GatewayStatus,
  GatewayTranslation,
} from "../translate/gateway/gateway_translation.ts";
import { Acknowledgements } from "./gateway_status/acknowledgements.ts";
import { ClassFinalizer } from "./gateway_status/class_finalizer.ts";
import { classChange } from "./gateway_status/class_status.ts";
import { gatewayChange } from "./gateway_status/gateway_status.ts";
import type { GatewayAddressState } from "./addresses/plan.ts";
import { isUnderWay, programmedOf, type Progress } from "./gateway_status/programmed.ts";
import { listenerSetChange } from "./gateway_status/listener_set_status.ts";
import {
  obstaclesOf,
  openPortsOf,
  progressOf,
  type ProxyState,
  proxyStates,
} from "./gateway_status/proxy_pods.ts";
import { Rollout } from "./gateway_status/rollout.ts";
import { hasOurParents, routeChange } from "./gateway_status/route_status.ts";
import {
  GATEWAY_INTERVALS,
  GATEWAY_PACE,
  GatewayStatusWriter,
  ROUTE_PACE,
  type WantedStatus,
} from "./gateway_status/writer.ts";
import { listenerId } from "../../shared/snapshot/listener_id.ts";
import type { Output, OutputContext } from "./output.ts";

/** Milliseconds that a status waits for proxies before it says that they are behind. */
const PATIENCE = 10_000;

/** Milliseconds that the status of a route waits for proxies: then it is accepted all the same. */
const ROUTE_PATIENCE = 2_000;

/** Milliseconds from what a proxy says to a look at what that means: it comes of all of them at once. */
const GATHER = 20;

/** What other parts of the controller know. */
export interface GatewayStatusSources {
  /**
   * Of Gateway API, from the same objects as the result; null where that is not read, or one of its kinds
   * that are served is not listed yet: what is missing would look as if it had been deleted.
   */
  readonly translationOf: (result: Reconciliation) => GatewayTranslation | null;
  /** What is streamed since this result; null where it cannot be streamed. */
  readonly contentOf: (
    result: Reconciliation,
  ) => { readonly hash: string; readonly version: Reconciliation["snapshot"]["version"] } | null;
  /** Of the proxies of all replicas, as far as they are known here. */
  readonly acks: () => readonly ProxyAck[];
  /** @param gateway `namespace/name`. Null where it is not known yet. */
  readonly addressOf: (gateway: string) => GatewayAddressState | null;
  /** Of Gateway API; null where they are not known. */
  readonly crds: () => readonly Crd[] | null;
  /** What `openPorts` gives has changed. */
  readonly onOpenPorts?: () => void;
  /** What `problems` gives has changed. */
  readonly onProblems: () => void;
}

export class GatewayStatusOutput implements Output {
  readonly #context: OutputContext;
  readonly #sources: GatewayStatusSources;
  readonly #classes: GatewayStatusWriter;
  readonly #gateways: GatewayStatusWriter;
  readonly #routes: GatewayStatusWriter;
  readonly #listenerSets: GatewayStatusWriter;
  /** Null where Gateways of some namespaces are not known. */
  readonly #finalizer: ClassFinalizer | null;
  readonly #acknowledgements = new Acknowledgements();
  readonly #gatewayRollout = new Rollout();
  readonly #routeRollout = new Rollout();
  /** Routes whose status waits for proxies. */
  readonly #held = new Set<string>();
  /** Routes with an entry of ours, whether or not they have a parent of ours. */
  readonly #owned = new Set<string>();
  readonly #unsubscribe: () => void;
  #translation: GatewayTranslation | null = null;
  /** By listener, `namespace/gateway/name`, its socket. */
  #sockets: ReadonlyMap<string, string> = new Map();
  /** As of the last look. */
  #proxies: readonly ProxyState[] = [];
  /** By Gateway; see `openPorts`. */
  #openPorts: ReadonlyMap<string, readonly GatewayPort[] | null> = new Map();
  #problems: readonly Problem[] = [];
  #showsFeatures = true;
  #showsListenerSets = true;
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #patience: ReturnType<typeof setTimeout> | undefined;

  constructor(context: OutputContext, sources: GatewayStatusSources) {
    this.#context = context;
    this.#sources = sources;
    const { client, fence, log, watches } = context;
    const classes = watches.informer("gatewayClasses").store;
    const gateways = watches.informer("gateways").store;
    const routes = watches.informer("httpRoutes").store;
    this.#classes = new GatewayStatusWriter({
      ...{ client, fence, log },
      resource: GATEWAY_CLASSES,
      objects: classes,
      pace: GATEWAY_PACE,
      onWritten: (object, { fields }) => {
        if (isDropped("supportedFeatures", fields, object)) this.#showsFeatures = false;
      },
    });
    this.#gateways = new GatewayStatusWriter({
      ...{ client, fence, log },
      resource: GATEWAYS,
      objects: gateways,
      pace: GATEWAY_PACE,
      intervals: GATEWAY_INTERVALS,
      onWritten: (object, { fields }) => {
        if (isDropped("attachedListenerSets", fields, object)) this.#showsListenerSets = false;
      },
    });
    this.#listenerSets = new GatewayStatusWriter({
      ...{ client, fence, log },
      resource: LISTENER_SETS,
      objects: watches.informer("listenerSets").store,
      pace: GATEWAY_PACE,
    });
    this.#routes = new GatewayStatusWriter({
      ...{ client, fence, log },
      resource: HTTP_ROUTES,
      objects: routes,
      pace: ROUTE_PACE,
    });
    this.#finalizer = context.options.watchNamespaces === null
      ? new ClassFinalizer({ client, fence, classes, gateways })
      : null;
    this.#unsubscribe = routes.subscribe(({ before, after }) => {
      const { metadata: { namespace, name } } = (after ?? before)!;
      const key = `${namespace}/${name}`;
      if (after !== null && hasOurParents(after.status)) this.#owned.add(key);
      else this.#owned.delete(key);
    });
  }

  /** Writes that wait. */
  get backlog(): number {
    return this.#all.reduce((sum, { backlog }) => sum + backlog, 0);
  }

  /**
   * Ports of a Gateway whose sockets every ready proxy has opened, so that clients may be led there; null
   * while that is not known: then those that are open stay so.
   * @param gateway `namespace/name`.
   */
  openPorts(gateway: string): readonly GatewayPort[] | null {
    return this.#openPorts.get(gateway) ?? null;
  }

  /** Why Gateways are not programmed; only the leader knows it, as replicas tell it of their proxies. */
  get problems(): readonly Problem[] {
    return this.#context.fence.mayWrite() ? this.#problems : [];
  }

  observe(result: Reconciliation): void {
    const translation = this.#translation = this.#sources.translationOf(result);
    const content = this.#sources.contentOf(result);
    const sequence = content === null
      ? null
      : this.#acknowledgements.sent(content.hash, content.version);
    if (translation === null) return;
    this.#sockets = new Map(
      (result.snapshot.listeners ?? []).map(({ id, socket }) => [id, socket]),
    );
    const now = systemClock.monotonic();
    const { gateways, routes } = translation;
    this.#gatewayRollout.update(
      new Map(gateways.map((gateway) => [gateway.identity.key, served(gateway)])),
      ...[sequence, now] as const,
    );
    this.#routeRollout.update(
      new Map(routes.map(({ identity, generation, parents }) => [
        identity.key,
        { generation, parents },
      ])),
      ...[sequence, now] as const,
    );
  }

  poke(): void {
    this.sync();
  }

  /** A proxy has acknowledged something, or has come or gone; or an address of a Gateway has changed. */
  changed(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#syncGateways();
      this.#release();
    }, GATHER);
  }

  /** Has everything looked at. */
  sync(): void {
    if (this.#translation === null) return;
    this.#syncClasses(this.#translation);
    this.#syncGateways();
    this.#syncRoutes(this.#translation);
    this.#syncListenerSets(this.#translation);
  }

  forget(): void {
    for (const writer of this.#writers) writer.forget();
  }

  /** This replica leads from now on. */
  wake(): void {
    this.#gatewayRollout.restart();
    this.sync();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#gathering);
    clearTimeout(this.#patience);
    this.#unsubscribe();
    await Promise.all(this.#all.map((writer) => writer.close()));
  }

  get #all(): readonly { readonly backlog: number; close(): Promise<void> }[] {
    return this.#finalizer === null ? this.#writers : [...this.#writers, this.#finalizer];
  }

  get #writers(): readonly GatewayStatusWriter[] {
    return [this.#classes, this.#gateways, this.#routes, this.#listenerSets];
  }

  #syncClasses({ classes }: GatewayTranslation): void {
    const crds = this.#sources.crds();
    const showsFeatures = this.#showsFeatures;
    this.#classes.sync(
      new Map(classes.map((model): [string, WantedStatus] => {
        const content = { model, crds, showsFeatures };
        return [`/${model.name}`, {
          generation: model.generation,
          content,
          change: (status, now) => classChange(status, content, now),
        }];
      })),
    );
  }

  #syncListenerSets({ listenerSets }: GatewayTranslation): void {
    this.#listenerSets.sync(
      new Map(listenerSets.map(({ identity, generation, conditions }): [string, WantedStatus] => [
        identity.key,
        {
          generation,
          content: conditions,
          change: (status, now) => listenerSetChange(status, { conditions, generation }, now),
        },
      ])),
    );
  }

  #syncGateways(): void {
    clearTimeout(this.#patience);
    if (this.#translation === null) return;
    // None of them is accepted, so none is attached.
    const hasListenerSets = this.#showsListenerSets &&
      this.#context.watches.informer("listenerSets").isSynced;
    const attachedListenerSets = hasListenerSets ? 0 : null;
    const pods = this.#context.watches.informer("pods").store.list();
    const acks = this.#sources.acks();
    this.#proxies = proxyStates(pods, acks, this.#acknowledgements, this.#proxies);
    const obstacles = obstaclesOf(this.#proxies);
    const now = systemClock.monotonic();
    let next = Infinity;
    const openPorts = new Map<string, readonly GatewayPort[] | null>();
    const problems: Problem[] = [];
    const wanted = this.#translation.gateways.map((gateway): [string, WantedStatus] => {
      const { key } = gateway.identity;
      const address = this.#sources.addressOf(key);
      const progress = this.#progressOf(this.#gatewayRollout.get(key)?.sequence ?? null);
      openPorts.set(key, openPortsOf(gateway.ports, progress, obstacles));
      const isBehind = progress.kind === "no-proxy" || progress.kind === "partly" ||
        isUnderWay(address);
      const behindFor = this.#gatewayRollout.behindFor(key, isBehind, now);
      const isOverdue = behindFor >= PATIENCE;
      if (isBehind && !isOverdue) next = Math.min(next, PATIENCE - behindFor);
      const programmed = programmedOf({
        ...{ gateway, address, progress, isOverdue },
        obstacles: this.#obstaclesOf(gateway, obstacles),
      });
      problems.push(...programmedProblems(gateway, programmed));
      const content = { status: gateway, address, attachedListenerSets, programmed };
      return [key, {
        generation: gateway.generation,
        content: {
          ...content,
          programmed: [...programmed.listeners, programmed.gateway],
        },
        change: (status, now) => gatewayChange(status, content, now),
      }];
    });
    this.#gateways.sync(new Map(wanted));
    const isNews = !isAlike([...openPorts], [...this.#openPorts]);
    this.#openPorts = openPorts;
    if (isNews) this.#sources.onOpenPorts?.();
    const areOthers = !isAlike(problems, this.#problems);
    this.#problems = problems;
    if (areOthers) this.#sources.onProblems();
    if (next < Infinity) this.#patience = setTimeout(() => this.#syncGateways(), next);
  }

  #progressOf(sequence: number | null): Progress {
    if (this.#context.options.proxyUpdates === "files") return { kind: "unreported" };
    return progressOf(sequence, this.#proxies);
  }

  /** By name of the listener. */
  #obstaclesOf(
    { identity, listeners }: GatewayStatus,
    bySocket: ReadonlyMap<string, string>,
  ): ReadonlyMap<string, string> {
    return new Map(listeners.flatMap(({ name }) => {
      const socket = this.#sockets.get(listenerId(identity.key, name));
      const reason = socket === undefined ? undefined : bySocket.get(socket);
      return reason === undefined ? [] : [[name, reason]];
    }));
  }

  #syncRoutes({ routes }: GatewayTranslation): void {
    const wanted = new Map(routes.map((route): [string, WantedStatus] => {
      const { identity: { key, ref: { namespace } }, generation, parents } = route;
      return [key, {
        generation,
        content: parents,
        change: (status, now) => routeChange(status, { generation, parents }, namespace, now),
        holdFor: () => this.#holdFor(key),
      }];
    }));
    for (const key of this.#owned) if (!wanted.has(key)) wanted.set(key, this.#pruned(key));
    this.#held.clear();
    for (const key of wanted.keys()) if (this.#holdFor(key) > 0) this.#held.add(key);
    this.#routes.sync(wanted);
  }

  /** Of a route without a parent of ours: what we have written there goes. */
  #pruned(key: string): WantedStatus {
    const [namespace, name] = key.split("/");
    const object = this.#context.watches.informer("httpRoutes").store.get(namespace, name);
    const generation = object?.metadata.generation ?? 0;
    return {
      generation,
      content: [],
      change: (status, now) => routeChange(status, { generation, parents: [] }, namespace, now),
    };
  }

  /** Milliseconds; 0 where all proxies have it, or there are none to wait for. */
  #holdFor(key: string): number {
    const entry = this.#routeRollout.get(key);
    if (entry === null) return 0;
    const left = entry.since + ROUTE_PATIENCE - systemClock.monotonic();
    if (left <= 0) return 0;
    return this.#progressOf(entry.sequence).kind === "partly" ? left : 0;
  }

  #release(): void {
    for (const key of this.#held) {
      if (this.#holdFor(key) > 0) continue;
      this.#held.delete(key);
      this.#routes.look(key);
    }
  }
}

/** Whether the CRD of a bundle lacks a field that was written: it would be written for ever. */
function isDropped(field: string, written: JsonObject, object: KubeObject): boolean {
  return field in written && fieldOf(fieldOf(object, "status"), field) === undefined;
}

/** What proxies are to serve of it: counts of routes are no part of it. */
function served({ generation, conditions, address, ports, listeners }: GatewayStatus) {
  return {
    ...{ generation, conditions, address, ports },
    listeners: listeners.map((listener) => ({ ...listener, attachedRoutes: 0 })),
  };
}
