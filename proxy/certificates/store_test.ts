/** A client gets a certificate whose signatures it can verify, where there are several. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { Redacted } from "../../shared/redacted.ts";
import { certificateFor } from "../../tests/support/tls_proxy.ts";
import { CertificateDiffer } from "./diff.ts";
import { Certificates } from "./store.ts";

const ECDSA = [0x0403];
const RSA = [0x0804, 0x0401];
/** Of Chrome 140. */
const BROWSER = [0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601];

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

Deno.test("a client that cannot verify a key's curve gets the certificate after it", async () => {
  const certificates = new Certificates();
  const rsa = await certificateFor("rsa", { names: ["a.test"], key: "rsa" });
  const keys: readonly [id: string, type: "ec" | "ed25519", namedCurve?: string][] = [
    ["P-256", "ec", "P-256"],
    ["P-384", "ec", "P-384"],
    ["P-521", "ec", "P-521"],
    ["Ed25519", "ed25519"],
  ];
  // Only the key is looked at: any chain will do.
  const others = keys.map(([id, type, namedCurve]) => ({
    ...rsa,
    id,
    key: newKey(type, namedCurve),
  }));
  certificates.apply(new CertificateDiffer().diff([rsa, ...others]), null);
  const cases: readonly [id: string, schemes: number[], isVerified: boolean][] = [
    ["P-256", BROWSER, true],
    ["P-384", BROWSER, true],
    ["P-521", BROWSER, false],
    ["Ed25519", BROWSER, false],
    ["P-384", [...ECDSA, ...RSA], false],
    ["P-256", [0x0503, ...RSA], false],
    ["P-521", [...BROWSER, 0x0603], true],
    ["Ed25519", [...BROWSER, 0x0807], true],
  ];
  for (const [id, schemes, isVerified] of cases) {
    const shown = certificates.preferred([id, "rsa"], () => schemes);
    assert.equal(shown?.id, isVerified ? id : "rsa", `${id} ${schemes}`);
  }
});

function newKey(type: "ec" | "ed25519", namedCurve?: string): Redacted {
  const { privateKey } = type === "ec"
    ? generateKeyPairSync(type, { namedCurve: namedCurve! })
    : generateKeyPairSync(type);
  return new Redacted(privateKey.export({ type: "pkcs8", format: "pem" }) as string);
}
