import assert from "node:assert/strict";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { silentLogger } from "../../shared/log.ts";
import type { Certificate } from "../../shared/snapshot/types.ts";
import { until } from "../../tests/support/backend.ts";
import { snapshotOf } from "../../tests/support/test_proxy.ts";
import { CertificateLoader } from "./loader.ts";
import { ExpiryTimer } from "./expiry.ts";

const DAY = 24 * 60 * 60 * 1000;
const authority = await CertificateAuthority.create("Test");

/** Valid for so long (ms) from now on. Certificates know whole seconds only. */
async function certificate(id: string, left: number): Promise<Certificate> {
  const { chain, key } = await authority.issue({
    names: [`${id}.test`],
    validTo: Date.now() + left,
  });
  return {
    id,
    hosts: [`${id}.test`],
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: { kind: "Secret", namespace: "test", name: id, field: "data" },
  };
}

Deno.test("a certificate that expires while the proxy runs is logged once", async () => {
  const logged: unknown[] = [];
  const loader = new CertificateLoader({
    folder: ".",
    log: { ...silentLogger, warn: (...line) => logged.push(line) },
    now: Date.now,
  });
  const timer = new ExpiryTimer(loader, Date.now);
  try {
    const certificates = await Promise.all([
      certificate("brief", 3_000),
      certificate("long", 100 * DAY),
    ]);
    const snapshot = { ...snapshotOf([]), certificates };
    const [{ validTo }] = loader.load(snapshot);
    assert.deepEqual(logged, []);
    timer.restart();
    await until("the warning", () => logged.length > 0);
    assert.ok(Date.now() > validTo);
    loader.load(snapshot);
    timer.restart();
    assert.deepEqual(logged, [["Certificate has expired", {
      certificate: "brief",
      hosts: ["brief.test"],
      validTo: new Date(validTo).toISOString(),
    }]]);
  } finally {
    timer.stop();
  }
});

Deno.test("a certificate that expires later than a timer can count still expires", async () => {
  let looks = 0;
  const loader = { nextExpiry: Date.now() + 100 * DAY, tellExpired: () => void looks++ };
  const timer = new ExpiryTimer(loader, Date.now);
  timer.restart();
  // One that is set for too long fires at once.
  await new Promise((resume) => setTimeout(resume, 20));
  timer.stop();
  assert.equal(looks, 0);
});
