import { deepEqual, equal, match, ok } from "node:assert/strict";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { CertificateAuthority } from "../../../dev/certificate_authority.ts";
import { type AuthorityState, withNext } from "./certificate_authority.ts";
import { readBundle, readState, stateData } from "./data.ts";
import { issueServing, makeSigner, readSigner } from "./x509.ts";

const DAY = 86_400_000;
const NOW = Date.parse("2026-01-01T00:00:00Z");

const signer = await makeSigner(NOW);
const next = await makeSigner(NOW + DAY);
const old = await makeSigner(NOW - 100 * DAY);

Deno.test("a serving certificate has names and addresses, starts a day ago and expires with its issuer", async () => {
  const names = ["pingress-controller.pingress-system.svc", "192.0.2.1", "2001:db8::1"];
  const { certPem, validTo } = await issueServing(signer, names, NOW);
  const leaf = new X509Certificate(certPem);
  for (const address of names.slice(1)) equal(leaf.checkIP(address), address);
  equal(leaf.checkHost(names[0]), names[0]);
  equal(leaf.checkHost("pingress-controller"), undefined);
  equal(Date.parse(leaf.validFrom), NOW - DAY);
  deepEqual([Date.parse(leaf.validTo), validTo], [NOW + 7 * DAY, NOW + 7 * DAY]);
  const last = await issueServing(signer, names, signer.validTo - DAY);
  equal(last.validTo, signer.validTo);
});

Deno.test("stored data is read back, and has only the keys of CAs that sign", () => {
  const made = withNext(null, next, [old], NOW);
  const state: AuthorityState = { ...made, signer, nextPublished: NOW };
  const data = stateData(state);
  const { state: read, complaints } = readState(data, NOW);
  deepEqual(complaints, []);
  deepEqual(stateData(read!), data);
  equal(read?.nextPublished, NOW);
  equal(read?.signer?.keyPem.reveal(), signer.keyPem.reveal());
  deepEqual(read?.retired.map(({ id, until }) => [id, until]), [[old.id, NOW + 8 * DAY]]);
  const texts = Object.entries(data).map(([name, text]) => [name, atob(text)]);
  const withKeys = texts.filter(([, text]) => text.includes("PRIVATE"));
  deepEqual(withKeys.map(([name]) => name).sort(), ["next.key", "signer.key"]);
});

Deno.test("lost rotation data starts the rotation over", () => {
  const state = withNext(null, next, [old], NOW);
  for (const rotation of ["", "nonsense", "[]", '{"nextPublished":7,"retired":"x"}']) {
    const data = { ...stateData({ ...state, signer }), "rotation.json": btoa(rotation) };
    const { state: read } = readState(data, NOW);
    deepEqual([read?.signer?.id, read?.next?.id], [signer.id, next.id]);
    equal(read?.nextPublished, null);
    deepEqual(read?.retired.map(({ id }) => id), [old.id]);
  }
});

Deno.test("a CA whose key is lost stays trusted", () => {
  const data = stateData({ signer, next, nextPublished: NOW, retired: [] });
  const { state, complaints } = readState({ ...data, "signer.key": btoa("x") }, NOW);
  deepEqual([state?.signer, state?.next?.id], [null, next.id]);
  deepEqual(state?.retired.map(({ id }) => id), [signer.id]);
  equal(complaints.length, 1);
  match(complaints[0], /^signer: the key has no private key/);
});

Deno.test("only a P-256 CA signs", async () => {
  const leaf = await issueServing(signer, ["a"], NOW);
  match(String(readSigner(leaf.certPem, leaf.keyPem.reveal())), /not one authority's certificate/);
  const foreign = await (await CertificateAuthority.create("x")).issue({
    names: ["a"],
    key: "rsa",
  });
  ok(typeof readSigner(foreign.chain, foreign.key.reveal()) === "string");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = String(privateKey.export({ type: "pkcs8", format: "pem" }));
  match(String(readSigner(signer.certPem, key)), /does not belong to the certificate/);
});

Deno.test("a bundle has CA certificates and nothing else", async () => {
  const both = signer.certPem + next.certPem;
  deepEqual(readBundle(both)?.map(({ id }) => id), [signer.id, next.id]);
  const leaf = await issueServing(signer, ["a"], NOW);
  for (const text of [`${both}x`, both + leaf.certPem, both.slice(0, -30), both + both]) {
    equal(readBundle(text), null);
  }
});
