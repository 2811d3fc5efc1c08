/**
 * Gateway API, whose kinds come and go with their CRDs. In: what the API server says that it serves. Out:
 * each kind is watched while it is served, in the best version that we know.
 *
 * A kind that is missing from one answer may be back in the next, as while its CRD is replaced: it is
 * watched until it has been missing for the whole of an interval. A kind that cannot be discovered stays
 * what it is. Discovery needs no right of its own (system:discovery), and none on CRDs, which `gateway_bundle.ts`
 * reads if it may.
 *
 * Many clusters have the CRDs, and many installations not the rights of overlays/gateway: nothing is watched
 * before a list is allowed, so that this is no failure.
 */
import type { Logger } from "../../shared/log.ts";
import type { KubeClient } from "../kube/client.ts";
import { STOPPED } from "../kube/reflector.ts";
import { type ApiResult, GATEWAY_API } from "../kube/types.ts";
import type { GatewayBundle } from "./gateway_bundle.ts";
import { DISCOVERED_KINDS, type KindName, KINDS } from "./kinds.ts";
import type { Watches } from "./watches.ts";

/** Milliseconds between two requests, if no watch has said before that its kind is gone. */
const INTERVAL = 10_000;

/** Milliseconds between two requests, whatever watches say. */
const SHORTEST_INTERVAL = 1_000;

/** Intervals for which a kind must be missing: nearly one, as timers may fire early. */
const ABSENCE = 0.9;

/** Intervals after which a list that was denied is tried again: nearly six, for the same reason. */
const DENIAL = 5.9;

/** Kinds whose list is tried: the first that is served. */
const TRIED_KINDS: readonly KindName[] = ["gateways", ...DISCOVERED_KINDS];

export interface GatewayDiscoveryOptions {
  readonly client: Pick<KubeClient, "discover" | "onRecovery">;
  readonly watches: Pick<
    Watches,
    "discovered" | "mayList" | "startKind" | "stopKind" | "informer"
  >;
  readonly log: Logger;
  /** Is told of each discovery. */
  readonly bundle?: Pick<GatewayBundle, "discovered">;
  /** For tests, in ms. */
  readonly interval?: number;
}

/** By plural, the versions of the API that serve it. */
type ServedKinds = ReadonlyMap<string, ReadonlySet<string>>;

/** A kind that is watched. */
interface WatchedKind {
  readonly version: string;
  /** Since when it is not served, on the monotonic clock in ms; null while it is. */
  missingSince: number | null;
}

export class GatewayDiscovery {
  readonly #options: GatewayDiscoveryOptions;
  readonly #interval: number;
  readonly #stopping = new AbortController();
  readonly #watched = new Map<KindName, WatchedKind>();
  readonly #forget: (() => void)[] = [];
  #running: Promise<void> = Promise.resolve();
  /** Ends the sleep that goes on. */
  #wake: () => void = () => {};
  /** Whether what goes on is a pause that may end sooner. */
  #isPausing = false;
  #isHurried = false;
  /** When a list was denied last, on the monotonic clock in ms; null where the last was allowed. */
  #deniedAt: number | null = null;
  /** What could not be discovered, and was logged. */
  #complaint: string | null = null;
  /** Who waits for a discovery that begins after this. */
  #asked: ((discovered: ApiResult<ServedKinds>) => void)[] = [];

  constructor(options: GatewayDiscoveryOptions) {
    this.#options = options;
    this.#interval = options.interval ?? INTERVAL;
  }

  /** Kinds that are watched, each with the version of its API. */
  get watched(): ReadonlyMap<KindName, string> {
    return new Map([...this.#watched].map(([name, { version }]) => [name, version]));
  }

  /** Whether the API server serves kinds of Gateway API, and lets us watch them. */
  get isWatching(): boolean {
    return this.#watched.size > 0;
  }

  /**
   * Whether the API server serves a kind, in a version that we know, and lets us watch it, by a discovery that
   * begins after this call. Such a kind is watched when it resolves; another one may be watched for a while yet.
   */
  async isServed(name: KindName): Promise<ApiResult<boolean>> {
    if (this.#stopping.signal.aborted) return { ok: false, error: STOPPED };
    const { promise, resolve } = Promise.withResolvers<ApiResult<ServedKinds>>();
    this.#asked.push(resolve);
    this.#hurry();
    const discovered = await promise;
    return discovered.ok
      ? { ok: true, value: this.#watched.has(name) && bestOf(name, discovered.value) !== null }
      : discovered;
  }

  /** To be called once. */
  start(): void {
    const { client, watches } = this.#options;
    for (const name of DISCOVERED_KINDS) {
      const informer = watches.informer(name);
      this.#forget.push(informer.onFailures(() => {
        if (informer.failures.some(({ code }) => code === 404)) this.#hurry();
      }));
    }
    this.#forget.push(client.onRecovery(() => this.#hurry()));
    this.#running = this.#run();
  }

  /** Everything has ended when it resolves; what is watched goes on. Never throws. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const forget of this.#forget) forget();
    this.#wake();
    await this.#running;
    for (const resolve of this.#asked) resolve({ ok: false, error: STOPPED });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const asked = this.#asked;
      this.#asked = [];
      const discovered = await this.#discover();
      const isAllowed = discovered.ok && await this.#isAllowed(discovered.value);
      if (signal.aborted) {
        this.#asked.push(...asked);
        break;
      }
      // Denied, it is not known what there is: what was published stays.
      if (discovered.ok && isAllowed) {
        this.#watch(discovered.value);
        this.#options.watches.discovered();
      }
      this.#complain(discovered.ok ? null : discovered.error.message);
      for (const resolve of asked) resolve(discovered);
      if (discovered.ok) await this.#options.bundle?.discovered(this.watched, signal);
      await this.#pause();
    }
  }

  /** Fails where one of the answers is missing: then it is not known what is served. */
  async #discover(): Promise<ApiResult<ServedKinds>> {
    const { client } = this.#options;
    const { signal } = this.#stopping;
    const served = new Map<string, Set<string>>();
    const group = await client.discover<ApiGroup>(GATEWAY_API, null, { signal });
    if (!group.ok) {
      return group.error.code === 404 ? { ok: true, value: served } : group;
    }
    const known = new Set(DISCOVERED_KINDS.flatMap((name) => KINDS[name].versions ?? []));
    const versions = listOf(group.value.versions).flatMap(({ version }) => version ?? []);
    for (const version of versions.filter((each) => known.has(each))) {
      const list = await client.discover<ApiResourceList>(GATEWAY_API, version, { signal });
      // The last kind of the version has gone since.
      if (!list.ok && list.error.code === 404) continue;
      if (!list.ok) return list;
      for (const { name } of listOf(list.value.resources)) {
        if (name === undefined) continue;
        served.set(name, (served.get(name) ?? new Set()).add(version));
      }
    }
    return { ok: true, value: served };
  }

  /** Whether to watch what is served. Once anything is watched, a denial is a failure as of any other kind. */
  async #isAllowed(served: ServedKinds): Promise<boolean> {
    if (this.isWatching) return true;
    const name = TRIED_KINDS.find((each) => bestOf(each, served) !== null);
    const version = name === undefined ? null : bestOf(name, served);
    if (name === undefined || version === null) {
      this.#deniedAt = null;
      return true;
    }
    const since = performance.now() - (this.#deniedAt ?? -Infinity);
    if (since < DENIAL * this.#interval) return false;
    const { watches, log } = this.#options;
    const isAllowed = await watches.mayList(name, version, this.#stopping.signal);
    if (!isAllowed && this.#deniedAt === null) {
      log.info("Gateway API is not served", {
        reason: `the controller may not list ${KINDS[name].resource.plural}`,
        remedy: "Apply overlays/gateway, or start with --gateway=false",
      });
    }
    this.#deniedAt = isAllowed ? null : performance.now();
    return isAllowed;
  }

  #watch(served: ServedKinds): void {
    for (const name of DISCOVERED_KINDS) {
      const { resource: { plural } } = KINDS[name];
      const best = bestOf(name, served);
      const watched = this.#watched.get(name);
      if (best === null) {
        if (watched !== undefined) this.#missing(name, watched);
        continue;
      }
      if (watched !== undefined && served.get(plural)?.has(watched.version)) {
        watched.missingSince = null;
        continue;
      }
      this.#watched.set(name, { version: best, missingSince: null });
      this.#options.log.info("Watching a kind of Gateway API", { kind: plural, version: best });
      this.#options.watches.startKind(name, best);
    }
  }

  #missing(name: KindName, watched: WatchedKind): void {
    const now = performance.now();
    watched.missingSince ??= now;
    if (now - watched.missingSince < ABSENCE * this.#interval) return;
    this.#watched.delete(name);
    const { resource: { plural } } = KINDS[name];
    this.#options.log.info("A kind of Gateway API is no longer served", { kind: plural });
    // Its informer never throws.
    void this.#options.watches.stopKind(name);
  }

  /** @param reason Null where all is known. */
  #complain(reason: string | null): void {
    const { log } = this.#options;
    if (reason !== null && this.#complaint === null) {
      const remedy = "None if the API server is only temporarily unavailable";
      log.warn("Cannot discover the kinds of Gateway API", { reason, remedy });
    }
    if (reason === null && this.#complaint !== null) log.info("Discovered Gateway API again");
    this.#complaint = reason;
  }

  /** Of an interval; of the shortest one, if a watch has said that its kind is gone. */
  async #pause(): Promise<void> {
    const shortest = Math.min(SHORTEST_INTERVAL, this.#interval);
    await this.#sleep(shortest);
    if (!this.#isHurried) {
      this.#isPausing = true;
      await this.#sleep(this.#interval - shortest);
      this.#isPausing = false;
    }
    this.#isHurried = false;
  }

  /** Discovers again soon. */
  #hurry(): void {
    this.#isHurried = true;
    if (this.#isPausing) this.#wake();
  }

  #sleep(milliseconds: number): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** The best version of a kind that is served and that we know; null for none. */
function bestOf(name: KindName, served: ServedKinds): string | null {
  const { resource: { plural }, versions = [] } = KINDS[name];
  return versions.find((version) => served.get(plural)?.has(version)) ?? null;
}

/** What is read of an APIGroup. */
interface ApiGroup {
  readonly versions?: readonly { readonly version?: string }[];
}

/** What is read of an APIResourceList. */
interface ApiResourceList {
  readonly resources?: readonly { readonly name?: string }[];
}

/** Nothing of an answer that is not what it should be. */
function listOf<T>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? value : [];
}
