/**
 * What a Lease says. In: a Lease as the API server has it, and since when we have seen it so. Out:
 * whether it is ours, free, or held until when; and what to write in order to hold or release it.
 *
 * https://kubernetes.io/docs/concepts/architecture/leases/. The record is written as client-go writes
 * it, so that people and other programs read it as they know it. Its times are for people: no
 * decision compares the wall clocks of two machines.
 */
import type { KubeObject } from "./types.ts";

export interface LeaseSpec {
  /** "" or missing: nobody. */
  readonly holderIdentity?: string;
  /** Whole seconds; the API server takes no less than one. */
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** How often another has become the holder. */
  readonly leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

/** A record, and how long we have seen it unchanged. */
export interface Observation {
  /** Null where there is no Lease. */
  readonly lease: Lease | null;
  /** When this record was seen first, on our own monotonic clock, in ms. */
  readonly since: number;
  /** Milliseconds after `since` during which its holder, known or not, may believe to lead. */
  readonly patience: number;
}

export type Standing =
  | { readonly kind: "ours" }
  /** Nobody may believe to lead any more. */
  | { readonly kind: "free" }
  /** `until`: on our monotonic clock, in ms. */
  | { readonly kind: "held"; readonly until: number };

/** The API server's type of `leaseTransitions` ends here. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/**
 * Adds what was read at `now`, on the monotonic clock in ms. A record that says what it said keeps
 * its age, whatever else changed in the object. `leaseDuration` is our own, in ms: a record is never
 * believed to end sooner, because a person may have edited it while its holder goes on. `isNew` says
 * of a first look that finds no Lease that nobody has ever led.
 */
export function observe(
  previous: Observation | null,
  lease: Lease | null,
  now: number,
  leaseDuration: number,
  isNew = true,
): Observation {
  if (previous !== null && recordOf(previous.lease) === recordOf(lease)) {
    return { ...previous, lease };
  }
  return { lease, since: now, patience: patienceFor(previous, lease, leaseDuration, isNew) };
}

/** What the record means to `identity` at `now`, on the monotonic clock in ms. */
export function standingOf(
  { lease, since, patience }: Observation,
  identity: string,
  now: number,
): Standing {
  if (holderOf(lease) === identity) return { kind: "ours" };
  return now - since >= patience ? { kind: "free" } : { kind: "held", until: since + patience };
}

/** Null for nobody. */
export function holderOf(lease: Lease | null): string | null {
  return lease?.spec?.holderIdentity || null;
}

export function transitionsOf(lease: Lease | null): number {
  return lease?.spec?.leaseTransitions ?? 0;
}

/**
 * The record by which `identity` gets or keeps the lease. `before` is the one in its place, null
 * where there is none; `leaseDuration` in ms, `now` in ms since the epoch.
 */
export function heldSpec(
  before: Lease | null,
  identity: string,
  leaseDuration: number,
  now: number,
): LeaseSpec {
  const isRenewal = holderOf(before) === identity;
  const transitions = transitionsOf(before) + (before === null || isRenewal ? 0 : 1);
  return {
    ...before?.spec,
    holderIdentity: identity,
    // Rounded up: those who read it wait rather too long than too short.
    leaseDurationSeconds: Math.ceil(leaseDuration / 1000),
    acquireTime: (isRenewal ? before?.spec?.acquireTime : null) ?? microTime(now),
    renewTime: microTime(now),
    leaseTransitions: Math.min(transitions, MOST_TRANSITIONS),
  };
}

/** The record by which its holder gives the lease away at once, as client-go does. */
export function releasedSpec(held: Lease, now: number): LeaseSpec {
  return {
    ...held.spec,
    holderIdentity: "",
    leaseDurationSeconds: RELEASED_SECONDS,
    acquireTime: microTime(now),
    renewTime: microTime(now),
    leaseTransitions: transitionsOf(held),
  };
}

const RELEASED_SECONDS = 1;

/** `2026-11-21T17:37:54.123000Z`: the API server takes exactly six digits. */
export function microTime(now: number): string {
  return new Date(now).toISOString().replace("Z", "000Z");
}

/**
 * A Lease that vanishes was deleted under a holder who does not know yet; after a release too, since
 * another may have held it between two looks. One without a holder is only free if its holder wrote
 * that itself.
 */
function patienceFor(
  previous: Observation | null,
  lease: Lease | null,
  leaseDuration: number,
  isNew: boolean,
): number {
  if (lease === null) {
    if (previous === null && isNew) return 0;
    return Math.max(previous?.patience ?? 0, leaseDuration);
  }
  if (isReleased(lease)) return 0;
  return Math.max((lease.spec?.leaseDurationSeconds ?? 0) * 1000, leaseDuration);
}

function isReleased(lease: Lease | null): boolean {
  return lease !== null && holderOf(lease) === null &&
    lease.spec?.leaseDurationSeconds === RELEASED_SECONDS;
}

/** Equal for records that say the same. */
function recordOf(lease: Lease | null): string | null {
  if (lease === null) return null;
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } =
    lease.spec ?? {};
  return JSON.stringify([
    holderIdentity ?? null,
    leaseDurationSeconds ?? null,
    acquireTime ?? null,
    renewTime ?? null,
    leaseTransitions ?? null,
  ]);
}
