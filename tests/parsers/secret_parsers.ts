/** Parsers of Secrets that tenants write: certificates, keys and lists of revoked certificates. */
import { keptValues } from "../../controller/base/secret_values.ts";
import {
  readCertificate,
  readSecretValue,
} from "../../controller/translate/certificates/certificate.ts";
import { readSecret } from "../../controller/translate/certificates/certificate_source.ts";
import { readSecretParts } from "../../controller/translate/certificates/secret_parts.ts";
import { readChain, readKeyPair } from "../../shared/key_pair.ts";
import { type Parser, textParser } from "./parser.ts";
import { PEM_FRAMES, PEM_PUMPS } from "./tenant_pumps.ts";

/**
 * A quarter of what a Secret or a ConfigMap may hold (MaxSecretSize): what is quadratic shows, and
 * OpenSSL takes its time.
 */
export const SECRET_BYTES = 256 * 1024;

function fileOf(name: string): string {
  return Deno.readTextFileSync(new URL(`../golden/certificates/${name}`, import.meta.url));
}

export const SECRET_PARSERS: readonly Parser[] = [
  textParser({
    name: "a Secret's certificate in base64",
    functions: [
      "controller/translate/certificates/certificate.ts readSecretValue",
      "controller/translate/certificates/certificate.ts readCertificate",
      "controller/base/secret_values.ts keptValues",
    ],
    bytes: SECRET_BYTES,
    only: ["A", "=", "\n", " ", "\r\n", "LS0tLS1C", "%", "A=\n"],
    read: (text) => {
      const secret = { data: { "tls.crt": text, "tls.key": text } };
      return () => {
        keptValues("Opaque", { ...secret.data, "ca.crl": text, [text]: text });
        readSecretValue(secret, "tls.crt");
        readCertificate(secret);
      };
    },
  }),
  textParser({
    name: "a Secret's list of revoked certificates",
    functions: ["controller/translate/certificates/secret_parts.ts readSecretParts"],
    bytes: SECRET_BYTES,
    frames: [["-----BEGIN X509 CRL-----\n", "\n-----END X509 CRL-----"]],
    only: ["A", "\n", "-", "-----BEGIN ", "-----BEGIN A-----", "-----BEGIN A-----A\n"],
    read: (text) => {
      const name = { namespace: "a", name: "a" };
      const stringData = { "ca.crt": fileOf("intermediate.crt"), "ca.crl": text };
      const secrets = new Map([["a/a", readSecret({ metadata: name, stringData })!]]);
      return () => readSecretParts(name, secrets);
    },
  }),
  textParser({
    name: "a chain of certificates in PEM",
    functions: ["shared/key_pair.ts readChain"],
    bytes: SECRET_BYTES,
    frames: PEM_FRAMES,
    only: PEM_PUMPS,
    read: (text) => () => readChain(text, "tls.crt"),
  }),
  textParser({
    name: "a key in PEM",
    functions: ["shared/key_pair.ts readKeyPair"],
    bytes: SECRET_BYTES,
    frames: [["-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n"]],
    only: PEM_PUMPS,
    read: (text) => {
      const chain = fileOf("app.crt");
      return () => readKeyPair(chain, text, { chain: "tls.crt", key: "tls.key" });
    },
  }),
  textParser({
    name: "a chain of many certificates",
    functions: ["shared/key_pair.ts readKeyPair"],
    // Each takes OpenSSL some 40 µs, whatever it is part of.
    bytes: SECRET_BYTES,
    only: [fileOf("intermediate.crt")],
    read: (text) => {
      const chain = fileOf("app.crt") + text;
      const key = fileOf("app.key");
      const secret = { stringData: { "tls.crt": chain, "tls.key": key } };
      return () => readCertificate(secret);
    },
  }),
];
