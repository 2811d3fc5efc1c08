/**
 * Local ports in place of pods. In: the objects of a folder, what `--map` says, and where the
 * sample backends listen. Out: the same objects with endpoints that a laptop can dial, what stands
 * behind each Service port, and problems of the annotation. Touches nothing: listening is the
 * caller's.
 *
 * For each port of a Service, the first of these: `--map`, the annotation
 * `dev.pingress.io/endpoint`, the Service's EndpointSlices with a sample backend for each address
 * that is not of this machine (so that none ready is 503, as in a cluster), a sample backend.
 * Sample backends speak the version of HTTP that the port asks for.
 */
import { isIP } from "node:net";
import type {
  EndpointSlice,
  HttpIngressPath,
  IngressRule,
  Resources,
  Service,
  ServicePort,
  SliceEndpoint,
} from "../controller/kube/resources.ts";
import { asScalar, asText, describe, quote, shortened } from "../controller/base/json.ts";
import { serviceOfAuthUrl } from "../controller/translate/annotations/nginx/external.ts";
import { NginxAnnotations } from "../controller/translate/annotations/nginx/nginx_annotations.ts";
import { FIRST_PORT } from "../controller/translate/model/backend_ref.ts";
import { RESPONSES } from "../controller/translate/annotations/nginx/rows/responses.ts";
import type { ConfigMapName } from "../controller/translate/model/global_settings.ts";
import type { DefaultBackend } from "../controller/translate/translator.ts";
import { backendsOfRoutes } from "./gateway/route_backends.ts";
import type { ObjectRef, Problem } from "../shared/problem.ts";
import { reservedAddress } from "../shared/net/reserved_address.ts";
import type { Endpoint } from "../shared/snapshot/types.ts";
import { byVersion, type SampleVersion, withPlainPorts } from "./sample/ports.ts";
import { isLoopback, parseTarget, type ServiceMapping, type Target } from "./service_mapping.ts";

export const ENDPOINT_ANNOTATION = "dev.pingress.io/endpoint";

/** The label by which an EndpointSlice names its Service. */
const SERVICE_LABEL = "kubernetes.io/service-name";

const WRITE_ENDPOINT =
  "Write HOST:PORT (127.0.0.1:3000), or PORTNAME=HOST:PORT for one port of the Service";

/** Longer names are cut in messages. */
const MAX_SHOWN = 80;

/** What stands behind one port of a Service. */
export interface StandIn {
  readonly kind: "map" | "annotation" | "slices" | "sample";
  /** `127.0.0.1:3000 (--map)`, `sample backend`. */
  readonly text: string;
}

export interface LocalEndpoints {
  readonly resources: Resources;
  readonly problems: readonly Problem[];
  /**
   * By upstream id, `<namespace>/<service>:<port>`, for the port's number and for its name. Ports
   * that go where the objects say are not in it.
   */
  readonly standIns: ReadonlyMap<string, StandIn>;
}

/** Where the two sample backends listen for this Service. Called once for each that needs them. */
export type SampleEndpoints = (
  namespace: string,
  name: string,
  version: SampleVersion,
) => readonly Endpoint[];

export interface LocalEndpointOptions {
  readonly mappings: readonly ServiceMapping[];
  readonly samples: SampleEndpoints;
  /** A Service that is named by more than the Ingresses. */
  readonly defaultBackend: DefaultBackend | null;
  /** Of ingress-nginx; missing or null for none. */
  readonly configMap?: ConfigMapName | null;
  /** Whether samples may stand for who authenticates: nothing is served. */
  readonly samplesAuthenticate?: true;
  /** Services (`default/web`) whose ports with TLS stay as they are written; missing for none. */
  readonly closed?: ReadonlySet<string>;
}

/**
 * Pure but for `samples`, which it calls. Tolerates whatever shape the objects have. A Service that
 * nothing names stays as it is.
 */
export function localEndpoints(
  resources: Resources,
  options: LocalEndpointOptions,
): LocalEndpoints {
  const problems: Problem[] = [];
  const standIns = new Map<string, StandIn>();
  const named = namedServices(resources, options);
  const services = [
    ...resources.services,
    ...mappedOnly(resources, named, options.mappings, problems),
  ];
  const slices = new Map<string, EndpointSlice[]>();
  const endpointSlices: EndpointSlice[] = [];
  for (const slice of resources.endpointSlices) {
    const key = serviceOf(slice);
    if (key === null) endpointSlices.push(slice);
    else if (slices.has(key)) slices.get(key)!.push(slice);
    else slices.set(key, [slice]);
  }
  const changed = services.map((service) => {
    const key = keyOf(service);
    if (!named.has(key)) return service;
    const local = new LocalService(service, slices.get(key) ?? [], options);
    slices.delete(key);
    endpointSlices.push(...local.slices);
    problems.push(...local.problems);
    for (const [port, standIn] of local.standIns) standIns.set(`${key}:${port}`, standIn);
    return local.service;
  });
  // Slices of Services that are not there or that nothing names.
  endpointSlices.push(...[...slices.values()].flat());
  return { resources: { ...resources, services: changed, endpointSlices }, problems, standIns };
}

/** One Service with what stands behind each of its ports. */
class LocalService {
  readonly service: Service;
  readonly slices: EndpointSlice[] = [];
  readonly problems: Problem[] = [];
  readonly standIns = new Map<string, StandIn>();
  #ref: ObjectRef;
  #samples: (version: SampleVersion) => readonly Endpoint[];
  #firstPort: ServicePort | undefined;

  constructor(
    service: Service,
    slices: readonly EndpointSlice[],
    options: LocalEndpointOptions,
  ) {
    const { namespace, name } = service.metadata as { namespace: string; name: string };
    this.#ref = { kind: "Service", namespace, name };
    const isClosed = options.closed?.has(`${namespace}/${name}`) === true;
    const found = new Map<SampleVersion, readonly Endpoint[]>();
    this.#samples = (version) => {
      if (!found.has(version)) found.set(version, options.samples(namespace, name, version));
      return found.get(version)!;
    };

    const own = options.mappings.filter((map) => map.namespace === namespace && map.name === name);
    const annotated = this.#readAnnotation(service);
    const ports = portsOf(service);
    this.#firstPort = ports[0];
    const free: ServicePort[] = [];
    for (const [index, port] of ports.entries()) {
      const mapped = own.find((map) => map.port !== null && names(port, map.port)) ??
        own.find((map) => map.port === null);
      const target = mapped?.target ?? annotated.find((entry) => entry.takes(port))?.target;
      if (target === undefined) {
        free.push(port);
        continue;
      }
      const kind = mapped === undefined ? "annotation" : "map";
      const source = kind === "map" ? "--map" : "annotation";
      this.#stand(port, { kind, text: `${target.text} (${source})` });
      const ready = target.endpoints.map((endpoint) => ({ endpoint, conditions: { ready: true } }));
      this.#addSlices(`dev-${name}-${index}`, [port], ready);
    }
    for (const map of own) {
      if (map.port !== null && !ports.some((port) => names(port, map.port!))) {
        this.problems.push(this.#unknownPort(map, ports));
      }
    }
    if (service.spec?.type === "ExternalName") {
      this.service = free.length < ports.length ? asClusterIP(service) : service;
    } else if (slices.length > 0) {
      const replaced = this.#replaceAddresses(slices, free);
      this.service = isClosed ? service : withPlainPorts(service, replaced);
    } else {
      for (const port of free) this.#stand(port, { kind: "sample", text: SAMPLE });
      const conditions = { ready: true };
      for (const [version, ports] of byVersion(free)) {
        const endpoints = this.#samples(version).map((endpoint) => ({ endpoint, conditions }));
        this.#addSlices(`dev-${name}-sample${SUFFIX[version]}`, ports, endpoints);
      }
      this.service = isClosed ? service : withPlainPorts(service, new Set(free));
    }
  }

  /**
   * Keeps which endpoints there are and how they are, and puts sample backends in the place of those
   * that are elsewhere. Returns the ports that have such a one.
   */
  #replaceAddresses(
    slices: readonly EndpointSlice[],
    free: readonly ServicePort[],
  ): Set<ServicePort> {
    const replaced = new Set<ServicePort>();
    let turn = 0;
    for (const slice of slices) {
      const { endpoints } = slice;
      if (!Array.isArray(endpoints) || !Array.isArray(slice.ports) || endpoints.length === 0) {
        this.slices.push(slice);
        continue;
      }
      const ports = slice.ports.filter((port) => free.some((own) => samePort(own, port)));
      const served = free.filter((port) => ports.some((other) => samePort(port, other)));
      const elsewhere = endpoints.filter((endpoint) =>
        isElsewhere(endpoint) && isAllowed(endpoint)
      );
      const here = endpoints.filter((endpoint) => !isElsewhere(endpoint));
      if (here.length > 0) {
        this.slices.push({ ...slice, endpoints: here, ports });
      }
      if (elsewhere.length === 0 || served.length === 0) continue;
      for (const [version, ports] of byVersion(served)) {
        const samples = this.#samples(version);
        const local = elsewhere.map(({ conditions }, i) => ({
          endpoint: samples[(turn + i) % samples.length],
          conditions,
        }));
        this.#addSlices(`${slice.metadata?.name ?? "dev"}${SUFFIX[version]}`, ports, local);
      }
      turn += elsewhere.length;
      for (const port of served) replaced.add(port);
    }
    for (const port of replaced) this.#stand(port, { kind: "slices", text: SAMPLE });
    return replaced;
  }

  /** One slice for each endpoint, since the ports of a slice are those of all its endpoints. */
  #addSlices(
    name: string,
    ports: readonly ServicePort[],
    endpoints: readonly { endpoint: Endpoint; conditions: SliceEndpoint["conditions"] }[],
  ): void {
    for (const [index, { endpoint, conditions }] of endpoints.entries()) {
      this.slices.push({
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: {
          name: `${name}-${index}`,
          namespace: this.#ref.namespace,
          labels: { [SERVICE_LABEL]: this.#ref.name },
        },
        addressType: isIP(endpoint.address) === 6 ? "IPv6" : "IPv4",
        endpoints: [{ addresses: [endpoint.address], conditions }],
        ports: ports.map((port) => ({ name: port.name, port: endpoint.port, protocol: "TCP" })),
      });
    }
  }

  #stand(port: ServicePort, standIn: StandIn): void {
    for (const name of [asScalar(port.port), asText(port.name)]) {
      if (name !== null) this.standIns.set(name, standIn);
    }
    if (port === this.#firstPort) this.standIns.set(FIRST_PORT, standIn);
  }

  /** `HOST:PORT` for all ports, or `PORTNAME=HOST:PORT,…`. */
  #readAnnotation(
    service: Service,
  ): { readonly target: Target; takes(port: ServicePort): boolean }[] {
    const text = annotated(service);
    if (text === undefined || text === null) return [];
    const refuse = (message: string, remedy: string) => {
      this.problems.push({
        object: this.#ref,
        field: `metadata.annotations["${ENDPOINT_ANNOTATION}"]`,
        reason: "AnnotationInvalid",
        message: `${message}, so a sample backend is used`,
        remedy,
        severity: "error",
      });
    };
    const written = asScalar(text);
    if (written === null) {
      refuse(`the value is ${describe(text)}, not text`, WRITE_ENDPOINT);
      return [];
    }
    const ports = portsOf(service);
    const entries = [];
    for (const part of written.split(",")) {
      const equals = part.indexOf("=");
      const port = equals === -1 ? null : part.slice(0, equals).trim();
      const target = parseTarget(part.slice(equals + 1));
      if (target === null) {
        refuse(`${quote(part.trim())} is not where a program listens`, WRITE_ENDPOINT);
      } else if (!target.endpoints.every(({ address }) => isLoopback(address))) {
        const { namespace, name } = this.#ref;
        refuse(
          `${target.text} is not on this machine, and a file must not make it dial elsewhere`,
          `Give it on the command line: --map ${namespace}/${name}=${target.text}`,
        );
      } else if (port !== null && !ports.some((own) => names(own, port))) {
        refuse(
          `the Service has no port ${shortened(port, MAX_SHOWN)}`,
          `Name one of ${listPorts(ports)}`,
        );
      } else {
        entries.push({
          target,
          takes: (own: ServicePort) => port === null || names(own, port),
        });
      }
    }
    return entries;
  }

  #unknownPort(map: ServiceMapping, ports: readonly ServicePort[]): Problem {
    return {
      object: this.#ref,
      field: "spec.ports",
      reason: "MappingUnused",
      message: `--map ${map.text} names port ${map.port}, which the Service does not have`,
      remedy: `Name one of ${listPorts(ports)}`,
      severity: "error",
    };
  }
}

/** The ports by which Ingresses, HTTPRoutes and the process name each Service, by `<namespace>/<name>`. */
type NamedServices = ReadonlyMap<string, ReadonlySet<number | string>>;

/** Well-formed backends only. */
function namedServices(
  resources: Resources,
  { defaultBackend, mappings, configMap = null, samplesAuthenticate }: LocalEndpointOptions,
): NamedServices {
  const named = new Map<string, Set<number | string>>();
  const add = (namespace: string, name: string, port: number | string) => {
    const key = `${namespace}/${name}`;
    named.set(key, (named.get(key) ?? new Set()).add(port));
  };
  if (defaultBackend !== null) {
    add(defaultBackend.namespace, defaultBackend.name, defaultBackend.port);
  }
  for (const { metadata, spec } of resources.ingresses) {
    const paths = listOf<IngressRule>(spec?.rules)
      .flatMap((rule) => listOf<HttpIngressPath>(rule?.http?.paths));
    for (const backend of [spec?.defaultBackend, ...paths.map((path) => path?.backend)]) {
      const service = backend?.service;
      const port = service?.port?.number ?? service?.port?.name;
      const written = typeof port === "number" ? port : asText(port);
      if (typeof service?.name !== "string" || written === null) continue;
      add(metadata?.namespace ?? "default", service.name, written);
    }
    const errors = new NginxAnnotations(metadata?.annotations, spec)
      .valueOf(RESPONSES, "default-backend");
    if (errors === null) continue;
    const key = `${metadata?.namespace ?? "default"}/${errors.name}`;
    const service = resources.services.find((each) => keyOf(each) === key);
    const [first] = service === undefined ? [] : portsOf(service);
    if (first?.port !== undefined) named.set(key, (named.get(key) ?? new Set()).add(first.port));
  }
  for (const { namespace, name, port } of backendsOfRoutes(resources)) add(namespace, name, port);
  const placed = new Set([
    ...mappings.map(({ namespace, name }) => `${namespace}/${name}`),
    ...resources.services.filter((service) => annotated(service) !== undefined).map(keyOf),
  ]);
  for (const { namespace, name, port } of authenticatorsOf(resources, configMap)) {
    // A sample backend would admit everybody.
    const isPlaced = placed.has(`${namespace}/${name}`);
    if (isPlaced || samplesAuthenticate === true) add(namespace, name, port);
  }
  return named;
}

/** The Services that authenticate requests, as far as URLs name them without variables. */
export function authenticatorsOf(
  { ingresses, configMaps }: Pick<Resources, "ingresses" | "configMaps">,
  configMap: ConfigMapName | null,
): readonly { readonly namespace: string; readonly name: string; readonly port: number }[] {
  const own = ingresses.map(({ metadata, spec }) =>
    new NginxAnnotations(metadata?.annotations, spec).textOf("auth-url")
  );
  const ofAll = configMaps?.find(({ metadata }) =>
    configMap !== null && metadata?.namespace === configMap.namespace &&
    metadata?.name === configMap.name
  )?.data?.["global-auth-url"];
  return [...own, ofAll].flatMap((text) =>
    typeof text === "string" ? serviceOfAuthUrl(text.trim()) ?? [] : []
  );
}

function annotated({ metadata }: Service): unknown {
  return metadata?.annotations?.[ENDPOINT_ANNOTATION];
}

/**
 * Services that only `--map` knows: a folder may hold the Ingresses and not the Services, and who
 * says where a Service is need not write it down as well. They have the ports that Ingresses name.
 */
function mappedOnly(
  resources: Resources,
  named: NamedServices,
  mappings: readonly ServiceMapping[],
  problems: Problem[],
): Service[] {
  const known = new Set(resources.services.map(keyOf));
  const services: Service[] = [];
  for (const { namespace, name, text } of mappings) {
    const key = `${namespace}/${name}`;
    const ports = named.get(key);
    if (ports === undefined) {
      problems.push({
        object: { kind: "Service", namespace, name },
        field: "",
        reason: "MappingUnused",
        message: `--map ${text} names a Service that no Ingress or HTTPRoute sends anything to`,
        remedy: "Correct its namespace or name",
        severity: "warning",
      });
    } else if (!known.has(key)) {
      known.add(key);
      services.push({ metadata: { namespace, name }, spec: { ports: inventPorts(ports) } });
    }
  }
  return services;
}

function inventPorts(named: ReadonlySet<number | string>): ServicePort[] {
  let next = 50_000;
  return [...named].map((port) => {
    if (typeof port === "number") return { name: `port-${port}`, port };
    // A Service port has a number as well; any that nobody names will do.
    while (named.has(next)) next++;
    return { name: port, port: next++ };
  });
}

/** What the table says of a port without a program of the user's. */
const SAMPLE = "sample backend";

/** EndpointSlices for different versions have different names. */
const SUFFIX: Readonly<Record<SampleVersion, string>> = { "HTTP/1.1": "", "HTTP/2": "-http2" };

/** A Service with addresses in place of one that stands for a DNS name. */
function asClusterIP(service: Service): Service {
  const { type: _type, externalName: _name, ...spec } = service.spec ?? {};
  return { ...service, spec };
}

function isElsewhere(endpoint: SliceEndpoint | null): endpoint is SliceEndpoint {
  const addresses = listOf<unknown>(endpoint?.addresses);
  return addresses.length > 0 &&
    addresses.every((address) => typeof address === "string" && !isLoopback(address));
}

/** Whether a cluster would send requests there: nothing is in the place of the others. */
function isAllowed({ addresses }: SliceEndpoint): boolean {
  return listOf<unknown>(addresses).some((address) =>
    typeof address === "string" && (isIP(address) === 0 || reservedAddress(address) === null)
  );
}

function keyOf(service: Service): string {
  return `${service.metadata?.namespace}/${service.metadata?.name}`;
}

function serviceOf(slice: EndpointSlice): string | null {
  const name: unknown = slice.metadata?.labels?.[SERVICE_LABEL];
  return typeof name === "string" ? `${slice.metadata?.namespace}/${name}` : null;
}

function names(port: ServicePort, text: string): boolean {
  return port?.name === text || asScalar(port?.port) === text;
}

function samePort(
  own: ServicePort,
  other: { readonly name?: string | null } | null | undefined,
): boolean {
  return (own?.name ?? "") === (other?.name ?? "");
}

function portsOf(service: Service): readonly ServicePort[] {
  return listOf<ServicePort | null>(service.spec?.ports)
    .filter((port) => typeof port === "object" && port !== null);
}

function listPorts(ports: readonly ServicePort[]): string {
  const all = ports.flatMap(({ name, port }) => asText(name) ?? asScalar(port) ?? []);
  return all.length === 0 ? "its ports (it has none)" : all.join(", ");
}

function listOf<T>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value : [];
}
