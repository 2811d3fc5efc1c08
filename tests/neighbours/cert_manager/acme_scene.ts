/**
 * Certificates by HTTP-01, all of it real: cert-manager, an ACME server that validates hosts at a proxy,
 * processes in the place of the challenges' pods, and a controller whose stream the proxy follows. In:
 * what differs. Out: the scene, with an application `web`, and what clients of the proxy see.
 */
import { startCluster, type TestCluster } from "../../cluster/support/cluster.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { ControllerScene, rule } from "../../cluster/support/controller_scene.ts";
import { installGatewayCrds } from "../../cluster/support/gateway_crds.ts";
import { hasPodAddress, Pod } from "../../cluster/support/pod.ts";
import { startStreamedProxy } from "../../cluster/support/streamed_proxy.ts";
import { findPrograms } from "../../peers/go_program.ts";
import { statusAt } from "../../support/request_load.ts";
import { TlsClient } from "../../support/tls_proxy.ts";
import type { ProxyProcess } from "../../support/proxy_process.ts";
import { ACME_SOLVER, acmeIssuer, CERT_MANAGER, CertManager } from "./cert_manager.ts";
import { PEBBLE, Pebble, PEBBLE_DNS } from "./pebble.ts";
import { SolverPods } from "./solver_pods.ts";

/** The host of all of its certificates. */
export const HOST = "app.example.com";
/** The Secret of its certificate. */
export const SECRET = "app-tls";
/** The Issuer. */
export const ISSUER = "pebble";

/** cert-manager checks a challenge five times, and rests a while after what has failed: in ms. */
const PATIENCE = 180_000;

export interface AcmeSceneOptions {
  /** Whether there are Gateways. */
  readonly gateways?: boolean;
  /** Whether a namespace besides that of the application is served. */
  readonly hasOther?: boolean;
}

/** As a client sees it. */
export interface ShownCertificate {
  readonly names: string;
  readonly serial: string;
}

export class AcmeScene implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly scene: ControllerScene;
  /** Served too; null unless it was asked for. */
  readonly other: string | null;
  readonly proxy: ProxyProcess;
  readonly pebble: Pebble;
  readonly solvers: SolverPods;
  readonly #certManager: CertManager;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    parts: Pick<AcmeScene, "cluster" | "scene" | "other" | "proxy" | "pebble" | "solvers">,
    certManager: CertManager,
    stack: AsyncDisposableStack,
  ) {
    this.cluster = parts.cluster;
    this.scene = parts.scene;
    this.other = parts.other;
    this.proxy = parts.proxy;
    this.pebble = parts.pebble;
    this.solvers = parts.solvers;
    this.#certManager = certManager;
    this.#stack = stack;
  }

  /** Null where something is missing: then `test` is skipped, and this says why. */
  static async start(
    test: string,
    { gateways = false, hasOther = false }: AcmeSceneOptions = {},
  ): Promise<AcmeScene | null> {
    if (!hasPodAddress(test)) return null;
    const found = await findPrograms(test, [CERT_MANAGER, ACME_SOLVER, PEBBLE, PEBBLE_DNS]);
    if (found === null) return null;
    const [certManagerProgram, solverProgram, pebbleProgram, dnsProgram] = found;
    await using stack = new AsyncDisposableStack();
    const cluster = await startCluster({ name: test });
    if (cluster === null) return null;
    stack.use(cluster);
    if (gateways) await installGatewayCrds(cluster);
    const other = hasOther ? await cluster.newNamespace("other") : null;
    const scene = stack.use(
      await ControllerScene.start(cluster, {
        args: [
          "--stream-name=127.0.0.1",
          ...(other === null ? [] : [`--watch-namespace=${other}`]),
        ],
      }),
    );
    const web = new Pod("web");
    stack.defer(() => web.end());
    await scene.service("web", []);
    await cluster.apply(web.slice("web", "ready"), { namespace: scene.app });
    const proxy = stack.use(await startStreamedProxy(scene));
    const pebble = stack.use(
      await Pebble.start({
        programs: [pebbleProgram, dnsProgram],
        authority: cluster.authority,
        validationPort: proxy.httpPort,
      }),
    );
    const certManager = stack.use(
      await CertManager.start(cluster, {
        program: certManagerProgram,
        proxy: `127.0.0.1:${proxy.httpPort}`,
        gateways,
      }),
    );
    const namespaces = [scene.app, ...(other === null ? [] : [other])];
    const solvers = stack.use(await SolverPods.start(cluster, solverProgram, namespaces));
    const parts = { cluster, scene, other, proxy, pebble, solvers };
    return new AcmeScene(parts, certManager, stack.move());
  }

  /** An Issuer whose challenges are solved by this solver of `http01`. */
  async issuer(solver: object, namespace = this.scene.app): Promise<void> {
    const server = { directory: this.pebble.directory, caPem: this.cluster.caPem };
    await this.cluster.apply(acmeIssuer(ISSUER, server, solver), { namespace });
  }

  /** The Ingress of the application, over TLS. */
  async ingress(annotations: Readonly<Record<string, string>>): Promise<void> {
    const spec = {
      rules: [rule(HOST, "/", "web")],
      tls: [{ hosts: [HOST], secretName: SECRET }],
    };
    await this.scene.ingress("app", spec, { annotations });
  }

  /** The status of a request by plain HTTP; 0 where there is none. */
  async status(path = "/"): Promise<number> {
    return await statusAt(this.proxy.httpPort, { host: HOST, path });
  }

  /** A connection over TLS, whose certificate Pebble has issued. */
  async connect(): Promise<TlsClient> {
    return await TlsClient.connect(this.proxy.httpsPort, { name: HOST, ca: this.pebble.root });
  }

  /** The certificate of a new connection; null where it is not one of Pebble. */
  async shown(): Promise<ShownCertificate | null> {
    let client: TlsClient;
    try {
      client = await this.connect();
    } catch {
      return null;
    }
    using _ = client;
    return { names: client.names, serial: client.socket.getPeerCertificate().serialNumber };
  }

  /** Waits until clients are shown a certificate that is none of these. */
  async certificateAfter(...serials: readonly string[]): Promise<ShownCertificate> {
    return await this.until("another certificate", async () => {
      const shown = await this.shown();
      return shown === null || serials.includes(shown.serial) ? null : shown;
    });
  }

  /** Waits until nothing of any challenge is left. */
  async challengesGone(): Promise<void> {
    const { cluster } = this;
    const [acme, v1] = ["acme.cert-manager.io/v1", "networking.k8s.io/v1"];
    await this.until("end of the challenges", async () => {
      const labelSelector = "acme.cert-manager.io/http01-solver=true";
      const left = [
        ...await cluster.list(acme, "Challenge"),
        ...await cluster.list(v1, "Ingress", { labelSelector }),
        ...await cluster.list("v1", "Service", { labelSelector }),
      ];
      return left.length === 0 && this.solvers.count === 0;
    });
  }

  /** Waits for what cert-manager brings about; fails at once where it has ended. */
  async until<T>(what: string, ask: () => Promise<T>): Promise<NonNullable<T>> {
    return await this.explain(() =>
      eventually(what, () => {
        if (!this.#certManager.isRunning) throw new Error("cert-manager has ended");
        return ask();
      }, PATIENCE)
    );
  }

  /** Runs a part of a test; where it throws, the message has what cert-manager said last. */
  async explain<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      const problems = JSON.stringify(await this.scene.problems().catch(String));
      const message = `${error}\n${problems}\n${await this.#certManager.tail()}`;
      throw new Error(message, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }
}
