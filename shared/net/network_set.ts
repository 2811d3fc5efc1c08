/**
 * Large sets of networks. In: addresses and networks such as `10.0.0.0/8` or `fd00::/8`. Out: whether
 * an address is in one of them, in time that grows with the logarithm of their number.
 *
 * An IPv4 address counts the same in its IPv6 form (`::ffff:10.0.0.1`), networks too. Any other IPv6
 * network, `::/0` too, holds no IPv4 address.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** First and last address of a range, each as hex digits of fixed length: their order is the numbers'. */
type Range = readonly [first: string, last: string];

export class NetworkSet {
  readonly #ipv4: readonly Range[];
  readonly #ipv6: readonly Range[];

  /** @param networks Addresses and networks; bits behind a prefix are ignored. Throws for others. */
  constructor(networks: readonly string[]) {
    const ipv4: Range[] = [];
    const ipv6: Range[] = [];
    for (const network of networks) {
      const range = rangeOf(network);
      (range[0].length === 8 ? ipv4 : ipv6).push(range);
    }
    this.#ipv4 = merged(ipv4);
    this.#ipv6 = merged(ipv6);
  }

  /** Whether every address of IPv4, or every one of IPv6, is in one of them. */
  get admitsAll(): boolean {
    return isWhole(this.#ipv4, 8) || isWhole(this.#ipv6, 32);
  }

  /** False for what is no address. Zone indices (`fe80::1%eth0`) are ignored. */
  contains(address: string): boolean {
    // ipaddr.js accepts 10.1 and 0x7f000001 too.
    if (isIP(address) === 0) return false;
    const digits = hex(ipaddr.process(address).toByteArray());
    return holds(digits.length === 8 ? this.#ipv4 : this.#ipv6, digits);
  }
}

/** The network of an address, without bits behind the prefix: `10.1.2.3` and 8 are `10.0.0.0/8`. */
export function canonicalNetwork(address: string, bits: number): string {
  if (IPV4.test(address)) return canonicalIpv4(address, bits);
  const bytes = ipaddr.parse(address).toByteArray();
  const network = ipaddr.fromByteArray(bytes.map((byte, i) => byte & mask(bits, i)));
  return `${network}/${bits}`;
}

/** Decimal numbers without leading zeros, each at most 255. */
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** ipaddr.js takes ten times as long for the form that nearly all have. */
function canonicalIpv4(address: string, bits: number): string {
  const bytes = address.split(".").map((byte, i) => Number(byte) & mask(bits, i));
  return `${bytes.join(".")}/${bits}`;
}

function rangeOf(network: string): Range {
  const [address, prefix] = network.split("/");
  let bytes = ipaddr.parse(address).toByteArray();
  let bits = prefix === undefined ? bytes.length * 8 : Number(prefix);
  if (bytes.length === 16 && bits >= 96 && hex(bytes).startsWith(MAPPED)) {
    bytes = bytes.slice(12);
    bits -= 96;
  }
  return [
    hex(bytes.map((byte, i) => byte & mask(bits, i))),
    hex(
      bytes.map((byte, i) => byte | (0xff & ~mask(bits, i))),
    ),
  ];
}

/** ::ffff:0:0/96 (RFC 4291 §2.5.5.2). */
const MAPPED = `${"0".repeat(20)}ffff`;

/** Of byte `i` the bits that a prefix of `bits` bits fixes. */
function mask(bits: number, i: number): number {
  const fixed = Math.min(Math.max(bits - 8 * i, 0), 8);
  return 0xff & ~(0xff >> fixed);
}

function hex(bytes: readonly number[]): string {
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Sorted, without overlaps. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = [];
  for (const range of ranges.toSorted(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)) {
    const before = result.at(-1);
    if (before === undefined || before[1] < range[0]) result.push(range);
    else if (before[1] < range[1]) result[result.length - 1] = [before[0], range[1]];
  }
  return result;
}

/** @param digits Of an address of the family. */
function isWhole(ranges: readonly Range[], digits: number): boolean {
  let next = 0n;
  for (const [first, last] of ranges) {
    if (BigInt(`0x${first}`) !== next) return false;
    next = BigInt(`0x${last}`) + 1n;
  }
  return next === 1n << BigInt(digits * 4);
}

function holds(ranges: readonly Range[], digits: string): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle][1] < digits) low = middle + 1;
    else high = middle;
  }
  return low < ranges.length && ranges[low][0] <= digits;
}
