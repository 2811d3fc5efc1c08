/**
 * Private keys as Secrets. In: keys by the sha256 of their PEM. Out: Secrets that hold them.
 *
 * The same keys give the same Secrets, whatever was there before, so that every replica agrees; and
 * one key more or less changes one Secret, or moves half of one to another. That is extendible
 * hashing: a Secret that is too full gives those keys away whose next bit is 1, to the Secret whose
 * number has that bit.
 */
import { Buffer } from "node:buffer";
import { keySecretName, MAX_KEY_SECRETS } from "../../../shared/snapshot/published_set.ts";
import { decodedBytes, type Entries, MAX_OBJECT_BYTES, type SecretContent } from "./objects.ts";
import type { Secret } from "../../../shared/redacted.ts";

/** A Secret with more is divided while there are numbers left, so that most have much room. */
const FULL_BYTES = 700 * 1024;

/** What one Secret may hold; the rest of 1 MiB is margin. */
export const MAX_SECRET_BYTES = MAX_OBJECT_BYTES - 64 * 1024;

/** What a key takes besides its PEM: its name, and the note of who manages it. */
const ENTRY_BYTES = 160;

/** What a Secret with this data takes of `MAX_SECRET_BYTES`. */
export function packedBytes(data: Entries): number {
  return Object.values(data).reduce((sum, value) => sum + decodedBytes(value) + ENTRY_BYTES, 0);
}

/** How often a Secret can be divided: 2⁴ are all there are. */
const MAX_DEPTH = Math.log2(MAX_KEY_SECRETS);

export type PackedKeys =
  | {
    readonly ok: true;
    /** In the order of their numbers; those that would be empty are left out. */
    readonly secrets: readonly SecretContent[];
    /** How full the fullest is of what it may hold, when it cannot be divided any more: 0 to 1. */
    readonly fullness: number;
  }
  /** One Secret would have to hold so many bytes, more than `limit`. */
  | { readonly ok: false; readonly bytes: number; readonly limit: number };

export function packKeys(keys: ReadonlyMap<string, Secret>): PackedKeys {
  const entries = [...keys].map(([hash, secret]): Entry => {
    const pem = Buffer.from(secret.reveal());
    return { hash, pem, bytes: pem.length + ENTRY_BYTES };
  }).sort((a, b) => a.hash < b.hash ? -1 : 1);
  const shares = divide({ number: 0, depth: 0, entries });
  const fullest = Math.max(0, ...shares.map(({ entries }) => bytesOf(entries)));
  if (fullest > MAX_SECRET_BYTES) return { ok: false, bytes: fullest, limit: MAX_SECRET_BYTES };
  return {
    ok: true,
    secrets: shares
      .filter(({ entries }) => entries.length > 0)
      .sort((a, b) => a.number - b.number)
      .map(({ number, entries }) => ({ name: keySecretName(number), data: dataOf(entries) })),
    fullness: Math.max(
      0,
      ...shares.filter(({ depth }) => depth === MAX_DEPTH)
        .map(({ entries }) => bytesOf(entries) / MAX_SECRET_BYTES),
    ),
  };
}

interface Entry {
  readonly hash: string;
  readonly pem: Buffer;
  readonly bytes: number;
}

/** The keys whose hash ends, in its first digit, with the lowest `depth` bits of `number`. */
interface Share {
  readonly number: number;
  readonly depth: number;
  readonly entries: readonly Entry[];
}

function divide(share: Share): Share[] {
  const { number, depth, entries } = share;
  if (depth === MAX_DEPTH || bytesOf(entries) <= FULL_BYTES) return [share];
  const bit = 1 << depth;
  const isMoved = ({ hash }: Entry) => (parseInt(hash[0], 16) & bit) !== 0;
  return [
    ...divide({ number, depth: depth + 1, entries: entries.filter((one) => !isMoved(one)) }),
    ...divide({ number: number + bit, depth: depth + 1, entries: entries.filter(isMoved) }),
  ];
}

function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}

function dataOf(entries: readonly Entry[]): Record<string, string> {
  return Object.fromEntries(entries.map(({ hash, pem }) => [hash, pem.toString("base64")]));
}
