/**
 * Which hosts have routes on which listener. In: a host's lists of routes by listener, each as a
 * number. Out: the numbers of those that take a request's host on a listener, the most specific first.
 *
 * Nearly all hosts have the same routes on both built-in listeners, and stand in one index for both:
 * it would hold the hosts twice otherwise. Only those that differ stand in the listener's own.
 *
 * All listeners of Gateways that share a built-in socket have one index together: who may have which host
 * there, and what falls through to a broader one, is decided where the snapshot is made.
 */
import {
  ALL_SHARING,
  BUILT_IN_LISTENERS,
  type SharedSocket,
  sharedSocketOf,
} from "../../shared/snapshot/listener_id.ts";
import type { Listener } from "../../shared/snapshot/types.ts";
import { ANY, HostIndex, hostPatternTakes, nextPattern, NO_HOST, patternsOf } from "./host.ts";

export type HostRules = Pick<Listener, "wildcards" | "fallThrough" | "hostname">;

/** Of the built-in listeners, as Ingress has it, unless the snapshot says otherwise. */
const INGRESS_RULES: HostRules = { wildcards: "one-label", fallThrough: false };

/** Of listeners of Gateways on a built-in socket. */
const SHARED_RULES: HostRules = { wildcards: "suffix", fallThrough: true };

/** The index of a listener's hosts, by its id. */
export function indexNameOf(listener: string): string {
  const socket = sharedSocketOf(listener);
  return socket === null ? listener : ALL_SHARING[socket];
}

export class ListenerHosts {
  /** Hosts that are not in the common index. */
  readonly own = new HostIndex();
  rules = INGRESS_RULES;
  /** How many hosts are in `own`. */
  size = 0;
  /** Of a built-in listener; null for one of a Gateway. */
  readonly #common: HostIndex | null;

  constructor(common: HostIndex | null) {
    this.#common = common;
  }

  /** Whether the common index alone says which host decides. */
  get isPlain(): boolean {
    const { wildcards, fallThrough, hostname } = this.rules;
    return this.size === 0 && wildcards === "one-label" && !fallThrough && hostname === undefined;
  }

  /** Whether a request that a host's list has no route for goes on to the next. */
  get fallsThrough(): boolean {
    return this.rules.fallThrough;
  }

  /** Where the first list may be; null where the listener does not take the host. */
  first(host: string): number | null {
    const { hostname, wildcards } = this.rules;
    if (hostname !== undefined && !hostPatternTakes(hostname, host, wildcards)) return null;
    return host === "" ? ANY : 0;
  }

  /** The list at one place of a host, as `HostIndex.at` has them; or `NO_HOST`. */
  listAt(host: string, from: number): number {
    const start = this.own.at(host, from);
    return start === NO_HOST && this.#common !== null ? this.#common.at(host, from) : start;
  }

  /** Where the most specific list is; null where none takes the host. */
  firstListed(host: string): number | null {
    let from = this.first(host);
    while (from !== null && this.listAt(host, from) === NO_HOST) {
      from = from === ANY ? null : this.next(host, from);
    }
    return from;
  }

  /** Whether this very pattern has a list. */
  has(pattern: string): boolean {
    return this.own.get(pattern) !== NO_HOST ||
      (this.#common !== null && this.#common.get(pattern) !== NO_HOST);
  }

  /** The next place, down to `ANY`. */
  next(host: string, from: number): number {
    return nextPattern(host, from, this.rules.wildcards);
  }
}

/** A host's list of routes, as the table has it, on one listener. */
export interface HostEntry {
  /** As `indexNameOf` has it; null for both built-in listeners. */
  readonly listener: string | null;
  readonly start: number;
  readonly tree: number;
}

export class ListenerIndex {
  /** Hosts with the same routes on both built-in listeners. */
  readonly common: HostIndex = new HostIndex();
  readonly #listeners = new Map<string, ListenerHosts>();
  readonly #http = this.#listener("http");
  readonly #https = this.#listener("https");
  readonly #shared = {
    http: this.#listener(ALL_SHARING.http, SHARED_RULES),
    https: this.#listener(ALL_SHARING.https, SHARED_RULES),
  };
  #isPlain = true;

  /** Whether on every built-in listener the common index alone says which host decides. */
  get isPlain(): boolean {
    return this.#isPlain;
  }

  /** Those that a snapshot names, in place of the ones before. */
  setListeners(listeners: readonly (HostRules & { readonly id: string })[]): void {
    for (const hosts of this.#listeners.values()) {
      if (!this.#isShared(hosts)) hosts.rules = INGRESS_RULES;
    }
    for (const { id, ...rules } of listeners) {
      if (sharedSocketOf(id) === null) this.#listener(id).rules = rules;
    }
    this.#settle();
  }

  /** Puts the lists of a host in place of those before, which it returns. */
  replace(host: string, entries: readonly HostEntry[]): number[] {
    const before: number[] = [];
    const found = this.common.get(host);
    if (found !== NO_HOST) {
      before.push(found);
      // One that stays is only overwritten.
      if (!entries.some(({ listener }) => listener === null)) this.common.delete(host);
    }
    for (const hosts of this.#listeners.values()) {
      if (hosts.size === 0) continue;
      const own = hosts.own.get(host);
      if (own === NO_HOST) continue;
      before.push(own);
      hosts.own.delete(host);
      hosts.size--;
    }
    for (const { listener, start, tree } of entries) {
      if (listener === null) {
        this.common.set(host, start, tree);
        continue;
      }
      const hosts = this.#listener(listener);
      hosts.own.set(host, start, tree);
      hosts.size++;
    }
    this.#settle();
    return before;
  }

  /** Whether this very pattern has a list on any listener. */
  has(host: string): boolean {
    return this.entriesOf(host).length > 0;
  }

  /** The lists of this very pattern. */
  entriesOf(host: string): { readonly listener: string | null; readonly start: number }[] {
    const entries: { readonly listener: string | null; readonly start: number }[] = [];
    const common = this.common.get(host);
    if (common !== NO_HOST) entries.push({ listener: null, start: common });
    for (const [listener, { own, size }] of this.#listeners) {
      const start = size === 0 ? NO_HOST : own.get(host);
      if (start !== NO_HOST) entries.push({ listener, start });
    }
    return entries;
  }

  /** The hosts of a listener; null where it has none. */
  on(listener: string): ListenerHosts | null {
    return this.#listeners.get(listener) ?? null;
  }

  /**
   * The hosts that decide for a host on a built-in socket: those of its listener, or those of Gateways that
   * share it where one of theirs is more specific.
   */
  deciding(socket: SharedSocket, host: string): ListenerHosts {
    const own = socket === "http" ? this.#http : this.#https;
    const shared = this.#shared[socket];
    const ofGateways = shared.size === 0 ? null : shared.firstListed(host);
    if (ofGateways === null) return own;
    const ofIngresses = own.firstListed(host);
    return ofIngresses === null || isMoreSpecific(ofGateways, ofIngresses) ? shared : own;
  }

  /** Whether the hosts are those of Gateways, and one but `*` takes the host. */
  isOfGateway(hosts: ListenerHosts, host: string): boolean {
    return this.#isShared(hosts) && hosts.firstListed(host) !== ANY;
  }

  /**
   * Whether a pattern other than `*` takes the host there. On a socket that Gateways share a star stands for one
   * label here: a tenant's `*.com` must not keep others from services outside.
   */
  names(listener: string, host: string): boolean {
    const own = this.#listeners.get(listener);
    const shared = isBuiltIn(listener) ? this.#shared[listener] : undefined;
    return [own, shared].some((hosts) =>
      hosts !== undefined &&
      patternsOf(host, hosts === shared ? "one-label" : hosts.rules.wildcards)
        .some((pattern) => pattern !== "*" && hosts.has(pattern))
    );
  }

  #listener(id: string, rules = INGRESS_RULES): ListenerHosts {
    let hosts = this.#listeners.get(id);
    if (hosts === undefined) {
      hosts = new ListenerHosts(BUILT_IN_LISTENERS.has(id) ? this.common : null);
      hosts.rules = rules;
      this.#listeners.set(id, hosts);
    }
    return hosts;
  }

  #isShared(hosts: ListenerHosts): boolean {
    return hosts === this.#shared.http || hosts === this.#shared.https;
  }

  #settle(): void {
    const { http, https } = this.#shared;
    this.#isPlain = this.#http.isPlain && this.#https.isPlain && http.size + https.size === 0;
  }
}

export function isBuiltIn(listener: string): listener is SharedSocket {
  return listener === "http" || listener === "https";
}

/** Of two places in one host, as `HostIndex.at` has them; false for the same. */
function isMoreSpecific(from: number, other: number): boolean {
  return from !== ANY && (other === ANY || from < other);
}
