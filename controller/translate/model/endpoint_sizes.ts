/**
 * Sizes of endpoints. In: addresses with the zones that they are in and are meant for. Out: what they take of each thing
 * that has a limit, no less than they take there; the same ones for what EndpointSlices ask for as for what was
 * published. Pure.
 *
 * Compression hardly leaves anything of the few zones of an ordinary cluster. Names that are all different it cannot
 * leave out; so those of a namespace are counted by how many different characters there are.
 */
import type { Upstream } from "../../../shared/snapshot/types.ts";
import { ObjectCache } from "../../base/memo.ts";

/** What is read of an endpoint. */
export interface SizedEndpoint {
  readonly address: string;
  readonly zone?: string | null;
  readonly hints?: readonly string[] | null;
}

/** Of random printable ASCII, bytes that gzip makes of a character: 0.80 to 0.82. */
export const RANDOM = 0.82;

/**
 * Compressed bytes of an endpoint with random address and port, one of a few zones and one hint. Measured: 11.7 with an
 * IPv4 address, at most 3.7 with those of one network.
 */
const PACKED = 13;

/** Characters of an address beyond those that it has in common with the one before: an IPv4 address has no more. */
const USUAL_ADDRESS = 11;

/** Compressed bytes of each further one, a hexadecimal digit or colon. Measured with random IPv6 addresses: 28.3 in all. */
const PACKED_DIGIT = 0.65;

/** Of each further hint, compressed, although the same name is near. Measured: 1 to 4. */
const PACKED_HINT = 4;

/**
 * Characters within which the same name is found again: gzip looks back 32 KiB, but tries only some of the places there,
 * which can all be others in names of few different letters.
 */
const NEAR = 8 * 1024;

/** JSON of an endpoint without its address and names: `{"address":"","port":65535},`. */
const LINE = { endpoint: 29, zone: 10, hints: 11, hint: 3 };

/** What an endpoint takes in a proxy beside its text, in characters of text; see `shared/snapshot/memory.ts`. */
const MEMORY_CHARACTERS = 67;

/** Of an ordinary one: an IPv6 address, or one of IPv4 with its zone and a hint. */
export const USUAL_ENDPOINT = { characters: 40, packed: 14, line: 90 };

/** What endpoints take together; each of their sums stays exact when one is added. */
export class EndpointTally {
  /** In ordinary ones, without names of zones. */
  #plain = 0;
  /** Characters, as proxies count them. */
  #characters = 0;
  #line = 0;
  #packed = 0;
  /** Characters of all names of zones. */
  #named = 0;
  #count = 0;
  readonly #names = new Set<string>();

  /**
   * @param before The address before it in the order of addresses, in which they are published; "" for none. Others
   * between the two only have more in common with it.
   * @returns What it takes without names of zones, in ordinary endpoints; a multiple of a quarter, 1 or more.
   */
  add({ address, zone, hints }: SizedEndpoint, before = ""): number {
    const packed = packedAddress(address, before);
    const units = Math.max(1, Math.ceil(4 * packed / USUAL_ENDPOINT.packed) / 4);
    let line = LINE.endpoint + address.length;
    let named = 0;
    if (zone != null) {
      named += zone.length;
      line += LINE.zone;
      this.#names.add(zone);
    }
    if (hints != null) {
      line += LINE.hints + LINE.hint * hints.length;
      for (const hint of hints) {
        named += hint.length;
        this.#names.add(hint);
      }
      this.#packed += PACKED_HINT * Math.max(0, hints.length - 1);
    }
    this.#count++;
    this.#plain += units;
    this.#packed += packed;
    this.#characters += address.length + named;
    this.#line += line + named;
    this.#named += named;
    return units;
  }

  addAll(other: EndpointTally): void {
    this.#count += other.#count;
    this.#plain += other.#plain;
    this.#packed += other.#packed;
    this.#characters += other.#characters;
    this.#line += other.#line;
    this.#named += other.#named;
    for (const name of other.#names) this.#names.add(name);
  }

  /** Different names of zones. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /** Without names of zones, in ordinary endpoints; a multiple of a quarter. */
  get plain(): number {
    return this.#plain;
  }

  /** Characters of JSON. */
  get line(): number {
    return this.#line;
  }

  /**
   * Bytes, compressed, after others with the same names.
   *
   * @param different Characters of the different names of the namespace.
   */
  packed(different: number): number {
    return this.#packed + RANDOM * Math.min(this.#named, different * this.#line / NEAR);
  }

  /** The same of all of a namespace, with nothing before them. */
  get packedFirst(): number {
    const different = differentCharacters(this.#names);
    return this.#packed + RANDOM * Math.min(this.#named, different * (1 + this.#line / NEAR));
  }

  /** In ordinary endpoints: as many of these take no less of anything. @param different As for `packed`. */
  units(different: number): number {
    const { characters, packed, line } = USUAL_ENDPOINT;
    return Math.ceil(Math.max(
      this.#plain,
      (this.#characters + this.#count * MEMORY_CHARACTERS) / (characters + MEMORY_CHARACTERS),
      this.#line / line,
      this.packed(different) / packed,
    ));
  }
}

/** Compressed bytes of an endpoint without names of zones. */
function packedAddress(address: string, before: string): number {
  let common = 0;
  while (common < before.length && address[common] === before[common]) common++;
  return PACKED + PACKED_DIGIT * Math.max(0, address.length - common - USUAL_ADDRESS);
}

/** Characters of names of zones, each once. */
export function differentCharacters(names: Iterable<string>): number {
  let characters = 0;
  for (const { length } of names) characters += length;
  return characters;
}

/** Of these endpoints, in bytes. */
export interface EndpointsSize {
  readonly packed: number;
  readonly line: number;
}

/** Sizes of published endpoints. Upstreams never change, so each is counted once. */
export class PublishedEndpoints {
  readonly #tallies = new ObjectCache(tallyOf);
  readonly #sizes = new ObjectCache((upstreams: readonly Upstream[]) =>
    sizeOf(upstreams, (upstream) => this.#tallies.of(upstream))
  );

  /** Of all upstreams. */
  of(upstreams: readonly Upstream[]): EndpointsSize {
    return this.#sizes.of(upstreams);
  }
}

function tallyOf({ addresses }: Upstream): EndpointTally {
  const tally = new EndpointTally();
  let before = "";
  for (const endpoint of addresses.kind === "endpoints" ? addresses.endpoints : []) {
    tally.add(endpoint, before);
    before = endpoint.address;
  }
  return tally;
}

function sizeOf(
  upstreams: readonly Upstream[],
  tallyOf: (upstream: Upstream) => EndpointTally,
): EndpointsSize {
  let [packed, line] = [0, 0];
  // Those of a namespace stand together.
  for (const own of Map.groupBy(upstreams, ({ id }) => id.slice(0, id.indexOf("/"))).values()) {
    const all = new EndpointTally();
    for (const upstream of own) all.addAll(tallyOf(upstream));
    packed += all.packedFirst;
    line += all.line;
  }
  return { packed, line };
}
