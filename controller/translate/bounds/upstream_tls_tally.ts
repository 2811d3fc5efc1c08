/**
 * Authorities and client certificates of upstreams, counted one by one. In: what upstreams get, and what they no longer
 * have. Out: the characters of all, of which those of the same text or certificate count once where compression leaves
 * them out.
 */
import type { Certificate, PemText } from "../../../shared/snapshot/types.ts";
import type { Parts } from "./namespace_parts.ts";
import { certificateSize, type PairSize } from "./pair_sizes.ts";
import { isShort } from "./upstream_tls_sizes.ts";

/** Characters. */
export interface Amounts {
  /** Of all. */
  readonly text: number;
  /** Of what is published in ConfigMaps, without what compression leaves out. */
  readonly packed: number;
  readonly keys: number;
}

export function amountsOf({ text, random, chains, keys }: Parts): Amounts {
  return { text: text + chains + keys, packed: random + chains, keys };
}

export function isWithin(amounts: Amounts, most: Amounts): boolean {
  return amounts.text <= most.text && amounts.packed <= most.packed && amounts.keys <= most.keys;
}

export function largerOf(a: Amounts, b: Amounts): Amounts {
  return {
    text: Math.max(a.text, b.text),
    packed: Math.max(a.packed, b.packed),
    keys: Math.max(a.keys, b.keys),
  };
}

const NO_PAIR: PairSize = { chain: 0, key: 0 };

/**
 * By id of the certificate.
 *
 * @param published Those that upstreams showed.
 * @param certificates Of the snapshot: those for hosts count for the namespaces that have their hosts.
 */
export function pairSizesById(
  published: ReadonlyMap<string, Certificate>,
  certificates: readonly Certificate[],
): ReadonlyMap<string, PairSize> {
  const sizes = new Map<string, PairSize>();
  for (const [id, certificate] of published) sizes.set(id, certificateSize(certificate));
  for (const certificate of certificates) {
    const { id, hosts } = certificate;
    sizes.set(id, hosts.length === 0 ? certificateSize(certificate) : NO_PAIR);
  }
  return sizes;
}

export class UpstreamTlsTally {
  readonly #sizes: ReadonlyMap<string, PairSize>;
  /** How many upstreams have it. */
  readonly #texts = new Map<string, number>();
  /** By id. */
  readonly #pairs = new Map<string, number>();
  #text = 0;
  #packed = 0;
  #keys = 0;

  /** @param sizes Of certificates, by id. */
  constructor(sizes: ReadonlyMap<string, PairSize>) {
    this.#sizes = sizes;
  }

  get amounts(): Amounts {
    return { text: this.#text, packed: this.#packed, keys: this.#keys };
  }

  /** @param upstreams How many get them; negative where they no longer have them. */
  addAuthorities(ca: PemText | null, upstreams: number): void {
    if (ca === null) return;
    const { pem } = ca;
    this.#text += upstreams * pem.length;
    this.#packed += (isShort(pem) ? turn(this.#texts, pem, upstreams) : upstreams) * pem.length;
  }

  addPair(id: string | null, upstreams: number): void {
    if (id === null) return;
    const { chain, key } = this.#sizes.get(id) ?? NO_PAIR;
    const sign = turn(this.#pairs, id, upstreams);
    this.#text += sign * (chain + key);
    this.#packed += sign * chain;
    this.#keys += sign * key;
  }

  sizeOfPair(id: string | null): number {
    const { chain, key } = this.#sizes.get(id ?? "") ?? NO_PAIR;
    return chain + key;
  }
}

/** 1 where it is there now and was not before, -1 where it is no longer there, else 0. */
function turn(counts: Map<string, number>, key: string, change: number): number {
  const before = counts.get(key) ?? 0;
  const now = before + change;
  counts.set(key, now);
  return Number(now > 0) - Number(before > 0);
}
