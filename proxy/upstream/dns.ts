/**
 * Names as endpoints. In: a name and a port. Out: the addresses behind the name now, looked up when
 * first asked for, refreshed while in use, and kept when lookups fail.
 */
import { lookup, resolve4, resolve6 } from "node:dns/promises";
import { isIP } from "node:net";
import { type Logger, silentLogger } from "../../shared/log.ts";
import type { Endpoint } from "../../shared/snapshot/types.ts";
import { Timeout } from "../io/timeout.ts";
import type { DeniedAddresses } from "./denied_addresses.ts";

/** What a lookup found. No addresses: the name does not exist, or has none. */
export interface DnsAnswer {
  readonly addresses: readonly string[];
  /** Milliseconds for which the answer holds; null where nobody said. */
  readonly ttl: number | null;
  /** Addresses of this family could not be had, while those of the other could; null for neither. */
  readonly missing: 4 | 6 | null;
}

/** Rejects where no answer could be had, which says nothing about the name. */
export type DnsLookup = (name: string) => Promise<DnsAnswer>;

/** Looks names up; those who ask for the same one at the same time share a lookup. */
export class DnsResolver {
  #lookup: DnsLookup;
  #pending = new Map<string, Promise<DnsAnswer>>();

  constructor(lookup: DnsLookup = systemLookup) {
    this.#lookup = lookup;
  }

  resolve(name: string): Promise<DnsAnswer> {
    let pending = this.#pending.get(name);
    if (pending === undefined) {
      pending = this.#lookup(name).finally(() => this.#pending.delete(name));
      this.#pending.set(name, pending);
    }
    return pending;
  }
}

const SYSTEM_RESOLVER = new DnsResolver();

export interface DnsEndpointsOptions {
  readonly resolver?: DnsResolver;
  readonly log?: Logger;
  /** What the name may not stand for; `recheck` has to be called when it changes. */
  readonly denied?: Pick<DeniedAddresses, "has">;
  /** Milliseconds until an answer without a time to live is refreshed, and failures are tried again. */
  readonly refresh?: number;
  /** Milliseconds without use after which nothing is refreshed any more. */
  readonly idle?: number;
  /** Milliseconds for which `ready` waits; a dead name server costs a lookup 20 s and more. */
  readonly patience?: number;
}

/** Kubernetes' own time to live. */
const REFRESH = 5000;
const IDLE = 60_000;
const PATIENCE = 3000;

/** Bounds (ms) of a time to live: 0 must not ask without pause, a day not outlive a fail-over. */
const MIN_TTL = 1000;
const MAX_TTL = 60_000;

/** Answers in a row that a name has no address before it is believed: name servers restart empty. */
const EMPTY_ANSWERS = 3;

const NOBODY: readonly Endpoint[] = [];

export class DnsEndpoints {
  readonly name: string;
  readonly port: number;
  #resolver: DnsResolver;
  #log: Logger;
  #refresh: number;
  #idle: number;
  #patience: number;
  readonly #denied: Pick<DeniedAddresses, "has"> | null;
  /** The last answer, with what is denied. */
  #resolved: readonly string[] = [];
  /** Of the last answer what is denied, as it was logged. */
  #refused = "";
  #endpoints = NOBODY;
  /** Not refreshed since it was last used: what is known may belong to somebody else by now. */
  #dormant = true;
  #lastUse = 0;
  #emptyAnswers = 0;
  #failing = false;
  /** Settles with the lookup under way, whatever comes of it. */
  #pending: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(name: string, port: number, options: DnsEndpointsOptions = {}) {
    this.name = name;
    this.port = port;
    this.#resolver = options.resolver ?? SYSTEM_RESOLVER;
    this.#log = options.log ?? silentLogger;
    this.#denied = options.denied ?? null;
    this.#refresh = options.refresh ?? REFRESH;
    this.#idle = options.idle ?? IDLE;
    this.#patience = options.patience ?? PATIENCE;
  }

  /**
   * What is known, sorted by address; the same array while nothing changes. Empty before the first
   * answer, for a name without addresses, and after a long pause until `ready` has settled.
   */
  current(): readonly Endpoint[] {
    this.#lastUse = performance.now();
    if (!this.#dormant || this.#closed) return this.#endpoints;
    this.#begin();
    return NOBODY;
  }

  /** What is known once a lookup under way has answered or failed, or patience is at its end. */
  async ready(): Promise<readonly Endpoint[]> {
    this.current();
    if (this.#pending === null) return this.#endpoints;
    const late = Promise.withResolvers<void>();
    const timer = new Timeout(this.#patience, () => {
      // As where the lookup fails: what is known is better than no endpoint, for as long as it takes.
      this.#dormant = false;
      late.resolve();
    });
    await Promise.race([this.#pending, late.promise]);
    timer.cancel();
    return this.#endpoints;
  }

  /** Takes what is denied now out of what is known. */
  recheck(): void {
    this.#replace(this.#resolved);
  }

  /** Ends all refreshing. What is known stays for those who still ask. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #begin(): void {
    if (this.#pending !== null || this.#closed) return;
    this.#pending = this.#resolver.resolve(this.name)
      .then((answer) => this.#take(answer), (error) => this.#fail(error))
      .then((delay) => {
        this.#pending = null;
        this.#dormant = false;
        if (!this.#closed) this.#timer = setTimeout(() => this.#tick(), delay);
      });
  }

  #tick(): void {
    if (performance.now() - this.#lastUse > this.#idle) this.#dormant = true;
    else this.#begin();
  }

  /** Takes an answer; the time (ms) until the next lookup. */
  #take({ addresses: found, ttl, missing }: DnsAnswer): number {
    // What was known stays, for half of the name as for all of it.
    const kept = missing === null ? [] : this.#resolved.filter((each) => isIP(each) === missing);
    const addresses = [...found, ...kept];
    if (this.#failing) this.#log.info("Name resolves again", { name: this.name });
    this.#failing = false;
    this.#emptyAnswers = addresses.length > 0 ? 0 : this.#emptyAnswers + 1;
    if (addresses.length > 0 || this.#emptyAnswers >= EMPTY_ANSWERS) this.#replace(addresses);
    return ttl === null || missing !== null || addresses.length === 0
      ? this.#refresh
      : Math.min(Math.max(ttl, MIN_TTL), MAX_TTL);
  }

  /** What was known stays (RFC 8767); the time (ms) until the next lookup. */
  #fail(error: unknown): number {
    if (!this.#failing) {
      const kept = this.#endpoints.length;
      this.#log.warn("Cannot resolve name, keeping its addresses", {
        name: this.name,
        kept,
        error,
      });
    }
    this.#failing = true;
    return this.#refresh;
  }

  #replace(addresses: readonly string[]): void {
    const resolved = [...new Set(addresses)].sort();
    const refused = resolved.filter((address) => this.#denied?.has(address));
    if (refused.length > 0 && refused.join() !== this.#refused) {
      this.#log.warn("Name resolves to addresses of the cluster itself, which are denied", {
        name: this.name,
        addresses: refused,
      });
    }
    this.#refused = refused.join();
    this.#resolved = resolved;
    const sorted = resolved.filter((address) => !refused.includes(address));
    const before = this.#endpoints;
    if (
      sorted.length === before.length && sorted.every((address, i) => address === before[i].address)
    ) return;
    this.#endpoints = sorted.map((address) => ({ address, port: this.port }));
  }
}

/**
 * What the system makes of a name, IPv4 and IPv6: `getaddrinfo`, which alone reads /etc/hosts as
 * other programs do, and follows the search list in which a pod finds `web.default`.
 *
 * It needs a permission for each name. A proxy that may only dial CIDR blocks has none, so there
 * the name server of /etc/resolv.conf is asked (Deno follows the search list too), which takes the
 * permission to reach it, `--allow-net=10.96.0.10:53`, and brings a time to live.
 */
export async function systemLookup(name: string): Promise<DnsAnswer> {
  if (isIP(name) !== 0) return { addresses: [name], ttl: null, missing: null };
  try {
    const found = await lookup(name, { all: true });
    return { addresses: found.map(({ address }) => address), ttl: null, missing: null };
  } catch (error) {
    if (isAnswer(error)) return { addresses: [], ttl: null, missing: null };
    if (codeOf(error) !== "EPERM") throw error;
  }
  const results = await Promise.allSettled([
    resolve4(name, { ttl: true }),
    resolve6(name, { ttl: true }),
  ]);
  const records = results.flatMap((result) => result.status === "fulfilled" ? result.value : []);
  if (records.length > 0) {
    const seconds = Math.min(...records.map(({ ttl }) => ttl));
    const missing = hasFailed(results[0]) ? 4 : hasFailed(results[1]) ? 6 : null;
    return { addresses: records.map(({ address }) => address), ttl: seconds * 1000, missing };
  }
  const failed = results.find(hasFailed);
  if (failed !== undefined) {
    const message = "No name server answered, or Deno lacks the permission to ask it (--allow-net)";
    throw new Error(message, { cause: failed.reason });
  }
  return { addresses: [], ttl: null, missing: null };
}

/** Whether nobody could say which addresses there are. */
function hasFailed(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === "rejected" && !isAnswer(result.reason);
}

/** Whether an error says that the name has no address, rather than that nobody could say. */
function isAnswer(error: unknown): boolean {
  return codeOf(error) === "ENOTFOUND" || codeOf(error) === "ENODATA";
}

function codeOf(error: unknown): string | undefined {
  return (error as { readonly code?: string }).code;
}
