/**
 * Certificates below intermediate authorities. In: a name, and how many authorities there are between the root
 * and the certificate for it. Out: the root, and the chain that a server shows.
 */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { Redacted } from "../../shared/redacted.ts";

/** So that verifiers with several roots tell them apart. */
let roots = 0;

/** @param withRoot whether the server shows that, too. */
export async function chainOf(
  name: string,
  intermediates: number,
  withRoot = false,
): Promise<{ readonly root: string; readonly server: ServerCertificate }> {
  const signingAlgorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const validity = {
    notBefore: new Date(Date.now() - 1_000_000),
    notAfter: new Date(Date.now() + 1_000_000_000),
  };
  const authority = [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
  ];
  const newKeys = () => crypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"]);
  const number = ++roots;
  let keys = await newKeys();
  let issuer = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [`Root ${number}`] }],
    keys,
    signingAlgorithm,
    ...validity,
    extensions: authority,
  });
  const root = issuer.toString("pem");
  const chain = withRoot ? [root] : [];
  for (let i = 0; i <= intermediates; i++) {
    const isLeaf = i === intermediates;
    const own = await newKeys();
    issuer = await x509.X509CertificateGenerator.create({
      subject: [{ CN: [isLeaf ? "web" : `Intermediate ${number}.${i}`] }],
      issuer: issuer.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm,
      ...validity,
      extensions: isLeaf
        ? [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }])]
        : authority,
    });
    keys = own;
    chain.unshift(issuer.toString("pem"));
  }
  const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  const pem = x509.PemConverter.encode(key, "PRIVATE KEY");
  return {
    root,
    server: { id: "chain", hosts: [], chain: chain.join("\n"), key: new Redacted(pem) },
  };
}
