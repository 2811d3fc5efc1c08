/**
 * Pebble, a server of ACME for tests, and the DNS server that comes with it. In: the address and port at
 * which hosts are validated by HTTP-01. Out: the URL of its directory, and the root of what it issues.
 * Both are built once from their Go module.
 */
import { join } from "node:path";
import type { CertificateAuthority } from "../../../dev/certificate_authority.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { GuardedProcess, ProcessGuard } from "../../cluster/support/guarded_process.ts";
import type { PublishedProgram } from "../../peers/go_program.ts";
import { freePort } from "../../support/ports.ts";

const MODULE = "github.com/letsencrypt/pebble/v2/cmd";
const VERSION = "v2.10.3";

export const PEBBLE: PublishedProgram = {
  name: "pebble",
  module: `${MODULE}/pebble@${VERSION}`,
};
export const PEBBLE_DNS: PublishedProgram = {
  name: "pebble-challtestsrv",
  module: `${MODULE}/pebble-challtestsrv@${VERSION}`,
};

/** Of a certificate, in s: 90 days, as of Let's Encrypt. */
const LIFE = 90 * 24 * 60 * 60;

const ENVIRONMENT = [
  // Each order is validated, also one for a host that was validated before.
  "PEBBLE_AUTHZREUSE=0",
  "PEBBLE_VA_NOSLEEP=1",
  "PEBBLE_WFE_NONCEREJECT=0",
];

export interface PebbleOptions {
  /** Paths of `PEBBLE` and `PEBBLE_DNS`. */
  readonly programs: readonly [pebble: string, dns: string];
  /** Signs the certificate of its own HTTPS. */
  readonly authority: CertificateAuthority;
  /** Of each name, an IPv4 one; default: 127.0.0.1. */
  readonly address?: string;
  /** Of HTTP there. */
  readonly validationPort: number;
}

export class Pebble {
  /** The URL of its directory. */
  readonly directory: string;
  /** PEM of the root of the certificates that it issues. */
  readonly root: string;
  readonly #guard: ProcessGuard;

  private constructor(directory: string, root: string, guard: ProcessGuard) {
    this.directory = directory;
    this.root = root;
    this.#guard = guard;
  }

  static async start(options: PebbleOptions): Promise<Pebble> {
    const { programs: [program, dns], authority, address = "127.0.0.1", validationPort } = options;
    const folder = await Deno.makeTempDir({ prefix: "pebble-" });
    const guard = new ProcessGuard(folder);
    const file = async (name: string, text: string) => {
      const path = join(folder, name);
      await Deno.writeTextFile(path, text, { mode: 0o600 });
      return path;
    };
    const { chain, key } = await authority.issue({ names: ["127.0.0.1"] });
    const [port, managementPort, dnsPort] = [freePort(), freePort(), freePort()];
    const config = await file(
      "pebble.json",
      JSON.stringify({
        pebble: {
          listenAddress: `127.0.0.1:${port}`,
          managementListenAddress: `127.0.0.1:${managementPort}`,
          certificate: await file("server.crt", chain),
          privateKey: await file("server.key", key.reveal()),
          httpPort: validationPort,
          tlsPort: freePort(),
          // Of what is not ready, in s.
          retryAfter: { authz: 1, order: 1 },
          keyAlgorithm: "ecdsa",
          profiles: { default: { description: "of tests", validityPeriod: LIFE } },
        },
      }),
    );
    const names = new GuardedProcess(guard, join(folder, "dns.log"));
    await names.start(dns, [
      ...["http01", "https01", "doh", "tlsalpn01", "defaultIPv6"].map((name) => `-${name}=`),
      `-dnsserver=127.0.0.1:${dnsPort}`,
      `-management=127.0.0.1:${freePort()}`,
      `-defaultIPv4=${address}`,
    ]);
    const server = new GuardedProcess(guard, join(folder, "pebble.log"));
    await server.start("env", [
      ...ENVIRONMENT,
      program,
      `-config=${config}`,
      `-dnsserver=127.0.0.1:${dnsPort}`,
    ]);
    using client = Deno.createHttpClient({ caCerts: [authority.certificate] });
    const get = async (url: string) => {
      const response = await fetch(url, { client });
      const text = await response.text();
      return response.ok ? text : null;
    };
    const base = `https://127.0.0.1`;
    try {
      const root = await eventually("root of Pebble", async () => {
        if (!server.isRunning) throw new Error("it has ended");
        return await get(`${base}:${managementPort}/roots/0`).catch(() => null);
      });
      return new Pebble(`${base}:${port}/dir`, root, guard);
    } catch (error) {
      const said = `${await names.tail()}\n${await server.tail()}`;
      await guard.close();
      throw new Error(`Pebble does not start; it said:\n${said}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guard.close();
  }
}
