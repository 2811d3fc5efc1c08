/** Certificates of `deno task dev` for hosts that have none, as a client checks them. */
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { planFor } from "../tests/support/dev_plan.ts";
import type { Certificate, Snapshot } from "../shared/snapshot/types.ts";
import { certificateFor, isMadeHere, MadeCertificates } from "./made_certificates.ts";

const EXAMPLE_TLS = await Deno.readTextFile(new URL("../examples/5-tls.yaml", import.meta.url));

function ingress(hosts: readonly string[], tls = ""): string {
  const rules = hosts.map((host) =>
    `  - host: "${host}"\n    http: {paths: [{path: /, pathType: Prefix, ` +
    `backend: {service: {name: web, port: {number: 80}}}}]}\n`
  );
  return "apiVersion: networking.k8s.io/v1\nkind: Ingress\n" +
    `metadata: {name: web, namespace: default}\nspec:\n${tls}  rules:\n${rules.join("")}`;
}

const snapshotOf = (files: Record<string, string>): Snapshot => planFor(files).snapshot;

function leafOf({ chain }: Certificate): X509Certificate {
  assert.equal(chain.kind, "pem");
  return new X509Certificate((chain as { pem: string }).pem);
}

Deno.test("a host without a certificate gets one signed by the local CA", async () => {
  const made = await MadeCertificates.create(false);
  const authority = new X509Certificate(made.authority);
  const { snapshot } = made.complete(
    snapshotOf({ "a.yaml": ingress(["app.test", "*.apps.test"]) }),
  );
  for (const host of ["app.test", "*.apps.test"]) {
    const certificate = certificateFor(snapshot, host);
    assert.ok(certificate !== null && isMadeHere(certificate));
    const leaf = leafOf(certificate);
    assert.equal(leaf.subjectAltName, `DNS:${host}`);
    assert.ok(leaf.verify(authority.publicKey));
    assert.ok(!certificate.key.toString().includes("PRIVATE"));
  }
});

Deno.test("a client without SNI gets one for this machine's own names", async () => {
  const made = await MadeCertificates.create(false);
  const { snapshot } = made.complete(snapshotOf({ "a.yaml": ingress(["app.test"]) }));
  const own = snapshot.certificates.find(({ id }) => id === snapshot.defaultCertificate);
  assert.ok(own);
  const leaf = leafOf(own);
  assert.match(leaf.subjectAltName ?? "", /^DNS:localhost, IP Address:127\.0\.0\.1, /);
});

Deno.test("a host with a Secret in its Ingress keeps that certificate", async () => {
  const made = await MadeCertificates.create(false);
  const tls = "  tls: [{hosts: [app.example.com], secretName: example-tls}]\n";
  const { snapshot } = made.complete(snapshotOf({
    "a.yaml": ingress(["app.example.com", "b.test"], tls),
    "b.yaml": EXAMPLE_TLS,
  }));
  assert.equal(certificateFor(snapshot, "app.example.com")?.origin.name, "example-tls");
  assert.ok(isMadeHere(certificateFor(snapshot, "b.test")!));
});

Deno.test("a change generates certificates for new hosts only", async () => {
  const made = await MadeCertificates.create(false);
  const { snapshot: before } = made.complete(snapshotOf({ "a.yaml": ingress(["a.test"]) }));
  const { snapshot: after } = made.complete(
    snapshotOf({ "a.yaml": ingress(["b.test", "a.test"]) }),
  );
  assert.equal(certificateFor(after, "a.test"), certificateFor(before, "a.test"));
  assert.ok(certificateFor(after, "b.test") !== null);
  assert.equal(after.certificates.at(-1), before.certificates.at(-1));
});

Deno.test("the proxy gets the certificates of the snapshot, each host with a key of its own", async () => {
  const authority = await MadeCertificates.create(false);
  const { snapshot, made } = authority.complete(
    snapshotOf({ "a.yaml": ingress(["a.test", "b.test"]) }),
  );
  const [a, b] = ["a.test", "b.test"].map((host) => {
    const served = made.find(({ hosts }) => hosts.includes(host))!;
    const { chain, key } = certificateFor(snapshot, host)!;
    assert.deepEqual(chain, { kind: "pem", pem: served.chain });
    assert.ok(key.kind === "secret" && key.pem === served.key);
    assert.ok(new X509Certificate(served.chain).checkPrivateKey(
      createPrivateKey(served.key.reveal()),
    ));
    return served;
  });
  assert.notEqual(a.key.reveal(), b.key.reveal());
  assert.notEqual(serialOf(a.chain), serialOf(b.chain));
});

function serialOf(chain: string): string {
  return new X509Certificate(chain).serialNumber;
}
