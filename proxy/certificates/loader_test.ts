import assert from "node:assert/strict";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { silentLogger } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { Certificate, Snapshot } from "../../shared/snapshot/types.ts";
import { snapshotOf } from "../../tests/support/test_proxy.ts";
import { CertificateDiffer } from "./diff.ts";
import { CertificateLoader } from "./loader.ts";

/** How often a key was read. */
class WatchedKey extends Redacted {
  reads = 0;

  override reveal(): string {
    this.reads++;
    return super.reveal();
  }
}

Deno.test("unchanged certificates are not parsed again, and are not a change", async () => {
  const authority = await CertificateAuthority.create("Test");
  const keys: WatchedKey[] = [];
  const certificates = await Promise.all(["a", "b"].map(async (id): Promise<Certificate> => {
    const { chain, key } = await authority.issue({ names: [`${id}.test`] });
    const watched = new WatchedKey(key.reveal());
    keys.push(watched);
    return {
      id,
      hosts: [`${id}.test`],
      chain: { kind: "pem", pem: chain },
      key: { kind: "secret", pem: watched },
      origin: { kind: "Secret", namespace: "a", name: id, field: "data" },
    };
  }));
  const snapshot: Snapshot = { ...snapshotOf([]), certificates, defaultCertificate: "a" };
  const loader = new CertificateLoader({ folder: "/", log: silentLogger, now: Date.now });
  const differ = new CertificateDiffer();
  const read = () => keys.reduce((sum, { reads }) => sum + reads, 0);
  const first = loader.load(snapshot);
  differ.diff(first);
  const before = read();
  const again = loader.load({ ...snapshot, certificates: [...certificates] });
  assert.deepEqual(differ.diff(again), { changed: [], removed: [], hosts: [], ids: [] });
  assert.ok(again.every((certificate, i) => certificate === first[i]));
  assert.equal(read(), before);
  // Another default, and back: the same pairs.
  const other = loader.load({ ...snapshot, defaultCertificate: "b" });
  assert.deepEqual(other.map(({ isDefault }) => isDefault), [false, true]);
  assert.equal(read(), before);
  // As a file is read anew: equal, and not checked again.
  const equal = certificates.map((certificate) => ({ ...certificate }));
  const reread = loader.load({ ...snapshot, certificates: equal });
  assert.deepEqual(reread.map(({ id }) => id), first.map(({ id }) => id));
  assert.deepEqual(differ.diff(reread).changed, []);
});
