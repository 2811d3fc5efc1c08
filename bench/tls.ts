/**
 * TLS as all proxies and clients of the benchmark speak it. In: a folder. Out: an ECDSA P-256
 * certificate for `localhost` there, and a configuration that holds every client which uses OpenSSL
 * (wrk, ab, openssl) to one version, cipher and group: what a proxy prefers then makes no difference.
 */
import { join } from "node:path";

export const TLS_VERSION = "TLSv1.3";
export const TLS_CIPHER = "TLS_AES_128_GCM_SHA256";
export const TLS_GROUP = "X25519";

/** The name in the certificate; it leads to 127.0.0.1 everywhere, and clients ask for it by SNI. */
export const TLS_NAME = "localhost";

export interface TlsFiles {
  /** What clients trust, as PEM. */
  readonly authority: string;
  /** The leaf's PEM alone, its key alone, and both. */
  readonly chain: string;
  readonly key: string;
  readonly pair: string;
  /** For the environment variable OPENSSL_CONF of clients. */
  readonly clientConfiguration: string;
}

export async function makeTlsFiles(folder: string): Promise<TlsFiles> {
  // Loaded now: most tests of benchmarks make no certificates.
  const { CertificateAuthority } = await import("../dev/certificate_authority.ts");
  const authority = await CertificateAuthority.create("Benchmark authority");
  const issued = await authority.issue({ names: [TLS_NAME], key: "ecdsa" });
  const files: TlsFiles = {
    authority: join(folder, "authority.pem"),
    chain: join(folder, "chain.pem"),
    key: join(folder, "key.pem"),
    pair: join(folder, "pair.pem"),
    clientConfiguration: join(folder, "openssl.cnf"),
  };
  const key = issued.key.reveal();
  await Deno.writeTextFile(files.authority, authority.certificate);
  await Deno.writeTextFile(files.chain, issued.chain);
  await Deno.writeTextFile(files.key, key);
  await Deno.writeTextFile(files.pair, `${issued.chain.trimEnd()}\n${key}`);
  await Deno.writeTextFile(
    files.clientConfiguration,
    `openssl_conf = start
[start]
ssl_conf = ssl
[ssl]
system_default = all
[all]
MinProtocol = ${TLS_VERSION}
Ciphersuites = ${TLS_CIPHER}
Groups = ${TLS_GROUP}
`,
  );
  return files;
}
