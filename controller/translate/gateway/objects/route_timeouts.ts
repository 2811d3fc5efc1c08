/**
 * Time-outs of rules. In: `timeouts` of a rule, of unknown shape. Out: the time that a request may take, or
 * what is wrong with it.
 *
 * Requests are not sent again by a setting of the rule, so the time for one request to a backend is that
 * for the request of the client, where it is shorter.
 *
 * https://gateway-api.sigs.k8s.io/geps/gep-1742/
 */
import { MAX_TIMEOUT } from "../../../../shared/snapshot/setting_values.ts";
import { fieldOf, isAbsent, quote, unknownField } from "../../../base/json.ts";

export type TimeoutReading =
  /** In ms, `MAX_TIMEOUT` for as long as it takes; null where the rule says nothing. */
  | { readonly ok: true; readonly time: number | null }
  /** A clause that begins with the field. */
  | { readonly ok: false; readonly reason: string };

const NAMES = ["request", "backendRequest"] as const;
const KNOWN: ReadonlySet<string> = new Set(NAMES);

export function readTimeouts(value: unknown, field: string): TimeoutReading {
  const unknown = unknownField(value, KNOWN);
  if (unknown !== null) return { ok: false, reason: `${field}.${unknown} is not supported` };
  let time: number | null = null;
  for (const name of NAMES) {
    const written = fieldOf(value, name);
    if (isAbsent(written)) continue;
    const milliseconds = readDuration(written);
    if (milliseconds === null) {
      return { ok: false, reason: `${field}.${name} ${quote(written)} is no duration` };
    }
    // Zero disables the time-out: those of the proxy do not apply either.
    time = Math.min(time ?? MAX_TIMEOUT, milliseconds === 0 ? MAX_TIMEOUT : milliseconds);
  }
  return { ok: true, time };
}

/** Numbers with units, at most, and characters of all of them. */
const MAX_PARTS = 4;
const MAX_LENGTH = MAX_PARTS * 7;

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** GEP-2257, in ms; null for what is none. */
export function readDuration(value: unknown): number | null {
  if (typeof value !== "string" || value.length > MAX_LENGTH) return null;
  const parts = value.match(/[0-9]{1,5}[a-z]{1,2}/g) ?? [];
  if (parts.length > MAX_PARTS || parts.join("") !== value || value === "") return null;
  let sum = 0;
  for (const part of parts) {
    const [, digits, unit] = /^([0-9]+)([a-z]+)$/.exec(part)!;
    if (!Object.hasOwn(UNITS, unit)) return null;
    sum += Number(digits) * UNITS[unit];
  }
  return sum;
}
