/**
 * Sets of addresses. In: `10.0.0.0/8,192.168.1.7`. Out: a list that answers whether an address is
 * in it. An IPv4 address counts the same in its IPv6 form (`::ffff:10.0.0.1`), as dual-stack
 * sockets report it.
 */
import ipaddr from "ipaddr.js";
import { type ParsedAddress, parsedAddress } from "./parsed_address.ts";

type Range = ReturnType<typeof ipaddr.parseCIDR>;

export class CidrList {
  /** Holds no address. */
  static readonly empty = new CidrList([]);

  #ranges: readonly Range[];

  private constructor(ranges: readonly Range[]) {
    this.#ranges = ranges;
  }

  /** Blocks and single addresses between commas, or a sentence that says what is wrong. */
  static parse(text: string): CidrList | string {
    const ranges: Range[] = [];
    for (const part of text.split(",").map((part) => part.trim()).filter((part) => part !== "")) {
      const range = parseRange(part);
      if (typeof range === "string") return range;
      ranges.push(range);
    }
    return new CidrList(ranges);
  }

  get isEmpty(): boolean {
    return this.#ranges.length === 0;
  }

  /** False for what is no address. Zone indices (`fe80::1%eth0`) are ignored. */
  contains(address: string): boolean {
    if (this.#ranges.length === 0 || !ipaddr.isValid(address)) return false;
    return this.includes(parsedAddress(address));
  }

  /** As `contains`, for an address that has been read. */
  includes(parsed: ParsedAddress): boolean {
    return this.#ranges.some(([network, bits]) =>
      network.kind() === parsed.kind() && parsed.match([network, bits] as never)
    );
  }

  concat(other: CidrList): CidrList {
    return new CidrList([...this.#ranges, ...other.#ranges]);
  }

  /** `10.0.0.0/8,192.168.1.7/32`. */
  toString(): string {
    return this.#ranges.map(([network, bits]) => `${network}/${bits}`).join(",");
  }

  toJSON(): string {
    return this.toString();
  }
}

function parseRange(text: string): Range | string {
  const [address, bits, more] = text.split("/");
  // isValidFourPartDecimal: ipaddr.js takes 10.1 and 0x7f000001 too, which nobody means here.
  if (
    more !== undefined || !(ipaddr.IPv6.isValid(address) ||
      ipaddr.IPv4.isValidFourPartDecimal(address))
  ) {
    return `${JSON.stringify(text)} is neither an address nor a block like 10.0.0.0/8`;
  }
  const network = ipaddr.parse(address);
  const width = network.kind() === "ipv4" ? 32 : 128;
  if (bits === undefined) return [network, width] as Range;
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > width) {
    return `${JSON.stringify(text)} needs a prefix length from 0 to ${width}`;
  }
  const first = network.kind() === "ipv4"
    ? ipaddr.IPv4.networkAddressFromCIDR(text)
    : ipaddr.IPv6.networkAddressFromCIDR(text);
  if (first.toString() !== network.toString()) {
    return `${JSON.stringify(text)} has bits behind its prefix; ${first}/${bits} is that block`;
  }
  return [network, Number(bits)] as Range;
}
