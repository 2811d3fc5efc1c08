/**
 * Private keys as Secrets. In: keys by the sha256 of their PEM. Out: Secrets that hold them.
 *
 * The same keys give the same Secrets, whatever was there before, so that every replica agrees; and
 * one key more or less changes one Secret, or moves half of one to another. That is extendible
 * hashing: a Secret that is too full gives those keys away whose next bit is 1, to the Secret whose
 * number has that bit. Whoever makes a key chooses its hash, so one Secret may get more than it holds, however few
 * keys there are: what does not fit goes to others that have room. Readers find a key by its hash, in whichever Secret.
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
    /** How much is taken of what all Secrets may hold: 0 to 1. */
    readonly fullness: number;
  }
  /** All have so many bytes, and one does not fit any more into a Secret of at most `limit`. */
  | { readonly ok: false; readonly bytes: number; readonly limit: number };

export function packKeys(keys: ReadonlyMap<string, Secret>): PackedKeys {
  const entries = [...keys].map(([hash, secret]): Entry => {
    const pem = Buffer.from(secret.reveal());
    return { hash, pem, bytes: pem.length + ENTRY_BYTES };
  }).sort(byHash);
  const bytes = bytesOf(entries);
  const secrets = spread(divide({ number: 0, depth: 0, entries }));
  if (secrets === null) return { ok: false, bytes, limit: MAX_SECRET_BYTES };
  return {
    ok: true,
    secrets: secrets.flatMap(({ entries }, number) =>
      entries.length === 0 ? [] : { name: keySecretName(number), data: dataOf(entries) }
    ),
    fullness: bytes / (MAX_KEY_SECRETS * MAX_SECRET_BYTES),
  };
}

/** What one Secret holds. */
interface Filling {
  readonly entries: Entry[];
  bytes: number;
}

/** Files of passwords have up to 256 KiB; they go first, so that they need not fit into what keys leave. */
const LARGE_BYTES = 32 * 1024;

/**
 * All Secrets by their numbers: each with its share as far as that fits, then with what does not fit elsewhere; null where
 * something has no place. So no Secret has more than a key's room left when that happens, whoever chose the hashes.
 */
function spread(shares: readonly Share[]): readonly Filling[] | null {
  const secrets = Array.from({ length: MAX_KEY_SECRETS }, (): Filling => ({
    entries: [],
    bytes: 0,
  }));
  for (const isLarge of [true, false]) {
    const homeless: { readonly number: number; readonly entry: Entry }[] = [];
    for (const { number, entries } of shares) {
      for (const entry of entries) {
        if (entry.bytes > LARGE_BYTES !== isLarge) continue;
        if (!add(secrets[number], entry)) homeless.push({ number, entry });
      }
    }
    // The largest first: small ones fit into what these leave.
    homeless.sort((a, b) => b.entry.bytes - a.entry.bytes || byHash(a.entry, b.entry));
    for (const { number, entry } of homeless) {
      const next = [...secrets.slice(number), ...secrets.slice(0, number)];
      if (!next.some((secret) => add(secret, entry))) return null;
    }
  }
  for (const { entries } of secrets) entries.sort(byHash);
  return secrets;
}

/** False where it does not fit. */
function add(secret: Filling, entry: Entry): boolean {
  if (secret.bytes + entry.bytes > MAX_SECRET_BYTES) return false;
  secret.entries.push(entry);
  secret.bytes += entry.bytes;
  return true;
}

function byHash(a: Entry, b: Entry): number {
  return a.hash < b.hash ? -1 : 1;
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
