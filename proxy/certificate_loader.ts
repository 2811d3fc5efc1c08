/**
 * Certificates of a snapshot as they can be used. In: a snapshot, whose chains and keys may be files.
 * Out: checked pairs; a pair that is broken leaves out its own hosts alone, and where a host had a
 * good one before, that one stays. Runs where files may be read, never in a worker.
 */
import { isAbsolute, join } from "node:path";
import { readKeyPair } from "../shared/key_pair.ts";
import type { Logger } from "../shared/log.ts";
import { Redacted } from "../shared/redacted.ts";
import type { Certificate, Snapshot } from "../shared/snapshot.ts";
import type { ServerCertificate } from "./certificates.ts";

/** A usable certificate, and until when. */
export interface LoadedCertificate extends ServerCertificate {
  /** In ms since the epoch. */
  readonly validTo: number;
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
  /** The last good pair of each host pattern. */
  #lastGood = new Map<string, LoadedCertificate>();
  /** Pairs checked before, by chain and key: checking takes about a millisecond. */
  #checked = new Map<string, LoadedCertificate>();
  /** What was wrong with each (by its id) at the last load, so that it is said once. */
  #complaints = new Map<string, string>();

  constructor(options: CertificateLoaderOptions) {
    this.#options = options;
  }

  /** All that can be used, in the snapshot's order. Never throws. */
  load(snapshot: Snapshot): LoadedCertificate[] {
    const loaded: LoadedCertificate[] = [];
    const checked = new Map<string, LoadedCertificate>();
    const lastGood = new Map<string, LoadedCertificate>();
    const before = this.#complaints;
    this.#complaints = new Map();
    for (const certificate of snapshot.certificates) {
      const reading = this.#read(certificate, checked);
      if (typeof reading === "string") {
        const kept = this.#keep(certificate, lastGood);
        loaded.push(...kept);
        this.#refuse(certificate, reading, kept.length > 0, before);
        continue;
      }
      loaded.push(reading);
      for (const host of reading.hosts) lastGood.set(host, reading);
      if (reading.validTo < this.#options.now()) this.#expired(certificate, reading, before);
    }
    this.#checked = checked;
    this.#lastGood = lastGood;
    return loaded;
  }

  #refuse(
    { id, hosts }: Certificate,
    problem: string,
    isKept: boolean,
    before: ReadonlyMap<string, string>,
  ): void {
    this.#complaints.set(id, problem);
    if (before.get(id) === problem) return;
    this.#options.log.error("Certificate refused", {
      certificate: id,
      hosts,
      problem,
      consequence: isKept
        ? "the last good one stays"
        : "these hosts have no certificate of their own",
    });
  }

  #expired(
    { id, hosts }: Certificate,
    reading: LoadedCertificate,
    before: ReadonlyMap<string, string>,
  ): void {
    const validTo = new Date(reading.validTo).toISOString();
    this.#complaints.set(id, validTo);
    if (before.get(id) === validTo) return;
    this.#options.log.warn("Certificate has expired", { certificate: id, hosts, validTo });
  }

  /** The pair, or what is wrong with it. */
  #read(
    certificate: Certificate,
    checked: Map<string, LoadedCertificate>,
  ): LoadedCertificate | string {
    const chain = certificate.chain.kind === "pem"
      ? { text: certificate.chain.pem, name: "the chain" }
      : this.#readFile(certificate.chain.path);
    if (typeof chain === "string") return chain;
    const key = certificate.key.kind === "secret"
      ? { text: certificate.key.pem.reveal(), name: "the key" }
      : this.#readFile(certificate.key.path);
    if (typeof key === "string") return key;
    const cacheKey = `${certificate.id}\n${certificate.hosts.join()}\n${chain.text}\n${key.text}`;
    const before = this.#checked.get(cacheKey) ?? checked.get(cacheKey);
    const loaded = before ?? this.#check(certificate, chain, key);
    if (typeof loaded === "string") return loaded;
    checked.set(cacheKey, loaded);
    return loaded;
  }

  #check(
    { hosts, id }: Certificate,
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

  /** What these hosts had before. */
  #keep(
    { hosts }: Certificate,
    lastGood: Map<string, LoadedCertificate>,
  ): LoadedCertificate[] {
    const kept: LoadedCertificate[] = [];
    for (const host of hosts) {
      const good = this.#lastGood.get(host);
      if (good === undefined) continue;
      lastGood.set(host, good);
      kept.push({ ...good, hosts: [host] });
    }
    return kept;
  }
}
