/**
 * A proxy on the controller's stream, as far as a change must reach it. In: the running controller. Out: when a host
 * that was added is served; throws where it never is.
 */
import type { ControllerProcess } from "../../tests/cluster/support/controller_process.ts";
import type { TestCluster } from "../../tests/cluster/support/cluster.ts";
import { startStreamedProxy } from "../../tests/cluster/support/streamed_proxy.ts";
import { Peer, statusOf } from "../../tests/support/backend.ts";
import type { ProxyProcess } from "../../tests/support/proxy_process.ts";

/** Between two requests for a host, in ms. */
const LOOK = 2;

/** Of a host that no route has. */
const UNKNOWN = 404;

export class ServingProxy {
  readonly #proxy: ProxyProcess;
  readonly #client: Peer;

  private constructor(proxy: ProxyProcess, client: Peer) {
    this.#proxy = proxy;
    this.#client = client;
  }

  /** Serves what the controller has when it resolves. @param host One that the controller has. */
  static async start(
    cluster: TestCluster,
    namespace: string,
    controller: ControllerProcess,
    host: string,
    patience: number,
  ): Promise<ServingProxy> {
    const proxy = await startStreamedProxy({ cluster, system: namespace, controller });
    try {
      const serving = new ServingProxy(proxy, await Peer.connect(proxy.httpPort));
      await serving.serves(host, patience);
      return serving;
    } catch (error) {
      await proxy[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The time at which it is served, in ms of `performance.now`. */
  async serves(host: string, patience: number): Promise<number> {
    const end = performance.now() + patience;
    for (;;) {
      const answer = await this.#client.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      if (statusOf(answer) !== UNKNOWN) return performance.now();
      if (performance.now() > end) throw new Error(`${host} was not served within ${patience} ms`);
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client[Symbol.dispose]();
    await this.#proxy[Symbol.asyncDispose]();
  }
}
