/** What a running proxy says of its certificates when nobody touches them. */
import assert from "node:assert/strict";
import { parseExposition } from "../support/exposition_parser.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { certificateFor } from "../support/tls_proxy.ts";

Deno.test("a running proxy warns when a certificate expires, and counts rejected ones", async () => {
  const [brief, long] = await Promise.all([
    certificateFor("brief", { names: ["brief.test"], validTo: Date.now() + 5_000 }),
    certificateFor("long", { names: ["long.test"] }),
  ]);
  const certificates = [brief, { ...long, key: brief.key }].map(({ id, hosts, chain, key }) => ({
    id,
    hosts,
    chain: { kind: "pem", pem: chain } as const,
    key: { kind: "secret", pem: key } as const,
    origin: { kind: "Secret", namespace: "test", name: id, field: "data" },
  }));
  const snapshot = { ...snapshotOf([]), certificates, defaultCertificate: "brief" };
  await using proxy = await ProxyProcess.start({ snapshot });
  const warning = await proxy.line("Certificate has expired");
  assert.equal(warning.certificate, "brief");
  const series = parseExposition((await proxy.admin("/metrics")).text);
  assert.equal(series.get("pingress_certificates_refused"), 1);
  const left = series.get(
    'pingress_certificate_days_left{hosts="*,brief.test",certificate="test/brief"}',
  );
  assert.ok(left !== undefined && left < 0 && left > -1, `${left}`);
});
