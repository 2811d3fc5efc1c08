/**
 * Where a program listens. In: `0.0.0.0:80`, `[::]:443`, `:8080`. Out: hostname and port as
 * `Deno.listen` takes them, the text again, and a sentence for people when listening fails.
 */
import { isIP } from "node:net";

export interface Address {
  /** An IP address without brackets, or `localhost`. */
  readonly hostname: string;
  /** 0 lets the system choose a free one. */
  readonly port: number;
}

/** The address, or null where the text is none. No host means all IPv4 addresses. */
export function parseAddress(text: string): Address | null {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (match === null) return null;
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > 65535) return null;
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? { hostname: bracketed, port } : null;
  if (plain === "") return { hostname: "0.0.0.0", port };
  if (plain === "localhost" || isIP(plain) === 4) return { hostname: plain, port };
  return null;
}

/** `127.0.0.1:9090`, `[::]:443`. */
export function formatAddress(address: Address): string {
  return address.hostname.includes(":")
    ? `[${address.hostname}]:${address.port}`
    : `${address.hostname}:${address.port}`;
}

/** An IPv4-mapped IPv6 address, as a dual-stack socket reports it, as IPv4. */
export function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/** All addresses of both families, where the system has both. */
export function isAny({ hostname }: Address): boolean {
  return hostname === "::";
}

/** All IPv4 addresses in place of all; others as they are, the very same object. */
export function withoutIpv6(address: Address): Address {
  return isAny(address) ? { ...address, hostname: "0.0.0.0" } : address;
}

/** Whether listening failed since another program listens there. */
export function isPortTaken(error: unknown): boolean {
  // Listeners of node:net tell by code what those of Deno tell by class.
  return error instanceof Deno.errors.AddrInUse || codeOf(error) === "EADDRINUSE";
}

/** Whether listening failed since the machine does not have the address. */
export function isAddressMissing(error: unknown): boolean {
  return error instanceof Deno.errors.AddrNotAvailable || codeOf(error) === "EADDRNOTAVAIL";
}

/** Whether listening failed since only some users may have the port. */
export function isPortPrivileged(error: unknown, { port }: Address): boolean {
  return port < 1024 &&
    (error instanceof Deno.errors.PermissionDenied || codeOf(error) === "EACCES");
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** One line for people: what could not be listened on, why, and what to do about it. */
export function describeListenError(error: unknown, address: Address, flag: string): string {
  const what = `Cannot listen on ${formatAddress(address)} (${flag})`;
  if (isPortTaken(error)) {
    return `${what}: another program has the port; stop it, or change ${flag}`;
  }
  if (error instanceof Deno.errors.NotCapable) {
    return `${what}: Deno was started without the permission to; ` +
      `add --allow-net=${formatAddress(address)}`;
  }
  if (error instanceof Deno.errors.PermissionDenied || codeOf(error) === "EACCES") {
    return isPortPrivileged(error, address)
      ? `${what}: a port below 1024 needs the right to it (NET_BIND_SERVICE); ` +
        `give ${flag} a port from 1024 on`
      : `${what}: the system does not allow it`;
  }
  if (isAddressMissing(error)) {
    return `${what}: this machine does not have the address; give ${flag} one that it has`;
  }
  return `${what}: ${error instanceof Error ? error.message : String(error)}`;
}
