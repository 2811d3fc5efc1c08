/**
 * Hosts of rules and TLS entries. In: what an Ingress says. Out: a pattern as `Route.host` has it,
 * or why there is none.
 */
import { describe, isAbsent, quote } from "./json.ts";
import { isDnsName } from "./names.ts";

export type HostReading =
  /** `normalised`: it is not written as the API server wants it, but means this pattern. */
  | { readonly ok: true; readonly host: string; readonly normalised: boolean }
  /** A clause such as `is an IP address`. */
  | { readonly ok: false; readonly reason: string };

/** The pattern for any host, as a rule without a host has it. */
export const ANY_HOST = "*";

/** The host of a rule: none means any. */
export function readRuleHost(value: unknown): HostReading {
  return isAbsent(value) || value === ""
    ? { ok: true, host: ANY_HOST, normalised: false }
    : readHost(value);
}

/** A name or `*.name`; addresses are refused, as the API server does. */
export function readHost(value: unknown): HostReading {
  if (typeof value !== "string") return refused(`is ${describe(value)} where text is meant`);
  if (/[^\x21-\x7e]/.test(value)) return refused("has a character that host names do not have");
  // Lower-cased after the check for ASCII: the Kelvin sign, for one, becomes a plain k.
  const host = value.toLowerCase().replace(/\.$/, "");
  const name = host.startsWith("*.") ? host.slice(2) : host;
  if (host === ANY_HOST) return refused("is a star without a domain");
  if (name.includes("*")) return refused("has a star that is not its whole first label");
  if (isIpv4(host) || host.includes("::") || host.startsWith("[")) {
    return refused("is an IP address");
  }
  if (/:\d*$/.test(host)) return refused("has a port");
  if (host.length > 253) return refused("is longer than 253 characters");
  if (!isDnsName(name)) return refused("is not a host name (RFC 1123)");
  return { ok: true, host, normalised: host !== value };
}

/** Shows a host that was refused, with the reason. */
export function explainHost(value: unknown, reason: string): string {
  return typeof value === "string" ? `host ${quote(value)} ${reason}` : `the host ${reason}`;
}

export const HOST_REMEDY =
  "Write a name such as app.example.com or *.example.com in lower case, without port and last dot " +
  "(international names as xn--…)";

/** Four numbers below 256; leading zeros count too, as in the API server's check. */
function isIpv4(host: string): boolean {
  const parts = host.split(".");
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

function refused(reason: string): HostReading {
  return { ok: false, reason };
}
