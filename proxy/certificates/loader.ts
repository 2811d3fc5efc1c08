/**
 * Certificates of a snapshot as they can be used. In: a snapshot, whose chains and keys may be files.
 * Out: checked pairs; a pair that is broken leaves out its own hosts alone, and where a host had a
 * good one before, that one stays. So do the default, those of listeners and those shown to backends,
 * which may be for no host. Runs where files may be read, never in a worker.
 */
import { isAbsolute, join } from "node:path";
import { readKeyPair } from "../../shared/key_pair.ts";
import type { Logger } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { Certificate, Origin, Snapshot } from "../../shared/snapshot/types.ts";
import { plainId } from "./diff.ts";
import {
  CertificateFallback,
  type CertificateUse,
  consequence,
  type LoadedCertificate,
} from "./fallback.ts";

/** A certificate that has been checked. */
interface CheckedPair {
  /** Of its texts, with what it is used for. */
  readonly cacheKey: string;
  /** Not as the default. */
  readonly pair: LoadedCertificate;
  /** As it was used last. */
  readonly usable: LoadedCertificate;
}

export interface CertificateLoaderOptions {
  /** Where relative paths begin: the configuration file's folder. */
  readonly folder: string;
  readonly log: Logger;
  /** The time in ms since the epoch, for certificates that have expired. */
  readonly now: () => number;
}

export class CertificateLoader {
  readonly #options: CertificateLoaderOptions;
  #lastGood = new CertificateFallback();
  /** Pairs checked before, by chain and key: checking takes about a millisecond. */
  #checked = new Map<string, LoadedCertificate>();
  /** The same by what a snapshot has, where that holds both texts: then it never changes. */
  #inline = new Map<Certificate, CheckedPair>();
  /** What was wrong with each (by its id) at the last load, so that it is said once. */
  #complaints = new Map<string, string>();
  /** What the last load found. */
  #usable: readonly LoadedCertificate[] = [];
  /** Full ids of those that were said to have expired. */
  #expired = new Set<string>();

  constructor(options: CertificateLoaderOptions) {
    this.#options = options;
  }

  /** Certificates of the last snapshot that cannot be used, be it that a last good one stays. */
  get refused(): number {
    return this.#complaints.size;
  }

  /** When the next of the last load expires, in ms since the epoch; null if none will. */
  get nextExpiry(): number | null {
    let next = Infinity;
    for (const { id, validTo } of this.#usable) {
      if (!this.#expired.has(id)) next = Math.min(next, validTo);
    }
    return next === Infinity ? null : next;
  }

  /** All that can be used, in the snapshot's order. Never throws. */
  load(snapshot: Snapshot): LoadedCertificate[] {
    const loaded: LoadedCertificate[] = [];
    const checked = new Map<string, LoadedCertificate>();
    const inline = new Map<Certificate, CheckedPair>();
    const lastGood = new CertificateFallback();
    const complaints = this.#complaints;
    this.#complaints = new Map();
    const shown = shownTo(snapshot);
    const listened = new Set(snapshot.listeners?.flatMap(({ certificates = [] }) => certificates));
    for (const certificate of snapshot.certificates) {
      const { id } = certificate;
      const use = {
        hosts: certificate.hosts,
        isDefault: id === snapshot.defaultCertificate,
        get isShown() {
          return shown().has(id);
        },
        isListened: listened.has(id),
      };
      const reading = this.#inline.get(certificate) ?? this.#read(certificate, checked);
      if (typeof reading === "string") {
        const kept = this.#lastGood.find(id, use);
        lastGood.take(id, kept);
        loaded.push(...kept);
        this.#refuse(id, reading, use, kept, complaints);
        continue;
      }
      const { cacheKey, pair } = reading;
      const { isDefault } = use;
      // The same objects as before, so that nothing seems to have changed.
      const usable = reading.usable.isDefault === isDefault
        ? reading.usable
        : { ...pair, isDefault };
      loaded.push(usable);
      checked.set(cacheKey, pair);
      if (isInline(certificate)) inline.set(certificate, { cacheKey, pair, usable });
      lastGood.take(id, [usable]);
    }
    this.#checked = checked;
    this.#inline = inline;
    this.#lastGood = lastGood;
    this.#usable = loaded;
    const inForce = new Set(loaded.map(({ id }) => id));
    this.#expired = new Set([...this.#expired].filter((id) => inForce.has(id)));
    this.tellExpired();
    return loaded;
  }

  /** Says which of the last load have expired since; each once. */
  tellExpired(): void {
    const { log, now } = this.#options;
    const time = now();
    for (const { id, hosts, validTo } of this.#usable) {
      if (validTo >= time || this.#expired.has(id)) continue;
      this.#expired.add(id);
      log.warn("Certificate has expired", {
        certificate: plainId(id),
        hosts,
        validTo: new Date(validTo).toISOString(),
      });
    }
  }

  #refuse(
    id: string,
    problem: string,
    use: CertificateUse,
    kept: readonly LoadedCertificate[],
    before: ReadonlyMap<string, string>,
  ): void {
    this.#complaints.set(id, problem);
    if (before.get(id) === problem) return;
    this.#options.log.error("Certificate rejected", {
      certificate: id,
      hosts: use.hosts,
      problem,
      consequence: consequence(id, use, kept),
    });
  }

  /** The pair, or what is wrong with it. */
  #read(
    certificate: Certificate,
    checked: ReadonlyMap<string, LoadedCertificate>,
  ): CheckedPair | string {
    const chain = certificate.chain.kind === "pem"
      ? { text: certificate.chain.pem, name: "the chain" }
      : this.#readFile(certificate.chain.path);
    if (typeof chain === "string") return chain;
    const key = certificate.key.kind === "secret"
      ? { text: certificate.key.pem.reveal(), name: "the key" }
      : this.#readFile(certificate.key.path);
    if (typeof key === "string") return key;
    const uses = `${certificate.hosts.join()}\n${certificate.plain?.join() ?? ""}`;
    const cacheKey = `${certificate.id}\n${uses}\n${chain.text}\n${key.text}`;
    const before = this.#checked.get(cacheKey) ?? checked.get(cacheKey);
    const pair = before ?? this.#check(certificate, chain, key);
    return typeof pair === "string" ? pair : { cacheKey, pair, usable: pair };
  }

  #check(
    { hosts, plain, id, origin, chain: { kind } }: Certificate,
    chain: { text: string; name: string },
    key: { text: string; name: string },
  ): LoadedCertificate | string {
    const reading = readKeyPair(chain.text, key.text, { chain: chain.name, key: key.name });
    if (!reading.ok) return reading.message;
    const { pair } = reading;
    return {
      // A file keeps its path when its contents change: the id must not.
      id: id === pair.fingerprint ? id : `${id} ${pair.fingerprint}`,
      hosts,
      ...(plain === undefined ? {} : { plain }),
      name: kind === "file" ? chain.name : formatRef(origin),
      isDefault: false,
      chain: pair.chain,
      key: new Redacted(pair.key),
      validTo: pair.validTo,
    };
  }

  #readFile(path: string): { text: string; name: string } | string {
    const file = isAbsolute(path) ? path : join(this.#options.folder, path);
    try {
      return { text: Deno.readTextFileSync(file), name: file };
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) {
        return `${file} is in neither the folder of --config nor one of --watch: name its folder ` +
          "with --watch, or move it";
      }
      return `${file} cannot be read: ${error instanceof Error ? error.message : error}`;
    }
  }
}

/** Ids of certificates that backends are shown, looked for when they are first of use. */
function shownTo({ upstreams }: Snapshot): () => ReadonlySet<string | undefined> {
  let ids: ReadonlySet<string | undefined> | null = null;
  return () => ids ??= new Set(upstreams.map(({ tls }) => tls?.clientCertificate));
}

function isInline({ chain, key }: Certificate): boolean {
  return chain.kind === "pem" && key.kind === "secret";
}

function formatRef({ namespace, name }: Origin): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}
