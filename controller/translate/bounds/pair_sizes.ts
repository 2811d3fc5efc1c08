/**
 * Sizes of certificates. In: Secrets, or certificates as they were published. Out: the characters of the chain and of
 * the key of each: one namespace must not decide what those of others count.
 */
import type { Certificate } from "../../../shared/snapshot/types.ts";
import { keyOf, readIdentity } from "../../base/identity.ts";
import { fieldOf } from "../../base/json.ts";
import type { KubeSecret } from "../../kube/resources.ts";

/** Characters of a certificate. */
export interface PairSize {
  readonly chain: number;
  readonly key: number;
}

/** By `namespace/name` of the Secret. */
export type PairSizes = ReadonlyMap<string, PairSize>;

/** Of a Secret that is not known: a leaf and an intermediate of RSA, and a key of 2,048 bits. */
const USUAL_PAIR: PairSize = { chain: 4_000, key: 1_700 };

/**
 * What all certificates that may grow in a full cluster may grow by together, in characters, beside a sixteenth of
 * what they have. The bounds of the cluster leave room for both.
 */
const RENEWAL_ROOM = 256 * 1024;

/** Of one namespace, at most: some five ordinary certificates. */
const RENEWAL_STEP = 32 * 1024;

/** Of what a namespace has. */
const RENEWAL_SHARE = 1 / 16;

/**
 * Certificates of a namespace that may add nothing may grow to the next multiple of this when they are renewed, in
 * characters of chains and keys. Each step is a multiple of all smaller ones, so that no change of the size or of the
 * number of namespaces makes room again and again.
 *
 * @param size Of what is published of the namespace.
 * @param namespaces That have certificates.
 */
export function renewalStep(size: number, namespaces: number): number {
  const most = Math.max(size * RENEWAL_SHARE, Math.min(RENEWAL_STEP, RENEWAL_ROOM / namespaces));
  return 2 ** Math.floor(Math.log2(Math.max(1, most)));
}

/** Text for each character of base64. */
const DECODED = 3 / 4;

/** Those of Secrets that may have a certificate. */
export function pairSizes(secrets: readonly KubeSecret[]): PairSizes {
  const sizes = new Map<string, PairSize>();
  for (const secret of secrets) {
    const data = fieldOf(secret, "data");
    const [chain, key] = [fieldOf(data, "tls.crt"), fieldOf(data, "tls.key")];
    if (typeof chain !== "string" || typeof key !== "string") continue;
    const identity = readIdentity("Secret", secret);
    if (identity === null) continue;
    sizes.set(identity.key, { chain: chain.length * DECODED, key: key.length * DECODED });
  }
  return sizes;
}

/** @param secret Its `namespace/name`. */
export function pairSizeOf(sizes: PairSizes, secret: string): PairSize {
  return sizes.get(secret) ?? USUAL_PAIR;
}

/** Of a certificate with the hosts that it has been given; files are the operator's own, and read by proxies. */
export function certificateSize({ hosts, plain = [], chain, key }: Certificate): PairSize {
  return {
    chain: (chain.kind === "pem" ? chain.pem.length : 0) + hostsSize(hosts) + hostsSize(plain),
    key: key.kind === "secret" ? key.pem.reveal().length : 0,
  };
}

/** Of one that a listener is to show: on a shared address it may be given all hosts that it names. */
export function shownSize(certificate: Certificate, names: readonly string[]): PairSize {
  const { chain, key } = certificateSize(certificate);
  let ofNames = 0;
  for (const name of names) ofNames += assignedSize(name);
  return { chain: chain + ofNames, key };
}

/** Of a host in a certificate on a shared address: it is among the plain ones, too. */
export function assignedSize(host: string): number {
  return 2 * hostsSize([host]);
}

/** With quotes and commas. */
function hostsSize(hosts: readonly string[]): number {
  let size = 0;
  for (const host of hosts) size += host.length + 3;
  return size;
}

/** Certificates, each Secret once. */
export class PairTally {
  readonly #secrets = new Set<string>();
  chains = 0;
  keys = 0;

  /** @param secret Its `namespace/name`. */
  add(secret: string, { chain, key }: PairSize): void {
    if (this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    this.chains += chain;
    this.keys += key;
  }

  get count(): number {
    return this.#secrets.size;
  }
}

/** Of a certificate. */
export function secretOf({ origin }: Certificate): string {
  return keyOf(origin);
}
