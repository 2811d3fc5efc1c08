/**
 * Hosts of rules and TLS entries. In: what a source says. Out: a pattern as `Route.host` has it,
 * or why there is none.
 */
import { isIP } from "node:net";
import { parseHostPattern } from "../../../shared/host/host_pattern.ts";
import { describe, isAbsent, quote } from "../../base/json.ts";

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

/** The pattern that takes requests for a host without routes of its own. */
export function wildcardOver(host: string): string {
  return `*${host.slice(Math.max(host.indexOf("."), 0))}`;
}

/** Patterns that have all hosts of this one and others, the most specific first; not that for any host. */
export function* broaderPatterns(pattern: string): Generator<string, void> {
  const name = pattern.startsWith("*.") ? pattern.slice(2) : pattern;
  for (let dot = name.indexOf("."); dot !== -1; dot = name.indexOf(".", dot + 1)) {
    yield `*${name.slice(dot)}`;
  }
}

/** A name or `*.name`; addresses are refused, as the API server does. */
export function readHost(value: unknown): HostReading {
  if (typeof value !== "string") return refused(`is ${describe(value)} where text is meant`);
  if (value === ANY_HOST) return refused("has no domain after the asterisk");
  if (isIpv4(value) || isIP(value.replace(/^\[|\]$/g, "")) === 6) {
    return refused("is an IP address");
  }
  if (/:\d*$/.test(value)) return refused("has a port");
  const pattern = parseHostPattern(value);
  return pattern.ok ? { ...pattern, normalised: pattern.host !== value } : pattern;
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
  const parts = host.replace(/\.$/, "").split(".");
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

function refused(reason: string): HostReading {
  return { ok: false, reason };
}
