import "reflect-metadata";
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import type { LogFields, Logger } from "../../../shared/log.ts";
import type { ApiResult, KubeObject } from "../../kube/types.ts";
import { eventually } from "../../../tests/cluster/support/condition.ts";
import { stateData } from "./data.ts";
import { AuthorityServer } from "./server_certificate.ts";
import { authoritiesIn, makeSigner, readSigner } from "./x509.ts";

type Stored = ApiResult<KubeObject & { readonly data: Readonly<Record<string, string>> }>;

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

const made = await makeSigner(Date.now());

/** As the API server would answer. */
function stored(data: Readonly<Record<string, string>>): Stored {
  return { ok: true, value: { metadata: { name: "pingress-stream-ca" }, data } };
}

function serverOf(get: () => Promise<Stored>) {
  const warnings: string[] = [];
  const log: Logger = {
    debug: () => {},
    info: () => {},
    warn: (message: string, fields: LogFields = {}) =>
      void warnings.push(`${message}: ${fields.reason}`),
    error: () => {},
  };
  const server = new AuthorityServer({
    client: { get: get as never },
    namespace: "pingress-system",
    names: ["pingress-controller.pingress-system.svc"],
    log,
  });
  return { server, warnings };
}

Deno.test("a key in the format of openssl ecparam signs like any other", async () => {
  const sec1 = createPrivateKey(made.keyPem.reveal()).export({ type: "sec1", format: "pem" });
  const state = { signer: made, next: null, nextPublished: null, retired: [] };
  const data = { ...stateData(state), "signer.key": btoa(String(sec1)) };
  const { server, warnings } = serverOf(() => Promise.resolve(stored(data)));
  await server.refresh();
  deepEqual(warnings, []);
  const issuer = new X509Certificate(made.certPem);
  ok(new X509Certificate(server.current!.certPem).verify(issuer.publicKey));
});

Deno.test("a partly unreadable certificate is not a CA, and does not affect the others", async () => {
  const keys = await crypto.subtle.generateKey(ECDSA, true, ["sign", "verify"]);
  const broken = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=broken",
    keys,
    signingAlgorithm: ECDSA,
    extensions: [new x509.Extension("2.5.29.19", true, new Uint8Array([1, 2, 3]))],
  });
  const bundle = `${broken.toString("pem")}\n${made.certPem}`;
  deepEqual(authoritiesIn(bundle).map(({ id }) => id), [made.id]);
  const key = x509.PemConverter.encode(
    await crypto.subtle.exportKey("pkcs8", keys.privateKey),
    "PRIVATE KEY",
  );
  equal(readSigner(broken.toString("pem"), key), "it is not one authority's certificate");
});

Deno.test("every failure with the certificate is logged and retried, and does not block the shutdown", async () => {
  const state = { signer: made, next: null, nextPublished: null, retired: [] };
  let reads = 0;
  const { server, warnings } = serverOf(() => {
    reads++;
    if (reads === 1) throw new Error("a mistake of ours");
    return Promise.resolve(stored(stateData(state)));
  });
  server.start();
  await eventually("a certificate", () => Promise.resolve(server.current !== null));
  equal(warnings.length, 1);
  match(warnings[0], /a mistake of ours/);
  await server.stop();
});
