/**
 * Reading one address. In: its text. Out: what `ipaddr.process` gives, an IPv4 address for an
 * IPv4-mapped one among it; sooner for the form that nearly all addresses have.
 */
import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

export type ParsedAddress = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Takes all forms that ipaddr.js takes (`10.1`, `0x7f000001`, zone indices). Throws where the text is
 * no address.
 */
export function parsedAddress(text: string): ParsedAddress {
  // Four decimal numbers without leading zeros, which no other notation reads otherwise. ipaddr.js
  // compares the text with its expressions three times before it reads it.
  return isIPv4(text) ? new ipaddr.IPv4(text.split(".").map(Number)) : ipaddr.process(text);
}
