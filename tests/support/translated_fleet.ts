/**
 * Workers that serve what is translated from objects of Gateway API. In: objects as a user writes them. Out: open
 * sockets, the port of each Gateway's listener, and conditions.
 *
 * Everything from the translation to the sockets is as in a cluster; between them is no API server and no stream.
 */
import type { Resources } from "../../controller/kube/resources.ts";
import { type Translation, Translator } from "../../controller/translate/translator.ts";
import { DEFAULT_GATEWAY_OPTIONS } from "../../controller/translate/gateway/gateway_translator.ts";
import { GATEWAY_CONTROLLER } from "../../controller/translate/gateway/objects/gateway_class.ts";
import type { AddressKind } from "../../controller/translate/gateway/objects/parameters.ts";
import { keyOf } from "../../controller/base/identity.ts";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import type { ListenRange } from "../../shared/net/port_range.ts";
import { listenerId } from "../../shared/snapshot/listener_id.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend } from "./backend.ts";
import { type Fleet, type FleetOptions, startFleet } from "./fleet.ts";
import { freeRange, HOSTNAME } from "./gateway_listeners.ts";
import { TRANSLATE_OPTIONS } from "./translate_options.ts";

const CLASS = {
  metadata: { name: "pingress" },
  spec: { controllerName: GATEWAY_CONTROLLER },
};

/** Of Service `web` of each namespace that a test names. */
const SERVICE_PORT = 80;

export interface GatewayChanges {
  readonly namespace?: string;
  readonly creationTimestamp?: string;
  /** One of HTTP for each; default: 80. */
  readonly ports?: readonly number[];
  /** In place of `ports`. */
  readonly listeners?: readonly object[];
}

/** Listeners are called `http-<port>`. */
export function gatewayObject(
  name: string,
  { namespace = "shop", creationTimestamp, ports = [80], listeners }: GatewayChanges = {},
) {
  return {
    metadata: { name, namespace, creationTimestamp },
    spec: {
      gatewayClassName: CLASS.metadata.name,
      listeners: listeners ??
        ports.map((port) => ({ name: `http-${port}`, port, protocol: "HTTP" })),
    },
  };
}

export interface RouteChanges {
  readonly namespace?: string;
  /** Default: every host. */
  readonly hostnames?: readonly string[];
  /** Names of Gateways in its namespace. */
  readonly parents: readonly string[];
  /** Default: one for `/`, to Service `web` of its namespace. */
  readonly rules?: readonly unknown[];
}

export function routeObject(
  name: string,
  { namespace = "shop", hostnames = [], parents, rules = [{ backendRefs: [backendRef()] }] }:
    RouteChanges,
) {
  return {
    metadata: { name, namespace },
    spec: { parentRefs: parents.map((name) => ({ name })), hostnames, rules },
  };
}

/** @param namespace Default: that of the route. */
export function backendRef(namespace?: string) {
  return { name: "web", port: SERVICE_PORT, ...(namespace === undefined ? {} : { namespace }) };
}

export interface TranslatedFleetOptions extends FleetOptions {
  readonly workers?: number;
  /** Ports of `--listen-range`. */
  readonly rangeSize: number;
  /** Those with a Service `web`; default: `shop`. */
  readonly namespaces?: readonly string[];
  /** Whether Gateways share the address of Ingresses; default: own. */
  readonly address?: AddressKind;
}

/** What changes from one configuration to the next. */
export type GatewayObjectsOf =
  & Pick<Resources, "gateways" | "httpRoutes" | "referenceGrants">
  /** By default the Ingress of host `ingress.test`, and no Secrets. */
  & Partial<Pick<Resources, "ingresses" | "secrets">>;

/** An Ingress of `/` of a host, to Service `web` of its namespace. */
export function ingressObject(
  name: string,
  host: string,
  { namespace = "shop", secretName, creationTimestamp }: {
    readonly namespace?: string;
    readonly secretName?: string;
    readonly creationTimestamp?: string;
  } = {},
) {
  const backend = { service: { name: "web", port: { number: SERVICE_PORT } } };
  return {
    metadata: { name, namespace, creationTimestamp },
    spec: {
      ingressClassName: "pingress",
      ...(secretName === undefined ? {} : { tls: [{ hosts: [host], secretName }] }),
      rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
    },
  };
}

export class TranslatedFleet implements AsyncDisposable {
  readonly range: ListenRange;
  readonly fleet: Fleet;
  readonly backend: Backend;
  /** Of the proxy's own, where the Ingress of host `ingress.test` is served. */
  port = 0;
  /** The same of HTTPS. */
  tlsPort = 0;
  readonly #translator = new Translator();
  readonly #namespaces: readonly string[];
  readonly #address: AddressKind;
  #published: Snapshot | null = null;

  private constructor(
    { workers = 2, rangeSize, namespaces = ["shop"], address = "own", ...options }:
      TranslatedFleetOptions,
    backend: Backend,
  ) {
    this.#address = address;
    this.range = freeRange(rangeSize);
    this.#namespaces = namespaces;
    this.backend = backend;
    this.fleet = startFleet(workers, { listenRange: this.range, ...options });
  }

  static async start(
    options: TranslatedFleetOptions,
    backend = new Backend(),
  ): Promise<TranslatedFleet> {
    const scene = new TranslatedFleet(options, backend);
    const applied = scene.apply({ gateways: [], httpRoutes: [] });
    const { http, https } = await scene.fleet.listen({
      http: [{ hostname: HOSTNAME, port: 0 }],
      https: [{ hostname: HOSTNAME, port: 0 }],
    });
    await applied;
    scene.port = http[0].port;
    scene.tlsPort = https[0].port;
    return scene;
  }

  /** Settles when every worker has applied it. */
  async apply(objects: GatewayObjectsOf): Promise<Translation> {
    const translation = this.#translator.translate(
      this.#resources(objects),
      this.#published,
      {
        ...TRANSLATE_OPTIONS,
        allowLocalEndpoints: true,
        gateway: {
          ...DEFAULT_GATEWAY_OPTIONS,
          listenRange: this.range,
          address: this.#address,
        },
      },
      () => 0,
    );
    this.#published = translation.snapshot;
    await this.fleet.serve(translation.snapshot, certificatesIn(translation.snapshot));
    return translation;
  }

  /** The port of the proxies behind a listener; null where it has none. */
  socketOf(gateway: string, port = 80, namespace = "shop"): number | null {
    const id = listenerId(keyOf({ namespace, name: gateway }), `http-${port}`);
    const listener = this.#published?.listeners?.find((listener) => listener.id === id);
    return listener === undefined ? null : Number(listener.socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.fleet.close();
    await this.backend[Symbol.asyncDispose]();
  }

  #resources(objects: GatewayObjectsOf): Resources {
    const [namespace] = this.#namespaces;
    return {
      ingresses: [ingressObject("web", "ingress.test", { namespace })],
      ingressClasses: [],
      services: this.#namespaces.map((namespace) => ({
        metadata: { name: "web", namespace },
        spec: { ports: [{ port: SERVICE_PORT }] },
      })),
      endpointSlices: this.#namespaces.map((namespace) => ({
        metadata: {
          name: "web-1",
          namespace,
          labels: { "kubernetes.io/service-name": "web" },
        },
        addressType: "IPv4",
        endpoints: [{ addresses: [HOSTNAME] }],
        ports: [{ port: this.backend.port }],
      })),
      secrets: [],
      gatewayClasses: [CLASS],
      referenceGrants: [],
      ...objects,
    };
  }
}

/** As the proxy's loader gives them. */
function certificatesIn({ certificates }: Snapshot): readonly ServerCertificate[] {
  return certificates.map(({ id, hosts, plain, chain, key }) => {
    if (chain.kind !== "pem" || key.kind !== "secret") throw new TypeError(`${id} is in files`);
    return {
      ...{ id, hosts, chain: chain.pem, key: key.pem },
      ...(plain === undefined ? {} : { plain }),
    };
  });
}
