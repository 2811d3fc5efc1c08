import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { CertificateAuthority } from "../../../dev/certificate_authority.ts";
import { credentialFault } from "./credential_faults.ts";

const CLUSTER = { name: "c", server: "https://a", skipTLSVerify: false, caData: "YQ==" };
const authority = await CertificateAuthority.create("Pingress tests");
const issue = () => {
  const { chain, key } = authority.issue({ names: ["jane"] });
  return { chain, key: typeof key === "string" ? key : key.reveal() };
};
const base64 = (text: string) => Buffer.from(text).toString("base64");
const own = issue();
const other = issue();

/** What stands in the user, and what is said of it; null for nothing. */
const USERS: readonly (readonly [
  name: string,
  user: Readonly<Record<string, string>>,
  said: RegExp | null,
])[] = [
  ["a token", { token: "hunter2\n" }, null],
  [
    "a token with a line break inside",
    { token: "hunter2\nhunter2" },
    /line break.*; write it on one/,
  ],
  ["a certificate with its key", { certData: base64(own.chain), keyData: base64(own.key) }, null],
  [
    "a key that is not of the certificate",
    { certData: base64(own.chain), keyData: base64(other.key) },
    /^the client-key of its user is not that of the client-certificate; write both anew$/,
  ],
  [
    "a certificate without a key",
    { certData: base64(own.chain) },
    /and no client-key; write client-key-data/,
  ],
  ["a key without a certificate", { keyData: base64(own.key) }, /and no client-certificate; write/],
  [
    "a certificate that is none",
    { certData: base64("hunter2"), keyData: base64(own.key) },
    /is no certificate in PEM/,
  ],
  [
    "a key that is none",
    { certData: base64(own.chain), keyData: base64("hunter2") },
    /is no private key in PEM/,
  ],
  [
    "a file of a certificate that is not there",
    { certFile: "/none/jane.crt", keyFile: "/none/jane.key" },
    /^its client-certificate \/none\/jane\.crt cannot be read; correct the path$/,
  ],
];

for (const [name, user, said] of USERS) {
  Deno.test(`a kubeconfig whose user has ${name} ${said === null ? "is taken" : "is refused with a remedy"}`, () => {
    const fault = credentialFault(CLUSTER, { name: "jane", ...user });
    if (said === null) assert.equal(fault, null);
    else assert.match(fault ?? "", said);
    assert.doesNotMatch(fault ?? "", /hunter2|BEGIN/);
  });
}

Deno.test("a certificate-authority that cannot be read is named", () => {
  const { caData: _, ...cluster } = CLUSTER;
  const fault = credentialFault({ ...cluster, caFile: "/none/ca.crt" }, null);
  assert.match(fault ?? "", /^its certificate-authority \/none\/ca\.crt cannot be read; correct/);
});
