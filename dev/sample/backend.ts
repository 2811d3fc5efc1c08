/**
 * Two programs to send requests to where there are no pods. In: the Services that they stand in
 * for. Out: ports on this machine's loopback address whose answers say who answered, for which
 * Service, and what came in; those for Services of HTTP/2 speak that, and gRPC.
 *
 * Each Service has a port of its own on both, so that an answer knows its Service by itself.
 */
import type { Endpoint } from "../../shared/snapshot/types.ts";
import { answer } from "./answer.ts";
import { Http2Sample } from "./http2.ts";

const LOOPBACK = "127.0.0.1";

/** Services with ports of their own; more share one pair of ports, to spare descriptors. */
const MAX_SERVICES = 100;

const NAMES = ["one", "two"] as const;

export class SampleBackends {
  #servers: Deno.HttpServer[] = [];
  #http2Servers: Http2Sample[] = [];
  #shared: readonly Endpoint[];
  #own = new Map<string, readonly Endpoint[]>();
  /** Undefined until a Service of HTTP/2 is there. */
  #sharedHttp2: readonly Endpoint[] | undefined;
  #ownHttp2 = new Map<string, readonly Endpoint[]>();

  /** Listens at once; throws what `Deno.serve` throws. */
  constructor() {
    this.#shared = this.#listen(null);
  }

  /** Where both of them listen for this Service. */
  endpointsFor(namespace: string, name: string): readonly Endpoint[] {
    const key = `${namespace}/${name}`;
    let endpoints = this.#own.get(key);
    if (endpoints === undefined) {
      if (this.#own.size === MAX_SERVICES) return this.#shared;
      endpoints = this.#listen(key);
      this.#own.set(key, endpoints);
    }
    return endpoints;
  }

  /**
   * The same in HTTP/2, in plain text. None for a Service that `prepareHttp2` has not been told of.
   */
  http2EndpointsFor(namespace: string, name: string): readonly Endpoint[] {
    return this.#ownHttp2.get(`${namespace}/${name}`) ?? this.#sharedHttp2 ?? [];
  }

  /**
   * Listens for Services that are spoken to in HTTP/2, which takes a moment for each new one.
   *
   * @param services `<namespace>/<service>`.
   */
  async prepareHttp2(services: Iterable<string>): Promise<void> {
    for (const service of services) {
      if (this.#ownHttp2.has(service)) continue;
      this.#sharedHttp2 ??= await this.#listenHttp2(null);
      if (this.#ownHttp2.size === MAX_SERVICES) return;
      this.#ownHttp2.set(service, await this.#listenHttp2(service));
    }
  }

  /** Takes no more, and waits for answers that were begun in HTTP/1.1. */
  async close(): Promise<void> {
    const servers = [...this.#servers.splice(0), ...this.#http2Servers.splice(0)];
    await Promise.all(servers.map((server) => server.shutdown()));
  }

  #listen(service: string | null): readonly Endpoint[] {
    return NAMES.map((backend) => {
      const server = Deno.serve(
        { hostname: LOOPBACK, port: 0, onListen() {} },
        (request) => answer(request, { backend, service }),
      );
      this.#servers.push(server);
      return { address: LOOPBACK, port: (server.addr as Deno.NetAddr).port };
    });
  }

  #listenHttp2(service: string | null): Promise<readonly Endpoint[]> {
    return Promise.all(NAMES.map(async (backend) => {
      const server = new Http2Sample({ backend, service });
      this.#http2Servers.push(server);
      return { address: LOOPBACK, port: await server.listen(LOOPBACK) };
    }));
  }
}
