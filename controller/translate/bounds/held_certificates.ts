/**
 * Certificates that stay as published where nothing may be added. In: what was published, what Secrets have now, and
 * the namespaces that may add nothing. Out: those whose Secrets have grown by more than there is room for, as they
 * were published.
 *
 * Renewals of the same names differ by some bytes, and must be served, or a certificate expires. So what is published
 * of a namespace may grow to the next whole step (`renewalStep`), chains and keys each by themselves and together, and
 * no further however often it is renewed: the step does not move.
 */
import { clauseOf } from "../../../shared/problem.ts";
import type { Certificate, PemSecret, Snapshot } from "../../../shared/snapshot/types.ts";
import { keyOf, type SecretName } from "../../base/identity.ts";
import type { ProblemText } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import type { ClusterFull } from "./cluster_bound.ts";
import { type PairSize, renewalStep } from "./pair_sizes.ts";
import {
  type HeldPairs,
  type InlineCertificate,
  readSecret,
  type SecretModel,
} from "../certificates/certificate_source.ts";
import { isInline } from "../certificates/published_certificates.ts";

/** Certificates of one namespace that stay as published, by `namespace/name` of their Secrets. */
export type Outgrown = ReadonlyMap<string, InlineCertificate>;

/**
 * @param published Of one namespace.
 * @param now What the same Secrets have, and others.
 * @param namespaces How many have published certificates.
 */
export function outgrown(
  published: readonly Certificate[],
  now: readonly Certificate[],
  namespaces: number,
): Outgrown {
  const before = Map.groupBy(published.filter(isInline), ({ origin }) => keyOf(origin));
  const renewals = new Map<string, Renewal>();
  for (const certificate of now) {
    const secret = keyOf(certificate.origin);
    const own = before.get(secret);
    if (own === undefined || !isInline(certificate)) continue;
    if (own.some(({ id }) => id === certificate.id)) continue;
    const [was] = own;
    renewals.set(secret, { secret, was, growth: minus(sizeOf(certificate), sizeOf(was)) });
  }
  const total = { chain: 0, key: 0 };
  for (const { chain, key } of [...before.values()].flat().map(sizeOf)) {
    total.chain += chain;
    total.key += key;
  }
  const step = renewalStep(sum(total), namespaces);
  const roomOf = (size: number) => Math.ceil(size / step) * step - size;
  // Keys and chains are published in different objects: one must not take the room of the other.
  let [room, chains, keys] = [sum(total), total.chain, total.key].map(roomOf);
  // What gets smaller makes room; then as many as possible have theirs.
  const ordered = [...renewals.values()].sort((a, b) =>
    sum(a.growth) - sum(b.growth) || compareText(a.secret, b.secret)
  );
  const held = new Map<string, InlineCertificate>();
  for (const { secret, was, growth } of ordered) {
    const { chain, key } = growth;
    if (sum(growth) <= room && chain <= chains && key <= keys) {
      room -= sum(growth);
      chains -= chain;
      keys -= key;
    } else held.set(secret, was);
  }
  return held;
}

interface Renewal {
  readonly secret: string;
  readonly was: InlineCertificate;
  readonly growth: PairSize;
}

/** Without hosts. */
function sizeOf({ chain, key }: InlineCertificate): PairSize {
  return { chain: chain.pem.length, key: key.pem.reveal().length };
}

function minus(a: PairSize, b: PairSize): PairSize {
  return { chain: a.chain - b.chain, key: a.key - b.key };
}

function sum({ chain, key }: PairSize): number {
  return chain + key;
}

/** Published certificates as their Secrets had them, each read once. */
export class PublishedPairs {
  /** By the key, which snapshots hand on to one another. */
  readonly #models = new WeakMap<PemSecret, SecretModel | null>();

  /** Null where it cannot be read. */
  of({ chain, key, origin: { namespace, name } }: InlineCertificate): SecretModel | null {
    let model = this.#models.get(key);
    if (model === undefined) {
      const stringData = { "tls.crt": chain.pem, "tls.key": key.pem.reveal() };
      const read = readSecret({ metadata: { namespace, name }, stringData });
      model = read?.reading.ok === true ? read : null;
      this.#models.set(key, model);
      // It is published with that one from now on.
      const shown = model?.shown ?? null;
      if (shown !== null) this.#models.set(shown.key, model);
    }
    return model;
  }
}

/** Those of Secrets that Ingresses name. */
export class HeldCertificates implements HeldPairs {
  readonly #pairs: PublishedPairs;
  readonly #full: ClusterFull;
  readonly #published: Snapshot | null;
  /** Published certificates for hosts, by namespace of their Secrets; null until somebody asks. */
  #byNamespace: ReadonlyMap<string, readonly Certificate[]> | null = null;
  readonly #secrets: ReadonlyMap<string, SecretModel>;
  /** By namespace. */
  readonly #outgrown = new Map<string, Outgrown>();

  /** @param secrets By `namespace/name`. */
  constructor(
    pairs: PublishedPairs,
    full: ClusterFull,
    published: Snapshot | null,
    secrets: ReadonlyMap<string, SecretModel>,
  ) {
    this.#pairs = pairs;
    this.#full = full;
    this.#published = published;
    this.#secrets = secrets;
  }

  find({ ref: { namespace }, key }: SecretName): SecretModel | null {
    if (!this.#full.namespaces.has(namespace)) return null;
    let outgrown = this.#outgrown.get(namespace);
    if (outgrown === undefined) {
      this.#outgrown.set(namespace, outgrown = this.#outgrownIn(namespace));
    }
    const certificate = outgrown.get(key);
    return certificate === undefined ? null : this.asPublished(certificate);
  }

  asPublished(certificate: InlineCertificate): SecretModel | null {
    return this.#pairs.of(certificate);
  }

  problem({ ref: { name } }: SecretName): ProblemText {
    const { excess, remedy } = this.#full;
    return {
      reason: "ClusterLimitExceeded",
      message:
        `the certificate of Secret ${name} is larger than the published one, and with it ${excess}, so ` +
        "the published one stays in use",
      remedy: `Write a smaller certificate, or ${clauseOf(remedy)}`,
    };
  }

  #outgrownIn(namespace: string): Outgrown {
    const all = this.#byNamespace ??= Map.groupBy(
      (this.#published?.certificates ?? []).filter(({ origin: { kind }, hosts }) =>
        kind === "Secret" && hosts.length > 0
      ),
      ({ origin }) => origin.namespace,
    );
    const published = all.get(namespace) ?? [];
    const now = published.flatMap(({ origin }) => this.#secrets.get(keyOf(origin))?.shown ?? []);
    return outgrown(published, now, all.size);
  }
}
