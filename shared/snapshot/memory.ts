/**
 * The memory that a snapshot takes in a proxy. In: a snapshot, the number of workers, and the proxy's
 * memory limit. Out: an estimate in bytes, and what the limit leaves for it. Pure.
 *
 * The controller publishes nothing that is estimated above `PUBLISHED_SHARE` of the limit, and a
 * proxy refuses what is estimated above `ACCEPTED_SHARE`, before it compiles it: a snapshot that does
 * not fit would end every proxy of the fleet, and again at each restart. The two differ so that a
 * proxy of another version still accepts what is published.
 *
 * Each figure is what the whole process takes at its peak while it starts (VmHWM, Deno 2.9.6 on
 * x86-64): a part in the supervisor, and another in each worker, each rounded up. `deno task
 * bench:memory` measures them again; docs/workload.md has its output beside the estimates.
 */
import { upstreamsOf } from "./forward_action.ts";
import type {
  Action,
  BlockedClients,
  Certificate,
  Credentials,
  FilterSet,
  HostSettings,
  Listener,
  Policy,
  Route,
  RouteMatch,
  Snapshot,
  SnapshotChange,
  Upstream,
} from "./types.ts";

/** Bytes, of the process and of each of its workers. */
interface Cost {
  readonly process: number;
  readonly worker: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** Without a route. Measured: 85, 128, 191 and 258 MiB with 1, 2, 4 and 8 workers. */
const EMPTY: Cost = { process: 90 * MIB, worker: 27 * MIB };

/**
 * Beside its text, which is some 100 characters. Measured with 50,000 Exact paths of one host, their
 * text included: 4.7 KiB with one worker, 14.0 with four, 25.5 with eight.
 */
const ROUTE: Cost = { process: 3 * KIB, worker: 2 * KIB };

/** Beside its routes. Measured with 50,000 hosts: 0.9 KiB with one worker, 4.6 with four. */
const HOST: Cost = { process: 1 * KIB, worker: 1 * KIB };

/** Measured with 20,000 of two endpoints each: 4 KiB with one worker, 20 with four. */
const UPSTREAM: Cost = { process: 3 * KIB, worker: 3 * KIB };

/** Measured with 100,000 and 300,000 of them: 0.7 KiB with one worker, 2.3 with four. */
const ENDPOINT: Cost = { process: 500, worker: 400 };

/**
 * Beside its text. Measured with 1,000: 31 KiB with one worker, 62 with four; and 6 KiB in each worker
 * that has shown it, since its TLS context is made at the first handshake.
 */
const CERTIFICATE: Cost = { process: 20 * KIB, worker: 9 * KIB };

/**
 * Each character of ids, paths, origins, addresses and PEM. Measured with paths of 1,000 characters
 * (13 bytes with one worker, 18 with two, 31 with four), with paths of 100 segments (11 and 32), and
 * with chains of 5 KB (28 with four).
 */
const CHARACTER: Cost = { process: 7, worker: 6 };

/**
 * What a condition on a header or a query parameter takes beside its text, in characters: a kilobyte
 * in the process and in each worker.
 */
const CONDITION_CHARACTERS = 150;

/**
 * The same of a regular expression: measured with 10,000 that have been matched often enough for V8
 * to compile them to machine code, 6 KiB each in a worker.
 */
const PATTERN_CHARACTERS = 1_000;

/** What the settings of a host take beside its name, in characters: as a condition, not measured. */
const SETTINGS_CHARACTERS = 150;

/**
 * What a listener that a route names takes beside its id, in characters: quotes and the mark of a shared port
 * in the text, and its place in the router.
 */
const LISTENER_CHARACTERS = 10;

/**
 * What a route with conditions takes on each listener but the first, and each of its conditions, in characters: the
 * router has an index of its own for each. Measured with 16 conditions on each of 256 listeners of different routes:
 * 1.8 KiB a listener in a worker, 2.2 at the peak, of which `LISTENER_CHARACTERS` has a part. Regular expressions are
 * compiled once for all.
 */
const COPIED_MATCH_CHARACTERS = 20;
const COPIED_CONDITION_CHARACTERS = 18;

/** Characters of paths and conditions that stand in the index of each listener: a byte each, where `CHARACTER` has six. */
const COPIED_SHARE = 1 / 6;

/**
 * What a listener of a Gateway takes beside its names, in characters: the names of its fields, and what proxies
 * make of it. Measured with 20,000: 2.4 KiB with one worker, their names included.
 */
const LISTENER_OBJECT_CHARACTERS = 200;

/** Of a certificate that a listener names, its id with quotes and a comma. */
const CERTIFICATE_ID_CHARACTERS = 67;

/** Of an RSA key of 2,048 bits in PEM. Keys are not read for this: files hold them apart. */
const KEY_CHARACTERS = 1_700;

/** Of the memory limit, what the estimate of anything published may take: 17 points below "high". */
export const PUBLISHED_SHARE = 0.75;

/** Of the memory limit, what the estimate of an accepted snapshot may take: 7 points below "high". */
export const ACCEPTED_SHARE = 0.85;

/**
 * What a proxy always has for its snapshot, however low its limit: there the process without a route
 * is already near the limit, and some hundred routes more are not what ends it.
 */
const LEAST_BUDGET = 32 * MIB;

export interface ProxyMemory {
  /** Bytes. */
  readonly limit: number;
  readonly workers: number;
}

/** Bytes that a snapshot may take beside the process itself. @param share of the limit. */
export function snapshotBudget({ limit, workers }: ProxyMemory, share: number): number {
  return Math.max(LEAST_BUDGET, Math.floor(limit * share) - costOf(EMPTY, workers));
}

/** Bytes that a proxy is estimated to take without a route. */
export function emptyProxyMemory(workers: number): number {
  return costOf(EMPTY, workers);
}

/** Bytes that the snapshot is estimated to take, beside the process itself. */
export function snapshotMemory(snapshot: Snapshot, workers: number): number {
  return memoryOf(weightOf(snapshot), workers);
}

/** What of a snapshot costs memory: numbers of its parts, and the characters in them. */
export interface Weight {
  readonly routes: number;
  readonly hosts: number;
  readonly upstreams: number;
  readonly endpoints: number;
  readonly certificates: number;
  readonly characters: number;
}

export function memoryOf(weight: Weight, workers: number): number {
  return weight.routes * costOf(ROUTE, workers) +
    weight.hosts * costOf(HOST, workers) +
    weight.upstreams * costOf(UPSTREAM, workers) +
    weight.endpoints * costOf(ENDPOINT, workers) +
    weight.certificates * costOf(CERTIFICATE, workers) +
    weight.characters * costOf(CHARACTER, workers);
}

/** Takes note of a snapshot's weight by what differs from one that has been weighed. */
export function weighChange(next: Snapshot, { base, hosts, parts }: SnapshotChange): void {
  const before = hosts.flatMap(({ before }) => before);
  const now = hosts.flatMap(({ routes }) => routes);
  weightOfRoutes.follow(base.routes, next.routes, before, now);
  const { upstreams, certificates } = parts;
  weightOfUpstreams.follow(base.upstreams, next.upstreams, upstreams.replaced, upstreams.changed);
  weightOfCertificates.follow(
    base.certificates,
    next.certificates,
    certificates.replaced,
    certificates.changed,
  );
}

export function weightOf(
  {
    routes,
    listeners = NO_LISTENERS,
    hostSettings = NO_SETTINGS,
    filterSets,
    policies,
    upstreams,
    credentials,
    certificates,
    blockedClients,
    trustedProxies = NO_NETWORKS,
  }: Snapshot,
): Weight {
  const [ofRoutes, ofUpstreams, ofCertificates] = [
    weightOfRoutes(routes),
    weightOfUpstreams(upstreams),
    weightOfCertificates(certificates),
  ];
  return {
    ...ofRoutes,
    ...ofUpstreams,
    certificates: certificates.length,
    characters: [
      ofRoutes,
      ofUpstreams,
      ofCertificates,
      weightOfListeners(listeners),
      weightOfSettings(hostSettings),
      weightOfParts(filterSets ?? NO_PARTS),
      weightOfParts(policies ?? NO_PARTS),
      weightOfCredentials(credentials ?? NO_CREDENTIALS),
      weightOfBlocked(blockedClients ?? NONE_BLOCKED),
      weightOfNetworks(trustedProxies),
    ].reduce((sum, { characters }) => sum + characters, 0),
  };
}

const NO_LISTENERS: readonly Listener[] = [];
const NO_SETTINGS: readonly HostSettings[] = [];
const NO_CREDENTIALS: readonly Credentials[] = [];
const NONE_BLOCKED: BlockedClients = {};
const NO_NETWORKS: readonly string[] = [];
const NO_PARTS: readonly (FilterSet | Policy)[] = [];

/** A list that did not change keeps its identity, so a change of endpoints weighs no route again. */
const weightOfRoutes = oncePerList((routes: readonly Route[]) => {
  let hosts = 0;
  let characters = 0;
  let before: string | null = null;
  for (const { id, host, match, action, origin, listeners } of routes) {
    // They stand in order of their hosts.
    if (host !== before) hosts++;
    before = host;
    characters += id.length + host.length + matchCharacters(match) + textOf(action) +
      listenersCharacters(listeners) + copiedCharacters(match, listeners?.length) +
      origin.namespace.length + origin.name.length + origin.field.length;
  }
  return { routes: routes.length, hosts, characters };
});

const weightOfListeners = oncePerList((listeners: readonly Listener[]) => ({
  characters: listeners.reduce((sum, listener) => sum + listenerCharacters(listener), 0),
}));

const weightOfSettings = oncePerList((settings: readonly HostSettings[]) => ({
  characters: settings.reduce((sum, { id }) => sum + SETTINGS_CHARACTERS + id.length, 0),
}));

/** Their text, and what each takes compiled: as settings of a host. */
const weightOfParts = oncePerList((parts: readonly (FilterSet | Policy)[]) => ({
  characters: parts.reduce(
    (sum, part) => sum + SETTINGS_CHARACTERS + JSON.stringify(part).length,
    0,
  ),
}));

/** Their text, as it is read into a map of each worker. */
const weightOfCredentials = oncePerList((list: readonly Credentials[]) => ({
  characters: list.reduce(
    (sum, { id, users }) =>
      sum + SETTINGS_CHARACTERS + id.length +
      (users.kind === "secret" ? 2 * users.text.reveal().length : 0),
    0,
  ),
}));

/** As conditions of routes. */
function weightOfBlocked({ networks = [], userAgents = [], referers = [] }: BlockedClients) {
  const patterns = [...userAgents, ...referers].map(({ type, value }) =>
    CONDITION_CHARACTERS + value.length + (type === "Regex" ? PATTERN_CHARACTERS : 0)
  );
  return { characters: [...networks.map(({ length }) => length), ...patterns].reduce(add, 0) };
}

function weightOfNetworks(networks: readonly string[]) {
  return { characters: networks.reduce((sum, { length }) => sum + length, 0) };
}

function add(a: number, b: number): number {
  return a + b;
}

const weightOfUpstreams = oncePerList((upstreams: readonly Upstream[]) => {
  let endpoints = 0;
  let characters = 0;
  for (const { id, addresses, tls } of upstreams) {
    characters += id.length + (tls?.serverName.length ?? 0) + (tls?.ca?.pem.length ?? 0);
    if (addresses.kind === "dns") {
      characters += addresses.name.length;
      continue;
    }
    endpoints += addresses.endpoints.length;
    for (const { address, zone, hints } of addresses.endpoints) {
      characters += address.length + (zone?.length ?? 0);
      for (const hint of hints ?? []) characters += hint.length;
    }
  }
  return { upstreams: upstreams.length, endpoints, characters };
});

const weightOfCertificates = oncePerList((certificates: readonly Certificate[]) => {
  let characters = 0;
  for (const { id, hosts, plain, chain, key } of certificates) {
    characters += id.length;
    for (const host of hosts) characters += host.length;
    for (const host of plain ?? []) characters += host.length;
    // Files are read when they are applied, and are the operator's own.
    if (chain.kind === "pem") characters += chain.pem.length;
    if (key.kind === "secret") characters += KEY_CHARACTERS;
  }
  return { characters };
});

/** What a match takes, in characters. */
export function matchCharacters({ path, headers, query }: RouteMatch): number {
  let characters = path.value.length + (path.written?.length ?? 0) +
    (path.type === "Regex" ? PATTERN_CHARACTERS : 0);
  for (const conditions of [headers, query]) {
    if (conditions === undefined) continue;
    for (const { name, type, value } of conditions) {
      characters += CONDITION_CHARACTERS + name.length + value.length +
        (type === "Regex" ? PATTERN_CHARACTERS : 0);
    }
  }
  return characters;
}

/**
 * What a match takes on all of its listeners but the first, in characters. On listeners with the same routes proxies
 * have it once, but the next change of any route may end that.
 */
export function copiedCharacters(
  { path, method, headers, query }: RouteMatch,
  listeners = 1,
): number {
  if (listeners < 2) return 0;
  let characters = Math.floor(path.value.length * COPIED_SHARE);
  if (method !== undefined || headers !== undefined || query !== undefined) {
    characters += COPIED_MATCH_CHARACTERS;
  }
  for (const conditions of [headers, query]) {
    if (conditions === undefined) continue;
    for (const { name, value } of conditions) {
      characters += COPIED_CONDITION_CHARACTERS +
        Math.ceil((name.length + value.length) * COPIED_SHARE);
    }
  }
  return (listeners - 1) * characters;
}

/**
 * What the listeners take that a route names, in characters. As much on an address of the Gateway's own as on a
 * shared one: to change that adds nothing.
 *
 * @param ids Of listeners.
 */
export function listenersCharacters(ids: readonly string[] = NO_IDS): number {
  let characters = 0;
  for (const id of ids) {
    const mark = id.lastIndexOf("@");
    characters += LISTENER_CHARACTERS + (mark < 0 ? id.length : mark);
  }
  return characters;
}

/** What a listener of a Gateway takes itself, in characters; as much on either kind of address. */
export function listenerCharacters(
  { id, hostname = "", certificates = [], origin }: Pick<
    Listener,
    "id" | "hostname" | "certificates" | "origin"
  >,
): number {
  return LISTENER_OBJECT_CHARACTERS + listenersCharacters([id]) + hostname.length +
    CERTIFICATE_ID_CHARACTERS * certificates.length + origin.namespace.length +
    origin.name.length + origin.field.length;
}

const NO_IDS: readonly string[] = [];

function textOf(action: Action): number {
  return action.kind === "forward" ? upstreamsOf(action).join().length : action.reason.length;
}

function costOf({ process, worker }: Cost, workers: number): number {
  return process + worker * workers;
}

type Sums<R> = { readonly [K in keyof R]: number };

interface Weigher<T, R> {
  (list: readonly T[]): R;
  /** Knows the weight of `next` where it knows that of `base`, of which it is a change. */
  follow(
    base: readonly T[],
    next: readonly T[],
    replaced: readonly T[],
    changed: readonly T[],
  ): void;
}

/** A weight is a sum over the parts of a list, and of hosts, where their routes stand together. */
function oncePerList<T, R extends Sums<R>>(weigh: (list: readonly T[]) => R): Weigher<T, R> {
  const known = new WeakMap<readonly T[], R>();
  const weightOf = (list: readonly T[]): R => {
    let weight = known.get(list);
    if (weight === undefined) known.set(list, weight = weigh(list));
    return weight;
  };
  const follow: Weigher<T, R>["follow"] = (base, next, replaced, changed) => {
    const before = known.get(base);
    if (before === undefined || known.has(next)) return;
    const [less, more] = [weigh(replaced), weigh(changed)];
    const after = Object.entries<number>(before).map(([name, sum]) => {
      const key = name as keyof R;
      return [name, sum - less[key] + more[key]];
    });
    known.set(next, Object.fromEntries(after) as R);
  };
  return Object.assign(weightOf, { follow });
}
