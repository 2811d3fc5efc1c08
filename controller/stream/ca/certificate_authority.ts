/**
 * The authority by which proxies know the controller's stream. In: what is stored of it, the trust
 * that is published, and the time. Out: the next step of its rotation, as data. Pure.
 *
 *     next is made ─▶ in the bundle ─▶ for an hour ─▶ it signs ─▶ the one before it leaves the
 *     bundle when all that it has signed has expired
 *
 * A proxy must trust whoever any replica serves by, and learns of a bundle some minutes late, as a
 * replica learns of a signer: so trust always goes first and is the last to go.
 */
import type { Redacted } from "../../../shared/redacted.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** An authority's own certificate, with what there is to know of it. */
export interface AuthorityCertificate {
  /** PEM, one certificate. */
  readonly certPem: string;
  /** sha256 of its DER in hex. */
  readonly id: string;
  /** In ms since the epoch. */
  readonly validFrom: number;
  readonly validTo: number;
}

export interface Signer extends AuthorityCertificate {
  /** PKCS #8 in PEM. */
  readonly keyPem: Redacted;
}

/** One that signs no more, and is trusted until all that it has signed has expired. */
export interface RetiredAuthority extends AuthorityCertificate {
  /** In ms since the epoch. */
  readonly until: number;
}

export interface AuthorityState {
  /** Null while none has been published for long enough; who has no certificate uses `next`. */
  readonly signer: Signer | null;
  readonly next: Signer | null;
  /** Since when the published bundle has had `next`, in ms since the epoch; null for not yet. */
  readonly nextPublished: number | null;
  readonly retired: readonly RetiredAuthority[];
}

/** What a server presents. */
export interface ServingCertificate {
  /** PEM, the leaf alone: proxies mount the authority. */
  readonly certPem: string;
  readonly keyPem: Redacted;
  /** `id` of the authority that has signed it. */
  readonly authority: string;
  /** In ms since the epoch. */
  readonly validTo: number;
}

/** A serving certificate that is replaced while the server listens. */
export interface ServingCertificates {
  /** Null until there is an authority to sign one. */
  readonly current: ServingCertificate | null;
  /** Calls `listener` after each change of `current`. */
  onChange(listener: () => void): void;
}

/** In milliseconds but for the shares. */
export interface AuthorityTimes {
  /** How long before now validity begins: clocks differ. */
  readonly backdate: number;
  readonly authorityLife: number;
  /** The share of its life after which an authority gets a successor. */
  readonly prepareAfter: number;
  /** From the successor's publication to its first signature; kubelets are some minutes late. */
  readonly announcement: number;
  readonly servingLife: number;
  /** The share of its life after which a serving certificate is replaced. */
  readonly renewAfter: number;
}

export const AUTHORITY_TIMES: AuthorityTimes = {
  backdate: DAY,
  authorityLife: 365 * DAY,
  prepareAfter: 2 / 3,
  announcement: HOUR,
  servingLife: 7 * DAY,
  renewAfter: 2 / 3,
};

export type AuthorityStep =
  /** Make a new authority, and store `withNext` of it. */
  | { readonly kind: "make" }
  /** Write `bundleOf` the state to where proxies mount it. */
  | { readonly kind: "publish" }
  | { readonly kind: "store"; readonly state: AuthorityState; readonly what: StoredChange }
  /** Nothing to do before this time, in ms since the epoch. */
  | { readonly kind: "wait"; readonly until: number };

export type StoredChange =
  /** The bundle with the next one is out: its time of announcement begins. */
  | "announced"
  /** The next one is missing in the bundle: its time of announcement will begin anew. */
  | "withdrawn"
  /** The next one signs. */
  | "promoted"
  /** One that nobody needs any more has gone. */
  | "forgotten";

/**
 * What is to be done first.
 * @param state is null where nothing is stored that could be used.
 * @param published are the ids of the certificates that the published bundle has; null for no bundle.
 */
export function nextStep(
  state: AuthorityState | null,
  published: ReadonlySet<string> | null,
  now: number,
  times: AuthorityTimes = AUTHORITY_TIMES,
): AuthorityStep {
  if (state === null) return { kind: "make" };
  const { signer, next, nextPublished } = state;
  const usable = withoutOutdated(state, now);
  if (usable !== state) return { kind: "store", state: usable, what: "forgotten" };
  if (next === null && (signer === null || now >= successionOf(signer, times))) {
    return { kind: "make" };
  }
  const isOut = next !== null && published?.has(next.id) === true;
  // Stored before the bundle is repaired: else nobody would know that it was away.
  if (nextPublished !== null && (!isOut || nextPublished > now)) {
    return { kind: "store", state: { ...state, nextPublished: null }, what: "withdrawn" };
  }
  const wanted = trustedOf(state);
  const isSame = published?.size === wanted.length && wanted.every(({ id }) => published.has(id));
  if (!isSame) return { kind: "publish" };
  if (next !== null && nextPublished === null) {
    return { kind: "store", state: { ...state, nextPublished: now }, what: "announced" };
  }
  if (next !== null && now >= nextPublished! + times.announcement) {
    return { kind: "store", state: promoted(state, now, times), what: "promoted" };
  }
  const ends = [
    ...(next === null ? [successionOf(signer!, times)] : [nextPublished! + times.announcement]),
    ...state.retired.map(({ until, validTo }) => Math.min(until, validTo)),
  ];
  return { kind: "wait", until: Math.min(...ends) };
}

/**
 * The state with one that is to sign next.
 * @param trusted were trusted until now without being part of the state; such as those of a bundle
 * whose keys are lost. What they have signed goes on being good.
 */
export function withNext(
  state: AuthorityState | null,
  next: Signer,
  trusted: readonly AuthorityCertificate[],
  now: number,
  times: AuthorityTimes = AUTHORITY_TIMES,
): AuthorityState {
  const { signer = null, retired = [] } = state ?? {};
  const known = new Set(
    [...retired, ...(signer === null ? [] : [signer]), next].map(({ id }) => id),
  );
  const lost = trusted.filter(({ id, validTo }) => !known.has(id) && validTo > now);
  return {
    signer,
    next,
    nextPublished: null,
    retired: [...retired, ...lost.map((one) => retire(one, now, times))],
  };
}

/** All that proxies are to trust, each once. */
export function trustedOf(
  { signer, next, retired }: AuthorityState,
): readonly AuthorityCertificate[] {
  const all = [signer, next, ...retired].filter((one) => one !== null);
  return [...new Map(all.map((one) => [one.id, one])).values()];
}

/** PEM, for a file that proxies mount. */
export function bundleOf(state: AuthorityState): string {
  return trustedOf(state).map(({ certPem }) => certPem).join("");
}

/**
 * Who is to sign the certificate of a server that has `current`; null to keep that one.
 * @param state as it was read a moment ago.
 */
export function signerFor(
  { signer, next, retired }: AuthorityState,
  current: ServingCertificate | null,
  now: number,
  times: AuthorityTimes = AUTHORITY_TIMES,
): Signer | null {
  const renewal = current === null
    ? -Infinity
    : current.validTo - times.servingLife * (1 - times.renewAfter);
  const isFresh = now < renewal;
  if (signer !== null) return isFresh && current?.authority === signer.id ? null : signer;
  // The next one is not known to all proxies yet, one that they still trust is.
  const isTrusted = [next, ...retired].some((one) => one?.id === current?.authority);
  return isTrusted && isFresh ? null : next;
}

/** When an authority is to get a successor, in ms since the epoch. */
function successionOf(signer: Signer, { prepareAfter }: AuthorityTimes): number {
  return signer.validFrom + (signer.validTo - signer.validFrom) * prepareAfter;
}

function promoted(state: AuthorityState, now: number, times: AuthorityTimes): AuthorityState {
  const { signer, next, retired } = state;
  return {
    signer: next,
    next: null,
    nextPublished: null,
    retired: signer === null ? retired : [...retired, retire(signer, now, times)],
  };
}

/** A replica that reads this late, by a clock that is ahead of ours, has signed by it until then. */
export function retire(
  { certPem, id, validFrom, validTo }: AuthorityCertificate,
  now: number,
  { servingLife, backdate }: AuthorityTimes,
): RetiredAuthority {
  return { certPem, id, validFrom, validTo, until: now + servingLife + backdate };
}

/** The same object where all of it can still be used. */
function withoutOutdated(state: AuthorityState, now: number): AuthorityState {
  const isGood = (one: AuthorityCertificate | null) =>
    one === null || (one.validFrom <= now && now < one.validTo);
  const retired = state.retired.filter(({ until, validTo }) => now < Math.min(until, validTo));
  const isWhole = isGood(state.signer) && isGood(state.next) &&
    retired.length === state.retired.length;
  if (isWhole) return state;
  const next = isGood(state.next) ? state.next : null;
  return {
    signer: isGood(state.signer) ? state.signer : null,
    next,
    nextPublished: next === null ? null : state.nextPublished,
    retired,
  };
}
