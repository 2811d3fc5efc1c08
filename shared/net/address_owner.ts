/**
 * Whose an address is. In: a client's address. Out: a text that is the same for all addresses that a single
 * host can take at will.
 */

/** Whom a limit is for: an IPv4 address, or the /64 of an IPv6 one, all of which is one host's. */
export function ownerOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head, tail] = address.split("::", 2);
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    const rest = tail === "" ? 0 : tail.split(":").length;
    while (groups.length + rest < 8) groups.push("0");
    groups.push(...tail.split(":"));
  }
  return groups.slice(0, 4).join(":");
}
