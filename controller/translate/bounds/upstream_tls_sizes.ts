/**
 * Sizes of what TLS to backends takes. In: upstreams, and certificates that they show. Out: the parts of each
 * namespace: the same authorities stand in each upstream anew.
 */
import type { Snapshot, Upstream } from "../../../shared/snapshot/types.ts";
import type { Parts } from "./namespace_parts.ts";
import { certificateSize, PairTally } from "./pair_sizes.ts";

/** Upstreams, and at least the certificates that they show. */
export type UpstreamList = Pick<Snapshot, "upstreams" | "certificates">;

/** Distance in which gzip finds the same text again (RFC 1951 §2), less what an upstream may have beside that. */
const WINDOW = 30_000;

/** JSON of an upstream, and of an endpoint with its zone and hints. */
const TEXT = { upstream: 200, endpoint: 100 };

/**
 * By namespace of the Services.
 *
 * @param list In order of their ids.
 */
export function upstreamTlsParts(list: UpstreamList): ReadonlyMap<string, Parts> {
  const tallies = new Map<string, Tally>();
  const lastAt = new Map<string, number>();
  let pairs: Pairs | null = null;
  let at = 0;
  for (const upstream of list.upstreams) {
    const { tls, addresses } = upstream;
    at += TEXT.upstream;
    if (addresses.kind === "endpoints") at += addresses.endpoints.length * TEXT.endpoint;
    if (!isLarge(upstream)) continue;
    const namespace = namespaceOf(upstream);
    let tally = tallies.get(namespace);
    if (tally === undefined) tallies.set(namespace, tally = new Tally());
    const ca = tls?.ca?.pem ?? "";
    tally.text += ca.length;
    const isShared = isShort(ca);
    if (!isShared || at + ca.length - (lastAt.get(ca) ?? -Infinity) > WINDOW) {
      tally.random += ca.length;
    }
    at += ca.length;
    if (isShared) lastAt.set(ca, at);
    pairs ??= shownPairs(list);
    const shown = pairs.get(tls?.clientCertificate ?? "");
    if (shown !== undefined) tally.pairs.add(shown.id, certificateSize(shown));
  }
  return new Map(tallies.entries().map(([namespace, { parts }]) => [namespace, parts]));
}

class Tally {
  /** Of authorities. */
  text = 0;
  /** Of these, those that compression cannot leave out. */
  random = 0;
  readonly pairs = new PairTally();

  get parts(): Parts {
    const { text, random, pairs: { chains, keys, count } } = this;
    return {
      ...{ routes: 0, hosts: 0, bytes: 0, alike: 0, compiled: 0, upstreams: 0 },
      ...{ text, random, chains, keys, certificates: count },
    };
  }
}

/** Certificates for no host, by id: others count for the namespaces that have their hosts. */
export function shownPairs(
  { upstreams, certificates }: UpstreamList,
): ReadonlyMap<string, Snapshot["certificates"][number]> {
  const ids = new Set(upstreams.flatMap(({ tls }) => tls?.clientCertificate ?? []));
  return new Map(
    certificates.filter(({ id, hosts }) => hosts.length === 0 && ids.has(id)).map((
      each,
    ) => [each.id, each]),
  );
}

type Pairs = ReturnType<typeof shownPairs>;

/**
 * Whether authorities may be left out by compression where another upstream has the same; then they may be the key of
 * a map. V8 hashes strings from 16 Ki characters on by their length alone: as keys, they would all collide.
 */
export function isShort(pem: string): boolean {
  return pem.length <= WINDOW / 2;
}

/** Whether it has anything that may be large. */
export function isLarge({ tls }: Upstream): boolean {
  return tls?.ca !== undefined || tls?.clientCertificate !== undefined;
}

/** Of its Service. */
export function namespaceOf({ id }: Pick<Upstream, "id">): string {
  return id.slice(0, id.indexOf("/"));
}
