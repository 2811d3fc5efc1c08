/** A client gets a certificate whose signatures it can verify, where there are several. */
import assert from "node:assert/strict";
import { certificateFor } from "../../tests/support/tls_proxy.ts";
import { CertificateDiffer } from "./diff.ts";
import { Certificates } from "./store.ts";

const ECDSA = [0x0403];
const RSA = [0x0804, 0x0401];

Deno.test("of several certificates a client gets the first whose key it can verify", async () => {
  const certificates = new Certificates();
  const ec = await certificateFor("ec", { names: ["a.test"] });
  const rsa = await certificateFor("rsa", { names: ["a.test"], key: "rsa" });
  certificates.apply(new CertificateDiffer().diff([ec, rsa]), null);
  const cases: readonly [ids: string[], schemes: number[], id: string | undefined][] = [
    [["ec", "rsa"], [...ECDSA, ...RSA], "ec"],
    [["rsa", "ec"], [...ECDSA, ...RSA], "rsa"],
    [["ec", "rsa"], RSA, "rsa"],
    [["rsa", "ec"], ECDSA, "ec"],
    [["rsa", "ec"], [], "rsa"],
    [["gone", "ec"], RSA, "ec"],
    [["gone"], RSA, undefined],
    [[], RSA, undefined],
  ];
  for (const [ids, schemes, id] of cases) {
    assert.equal(certificates.preferred(ids, () => schemes)?.id, id, `${ids} ${schemes}`);
  }
});
