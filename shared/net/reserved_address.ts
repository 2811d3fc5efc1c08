/**
 * Addresses that no endpoint has. In: an IP address. Out: what kind of address it is that leads to
 * the proxy itself, its link or a cloud's credentials, or null.
 *
 * Whoever may write a Service, an EndpointSlice or a DNS record chooses where the proxy dials
 * (server-side request forgery, CWE-918), so every form in which IPv6 carries an IPv4 address counts
 * as that address: a gateway on the node may translate it.
 */
import ipaddr from "ipaddr.js";
import { CidrList } from "./cidr.ts";
import { type ParsedAddress, parsedAddress } from "./parsed_address.ts";

export type ReservedKind = "loopback" | "local" | "metadata";

/** What an address is, as a noun for messages. */
export interface Reserved {
  readonly kind: ReservedKind;
  readonly what: string;
}

/** Where clouds answer with credentials, besides 169.254.0.0/16 and fe80::/10, which are link-local. */
const METADATA = cidrs([
  "fd00:ec2::254", // AWS: instance metadata over IPv6
  "fd00:ec2::23", // AWS: credentials of EKS Pod Identity
  "fd20:ce::254", // Google
  "fd00:c1::a9fe:a9fe", // Oracle over IPv6
  "192.0.0.192", // Oracle, an older form
  "fd00:42::42", // Scaleway
  "100.100.100.200", // Alibaba
  "168.63.129.16", // Azure: wire server
]);

/** Ranges of ipaddr.js. */
const LOCAL: ReadonlyMap<string, string> = new Map([
  ["unspecified", "an unspecified address"],
  ["linkLocal", "a link-local address"],
  ["multicast", "a multicast address"],
  ["broadcast", "a broadcast address"],
]);

/** Null for an address that may be an endpoint's. `text` is an address, be it with a zone index. */
export function reservedAddress(text: string): Reserved | null {
  return reservedForm(parsedAddress(text));
}

/** As `reservedAddress`, of an address that has been read. */
export function reservedForm(address: ParsedAddress): Reserved | null {
  for (const form of [address, ...embedded(address)]) {
    const range = form.range();
    if (range === "loopback") return { kind: "loopback", what: "a loopback address" };
    const what = LOCAL.get(range);
    if (what !== undefined) return { kind: "local", what };
    if (METADATA.includes(form)) {
      return { kind: "metadata", what: "a cloud's metadata address" };
    }
  }
  return null;
}

/** An address in its canonical form, and the IPv4 addresses that a gateway might dial for it. */
export function addressForms(text: string): readonly string[] {
  const address = parsedAddress(text);
  return [address.toString(), ...embedded(address).map((form) => form.toString())];
}

/** The IPv4 addresses that a gateway might dial for an IPv6 one. */
function embedded(address: ParsedAddress): readonly ipaddr.IPv4[] {
  if (!(address instanceof ipaddr.IPv6)) return [];
  const bytes = address.toByteArray();
  const at = (index: number) => new ipaddr.IPv4(bytes.slice(index, index + 4));
  const last = at(12);
  const isIsatap = (bytes[8] & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e &&
    bytes[11] === 0xfe;
  if (isIsatap) return [last]; // RFC 5214 §6.1
  // 64:ff9b::/96, and 64:ff9b:1::/48 (RFC 8215), in which a translator's prefix may have any length. A range of
  // ipaddr.js has both.
  if (bytes[0] === 0 && bytes[1] === 0x64 && bytes[2] === 0xff && bytes[3] === 0x9b) {
    return bytes.slice(4, 12).every((byte) => byte === 0) ? [last] : translated(bytes);
  }
  switch (address.range()) {
    case "rfc6145": // ::ffff:0:0:0/96, RFC 7915
      return [last];
    case "6to4": // RFC 3056 §2
      return [at(2)];
    case "teredo": // RFC 4380 §4: the server, and the client with its bits inverted
      return [at(4), new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff))];
  }
  // RFC 4291 §2.5.5.1: IPv4-compatible; ::1 and :: have ranges of their own.
  return bytes.slice(0, 12).every((byte) => byte === 0) && bytes[12] !== 0 ? [last] : [];
}

/** Where the bytes of an IPv4 address stand behind prefixes of 32, 40, 48, 56, 64 and 96 bits. */
const TRANSLATED = [
  ...[[4, 5, 6, 7], [5, 6, 7, 9], [6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12]],
  [12, 13, 14, 15],
];

/**
 * What a translator (RFC 6052 §2.2) may read in an address, whatever the length of its prefix. Not 0.0.0.0/8, which
 * no router forwards to: an address of one form has zeros where most others have theirs.
 */
function translated(bytes: readonly number[]): readonly ipaddr.IPv4[] {
  return TRANSLATED.filter(([first]) => bytes[first] !== 0)
    .map((places) => new ipaddr.IPv4(places.map((at) => bytes[at])));
}

function cidrs(list: readonly string[]): CidrList {
  const parsed = CidrList.parse(list.join(","));
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}
