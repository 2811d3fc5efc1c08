/**
 * A `ProxyServer` in this process, for tests. In: endpoints and limits that differ from the
 * defaults. Out: its port, and what it has logged.
 */
import { DEFAULT_LIMITS, type Limits } from "../../proxy/http/limits.ts";
import { ProxyServer, type ProxyServerOptions } from "../../proxy/server.ts";
import { OTHER_SLOT } from "../../proxy/telemetry/series_slots.ts";
import { Telemetry } from "../../proxy/telemetry/telemetry.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import type { LogFields } from "../../shared/log.ts";
import type { Endpoint, Snapshot } from "../../shared/snapshot/types.ts";

/** `/` of any host to one upstream with these endpoints; a number is a port on 127.0.0.1. */
export function snapshotOf(endpoints: readonly (number | Endpoint)[]): Snapshot {
  return {
    format: 2,
    version: { epoch: "test", seen: {} },
    routes: [{
      id: "* Prefix /",
      host: "*",
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "forward", backends: [{ upstream: "test/web:80" }] },
      origin: { kind: "Ingress", namespace: "test", name: "web", field: "spec" },
    }],
    defaultAction: null,
    upstreams: [{
      id: "test/web:80",
      protocol: "http",
      addresses: {
        kind: "endpoints",
        endpoints: endpoints.map((endpoint) =>
          typeof endpoint === "number" ? { address: "127.0.0.1", port: endpoint } : endpoint
        ),
      },
    }],
    certificates: [],
    defaultCertificate: null,
  };
}

/** Knows the routes of a snapshot apart, as that of each process of a proxy does; all count as others. */
export function telemetryOf({ routes }: Snapshot): Telemetry {
  const telemetry = Telemetry.unheard();
  telemetry.metrics.change({ added: routes.map(({ id }) => [id, OTHER_SLOT]), removed: [] });
  return telemetry;
}

export class TestProxy {
  readonly server: ProxyServer;
  readonly port: number;
  /** Codes of the errors logged, in order. */
  readonly codes: string[] = [];

  constructor(
    endpoints: readonly (number | Endpoint)[],
    limits: Partial<Limits> = {},
    options: Partial<ProxyServerOptions> = {},
  ) {
    const log = (_message: string, fields?: LogFields) => {
      if (typeof fields?.code === "string") this.codes.push(fields.code);
    };
    this.server = new ProxyServer({
      limits: { ...DEFAULT_LIMITS, ...limits },
      trustedProxies: CidrList.empty,
      upstreamNetworks: CidrList.empty,
      allowLoopbackUpstreams: true,
      sslRedirect: false,
      sslRedirectPort: 0,
      log: { debug: log, info: log, warn: log, error: log },
      ...options,
    });
    this.port = this.server.listen({ hostname: "127.0.0.1", port: 0 }).port;
    this.server.apply(snapshotOf(endpoints));
  }

  [Symbol.dispose](): void {
    this.server.close();
  }
}
