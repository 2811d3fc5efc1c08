/**
 * What a snapshot says, apart from when it was made. In: snapshots. Out: their keys apart from the
 * rest, and whether two of them mean the same. Pure.
 */
import { withoutUsers } from "../../../shared/credentials/credentials.ts";
import { sha256Of } from "../../../shared/snapshot/published_set.ts";
import type { Certificate, Snapshot, SnapshotVersion } from "../../../shared/snapshot/types.ts";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import type { Secret } from "../../../shared/redacted.ts";

export interface Keyless {
  /** With each private key, and each file of users, as a file by its `secretFileName`. */
  readonly snapshot: Snapshot;
  /** The keys, by that name, in its order. */
  readonly keys: ReadonlyMap<string, Secret>;
}

/** Takes the private keys out of a snapshot. */
export function withoutKeys(snapshot: Snapshot): Keyless {
  const keys = new Map<string, Secret>();
  const certificates = snapshot.certificates.map((certificate): Certificate => {
    const { key } = certificate;
    if (key.kind === "file") return certificate;
    const keyless = keylessOf(certificate, key.pem);
    keys.set(keyless.path, key.pem);
    return keyless.certificate;
  });
  const credentials = snapshot.credentials?.map((one) => {
    const keyless = withoutUsers(one);
    const { users } = keyless;
    if (users.kind === "file" && one.users.kind === "secret") keys.set(users.path, one.users.text);
    return keyless;
  });
  const sorted = [...keys].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    snapshot: { ...snapshot, ...(credentials === undefined ? {} : { credentials }), certificates },
    keys: new Map(sorted),
  };
}

interface KeylessCertificate {
  readonly certificate: Certificate;
  readonly path: string;
}

/**
 * Certificates hardly ever change, and stay the same objects then: with a thousand of them, hashing
 * every key at every change, and writing their JSON anew, took most of the time of publishing.
 */
const KEYLESS = new WeakMap<Certificate, KeylessCertificate>();

function keylessOf(certificate: Certificate, key: Secret): KeylessCertificate {
  let keyless = KEYLESS.get(certificate);
  if (keyless === undefined) {
    const path = sha256Of(key.reveal());
    keyless = { path, certificate: { ...certificate, key: { kind: "file", path } } };
    KEYLESS.set(certificate, keyless);
  }
  return keyless;
}

const DIGESTS = new WeakMap<Snapshot, string>();

const NO_VERSION: SnapshotVersion = { epoch: "", seen: {} };

/** sha256 of everything but the version; equal where nothing needs to be written. */
export function digestOf(snapshot: Snapshot): string {
  let digest = DIGESTS.get(snapshot);
  if (digest === undefined) {
    const { snapshot: keyless } = withoutKeys({ ...snapshot, version: NO_VERSION });
    digest = sha256Of(serialiseSnapshot(keyless, { revealKeys: false }));
    DIGESTS.set(snapshot, digest);
  }
  return digest;
}

/**
 * Whether two snapshots differ, if at all, in versions and in the addresses of endpoints only. An
 * upstream that comes, goes, or is spoken to otherwise is more than that.
 */
export function sameButEndpoints(a: Snapshot, b: Snapshot): boolean {
  return a.upstreams.length === b.upstreams.length && a.routes.length === b.routes.length &&
    digestOf(withoutEndpoints(a)) === digestOf(withoutEndpoints(b));
}

function withoutEndpoints(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    upstreams: snapshot.upstreams.map((upstream) =>
      upstream.addresses.kind === "endpoints"
        ? { ...upstream, addresses: { kind: "endpoints", endpoints: [] } }
        : upstream
    ),
  };
}
