/**
 * cert-manager: its controller, and what it runs in pods of challenges. In: a cluster. Out: its CRDs, a
 * running controller, and its log. Its Go module has no command, so both are built of ours in `programs/`.
 */
import { join } from "node:path";
import type { ApiClient, KubeObject } from "../../cluster/support/api_client.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { GuardedProcess, ProcessGuard } from "../../cluster/support/guarded_process.ts";
import { go, type OwnProgram } from "../../peers/go_program.ts";

const SOURCES = join(import.meta.dirname!, "programs");
const MODULE = "github.com/cert-manager/cert-manager";

export const CERT_MANAGER: OwnProgram = { name: "cert_manager", sources: SOURCES };
export const ACME_SOLVER: OwnProgram = { name: "acme_solver", sources: SOURCES };

/** What its pods of challenges run, as `cert_manager` says: on nodes, a test gives them this image. */
export const SOLVER_IMAGE = "registry.test/acme-solver:1";

/** Kinds that are waited for, of all that have come. */
const SERVED = [
  "cert-manager.io/v1/certificates",
  "cert-manager.io/v1/issuers",
  "acme.cert-manager.io/v1/challenges",
];

export interface CertManagerOptions {
  /** The path of `CERT_MANAGER`. */
  readonly program: string;
  /**
   * `HOST:PORT` in place of port 80 of each host: where it looks whether a challenge is served. It sends
   * absolute-form requests there, as to a proxy.
   */
  readonly proxy: string;
  /** Whether it serves Gateways too; their CRDs must be there. */
  readonly gateways?: boolean;
}

export class CertManager {
  readonly #guard: ProcessGuard;
  readonly #process: GuardedProcess;

  private constructor(guard: ProcessGuard, process: GuardedProcess) {
    this.#guard = guard;
    this.#process = process;
  }

  /** With its CRDs. */
  static async start(
    cluster: ApiClient & { readonly kubeconfig: string },
    { program, proxy, gateways = false }: CertManagerOptions,
  ): Promise<CertManager> {
    await installCrds(cluster);
    const folder = await Deno.makeTempDir({ prefix: "cert-manager-" });
    const guard = new ProcessGuard(folder);
    const process = new GuardedProcess(guard, join(folder, "cert-manager.log"));
    await process.start("env", [
      `HTTP_PROXY=http://${proxy}`,
      program,
      `-kubeconfig=${cluster.kubeconfig}`,
      `-gateway-api=${gateways}`,
    ]);
    return new CertManager(guard, process);
  }

  get isRunning(): boolean {
    return this.#process.isRunning;
  }

  /** The end of its log. */
  async tail(): Promise<string> {
    return await this.#process.tail(40);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guard.close();
  }
}

/** An Issuer `name` of the ACME server, whose challenges are solved by this solver of `http01`. */
export function acmeIssuer(
  name: string,
  { directory, caPem }: { readonly directory: string; readonly caPem: string },
  solver: object,
): Partial<KubeObject> {
  return {
    apiVersion: "cert-manager.io/v1",
    kind: "Issuer",
    metadata: { name },
    spec: {
      acme: {
        server: directory,
        caBundle: btoa(caPem),
        privateKeySecretRef: { name: `${name}-account` },
        solvers: [{ http01: solver }],
      },
    },
  };
}

/** Of the version in `programs/go.mod`. */
async function installCrds(cluster: ApiClient): Promise<void> {
  const { Dir } = JSON.parse(await go(["mod", "download", "-json", MODULE], {}, SOURCES));
  const folder = join(Dir, "deploy", "crds");
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".yaml")) await cluster.apply(await Deno.readTextFile(join(folder, name)));
  }
  for (const kind of SERVED) {
    const path = `/apis/${kind}`;
    await eventually(path, async () => (await cluster.request("GET", path)).status === 200);
  }
}
