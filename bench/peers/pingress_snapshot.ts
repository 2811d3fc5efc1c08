/**
 * Our proxy's configuration. In: how a case is set up. Out: the snapshot that a controller would
 * make of it, and those after each change, in which all that stays is the very same objects.
 */
import { join } from "node:path";
import {
  type Certificate,
  type Route,
  type Snapshot,
  SNAPSHOT_FORMAT,
} from "../../shared/snapshot/types.ts";
import { compareHosts } from "../../shared/host/host_order.ts";
import { endpointsOf } from "../endpoints.ts";
import { type BenchRoute, movingRoute, routesOf } from "../routes.ts";
import { TLS_NAME, type TlsFiles } from "../tls.ts";
import type { Setup } from "../model.ts";

const UPSTREAM = "default/backend:80";

export class BenchSnapshots {
  readonly #first: Snapshot;
  readonly #count: number;

  private constructor(first: Snapshot, count: number) {
    this.#first = first;
    this.#count = count;
  }

  /** @param setup whose folder gets the pair of files that TLS needs. */
  static async of(setup: Setup): Promise<BenchSnapshots> {
    const { routes, tls, upstream, folder } = setup;
    const first: Snapshot = {
      format: SNAPSHOT_FORMAT,
      version: versionOf(0),
      routes: routes === 1 ? [routeTo("*", "/")] : inOrder(routesOf(routes).map(of)),
      defaultAction: null,
      upstreams: [{
        id: UPSTREAM,
        protocol: upstream === "grpc" ? "h2c" : "http",
        addresses: {
          kind: "endpoints",
          endpoints: endpointsOf(setup).map(({ hostname: address, port }) => ({ address, port })),
        },
      }],
      certificates: tls === null ? [] : [await certificate(tls, folder)],
      defaultCertificate: null,
    };
    return new BenchSnapshots(first, routes);
  }

  /** The configuration that a proxy is started with. */
  get first(): Snapshot {
    return this.#first;
  }

  /** With the moving route where this turn has it. */
  at(turn: number): Snapshot {
    const moving = of(movingRoute(this.#count, turn));
    const { routes } = this.#first;
    const last = routes.findLastIndex(({ host }) => host === moving.host);
    return {
      ...this.#first,
      version: versionOf(turn),
      routes: routes.toSpliced(last + 1, 0, moving),
    };
  }
}

function versionOf(turn: number): Snapshot["version"] {
  return { epoch: "bench", seen: { Ingress: String(turn + 1) } };
}

/** Hosts in the order in which a controller has them: then a change of one looks at no other. */
function inOrder(routes: readonly Route[]): readonly Route[] {
  return routes.toSorted((a, b) => compareHosts(a.host, b.host));
}

function of({ host, path }: BenchRoute): Route {
  return routeTo(host, path);
}

function routeTo(host: string, value: string): Route {
  return {
    id: `${host} Prefix ${value}`,
    host,
    match: { path: { type: "Prefix", value } },
    action: { kind: "forward", backends: [{ upstream: UPSTREAM }] },
    origin: { kind: "Ingress", namespace: "default", name: "bench", field: "" },
  };
}

/** The pair as files beside the configuration: nothing else may be read. */
async function certificate({ chain, key }: TlsFiles, folder: string): Promise<Certificate> {
  await Deno.copyFile(chain, join(folder, "tls.crt"));
  await Deno.copyFile(key, join(folder, "tls.key"));
  return {
    id: "tls.crt",
    hosts: [TLS_NAME],
    chain: { kind: "file", path: "tls.crt" },
    key: { kind: "file", path: "tls.key" },
    origin: { kind: "Secret", namespace: "default", name: "bench", field: "" },
  };
}
