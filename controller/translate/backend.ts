/**
 * From the Service port that an Ingress names to an upstream. In: Services and EndpointSlices. Out:
 * the action of a route, with the upstream that it forwards to, or 503 and a problem.
 */
import type { AnswerAction, ForwardAction, Upstream } from "../../shared/snapshot.ts";
import { readAppProtocol } from "./app_protocol.ts";
import type { BackendRef } from "./backend_ref.ts";
import { EndpointIndex } from "./endpoints.ts";
import { compareText, type Identified, indexObjects, keyOf } from "./identity.ts";
import { asList, asPort, fieldOf, quote, showSome } from "./json.ts";
import { isDnsName } from "./names.ts";
import type { ProblemList, Report } from "./problems.ts";
import type { Resources } from "../resources.ts";
import type { UpstreamTlsReader } from "./upstream_tls.ts";

export interface BackendOptions {
  readonly allowExternalName: boolean;
  readonly allowLocalEndpoints: boolean;
}

/** What a route does with its requests. */
export interface Resolution {
  readonly action: ForwardAction | AnswerAction;
  /** Whether requests reach a backend now, as far as the objects say. */
  readonly isServed: boolean;
}

export class BackendResolver {
  #services: ReadonlyMap<string, Identified>;
  #endpoints: EndpointIndex;
  #tls: UpstreamTlsReader;
  #options: BackendOptions;
  /** By upstream id. */
  #found = new Map<string, Finding>();

  constructor(
    resources: Resources,
    tls: UpstreamTlsReader,
    options: BackendOptions,
    problems: ProblemList,
  ) {
    this.#tls = tls;
    this.#services = indexObjects("Service", resources.services, problems);
    this.#endpoints = new EndpointIndex(resources.endpointSlices, options, problems);
    this.#options = options;
  }

  /** Problems go to `report`, the object that names the backend. */
  resolve(backend: BackendRef, namespace: string, report: Report): Resolution {
    if (backend.kind === "broken") return { action: backend.action, isServed: false };
    const id = `${keyOf({ namespace, name: backend.name })}:${backend.port}`;
    let finding = this.#found.get(id);
    if (finding === undefined) {
      finding = this.#find(id, namespace, backend.name, backend.port);
      this.#found.set(id, finding);
    }
    const { upstream, fault } = finding;
    if (fault !== null) {
      const field = fault.at === "port" ? backend.portField : backend.nameField;
      report.error(field, {
        reason: fault.reason,
        message: `${fault.message}, so requests get ${fault.status}`,
        remedy: fault.remedy,
      });
    }
    return upstream === null
      ? {
        action: { kind: "answer", status: fault.status, reason: fault.message },
        isServed: false,
      }
      : { action: { kind: "forward", upstream: id }, isServed: fault === null };
  }

  /** Every upstream that a resolved route forwards to, sorted by id. */
  upstreams(): Upstream[] {
    return [...this.#found.values()]
      .flatMap(({ upstream }) => upstream ?? [])
      .sort((a, b) => compareText(a.id, b.id));
  }

  #find(id: string, namespace: string, name: string, port: number | string): Finding {
    const service = this.#services.get(keyOf({ namespace, name }));
    if (service === undefined) {
      return missing("name", {
        reason: "ServiceNotFound",
        message: `there is no Service ${name} in namespace ${namespace}`,
        remedy: "Create the Service, or write the name of one that exists",
      });
    }
    const spec = fieldOf(service.object, "spec");
    const ports = readPorts(spec);
    const chosen = ports.find((each) =>
      typeof port === "number" ? each.port === port : each.name === port
    );
    if (fieldOf(spec, "type") === "ExternalName") {
      return this.#findExternal(id, service, fieldOf(spec, "externalName"), port, ports, chosen);
    }
    if (chosen === undefined) {
      return missing("port", {
        reason: "ServicePortNotFound",
        message: `Service ${name} has no TCP port ${port}`,
        remedy: ports.length === 0
          ? "Add the port to the Service"
          : `Write one of its ports: ${showSome(ports.map(showPort))}`,
      });
    }
    const refusal = unspoken(name, chosen);
    if (refusal !== null) return refusal;
    const { endpoints, absence } = this.#endpoints.find(
      namespace,
      name,
      chosen.name,
      chosen.targetPort ?? chosen.port,
    );
    const security = this.#secure(id, service, ports, chosen.protocol, null);
    if (security === null) return insecure(name);
    return {
      upstream: {
        id,
        protocol: chosen.protocol,
        addresses: { kind: "endpoints", endpoints },
        ...security,
      },
      fault: endpoints.length > 0 ? null : {
        at: "name",
        status: 503,
        reason: "EndpointsMissing",
        message: `Service ${name} has no endpoints for port ${port} (${absence})`,
        remedy: `See whether its pods are ready: kubectl -n ${namespace} get endpointslices ` +
          `-l kubernetes.io/service-name=${name}`,
      },
    };
  }

  #findExternal(
    id: string,
    object: Identified,
    written: unknown,
    port: number | string,
    ports: readonly PortModel[],
    chosen: PortModel | undefined,
  ): Finding {
    const service = object.identity.ref.name;
    if (!this.#options.allowExternalName) {
      return missing("name", {
        reason: "ExternalNameNotAllowed",
        message: `Service ${service} is of type ExternalName, which is not allowed here`,
        remedy: "Use another type of Service, or start with --allow-external-name",
      });
    }
    const name = typeof written === "string" ? written.toLowerCase().replace(/\.$/, "") : "";
    // A numeric last label makes it an address to many resolvers, in whichever notation.
    if (!isDnsName(name) || /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(name)) {
      return missing("name", {
        reason: "ExternalNameInvalid",
        message: `externalName ${quote(written)} of Service ${service} is not a DNS name`,
        remedy: "Write a name such as api.example.com; for addresses write an EndpointSlice",
      });
    }
    if (!this.#options.allowLocalEndpoints && isLocalName(name)) {
      return missing("name", {
        reason: "ExternalNameNotAllowed",
        message: `externalName ${name} of Service ${service} leads to the proxy itself`,
        remedy: "Write the name of another machine",
      });
    }
    // Such a Service need not list its ports: a number is then the port to connect to.
    const target = chosen?.targetPort ?? chosen?.port ?? port;
    if (typeof target !== "number") {
      return missing("port", {
        reason: "ServicePortNotFound",
        message: `Service ${service} has no TCP port ${port}`,
        remedy: "Add the port to the Service, or write its number",
      });
    }
    const refusal = unspoken(service, chosen);
    if (refusal !== null) return refusal;
    const protocol = chosen?.protocol ?? "http";
    const security = this.#secure(id, object, ports, protocol, name);
    if (security === null) return insecure(service);
    return {
      upstream: { id, protocol, addresses: { kind: "dns", name, port: target }, ...security },
      fault: null,
    };
  }

  /** Null where it cannot be done as written. */
  #secure(
    id: string,
    service: Identified,
    ports: readonly PortModel[],
    protocol: Upstream["protocol"],
    externalName: string | null,
  ): Pick<Upstream, "tls"> | null {
    if (protocol !== "https") {
      // Settings are the Service's, and may be meant for another of its ports.
      if (ports.every((port) => port.protocol !== "https")) this.#tls.reportUnused(service);
      return {};
    }
    const tls = this.#tls.read({ id, service, externalName });
    return tls === null ? null : { tls };
  }
}

type Finding =
  | { readonly upstream: Upstream; readonly fault: Fault | null }
  | { readonly upstream: null; readonly fault: Fault };

interface Fault {
  /** Which field of the backend is to blame. */
  readonly at: "name" | "port";
  readonly status: AnswerAction["status"];
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
}

interface PortModel {
  /** "" for a port without one. */
  readonly name: string;
  readonly port: number;
  readonly targetPort: number | null;
  readonly protocol: Upstream["protocol"];
  /** What `protocol` was read from. */
  readonly appProtocol: unknown;
}

function missing(at: Fault["at"], fault: Omit<Fault, "at" | "status">): Finding {
  return { upstream: null, fault: { at, status: 503, ...fault } };
}

/** Null where the port's protocol is spoken; another in its place would fail in obscure ways. */
function unspoken(service: string, port: PortModel | undefined): Finding | null {
  if (port?.protocol !== "h2c" && port?.protocol !== "h2") return null;
  return {
    upstream: null,
    fault: {
      at: "port",
      status: 500,
      reason: "BackendProtocolNotSupported",
      message: `port ${port.port} of Service ${service} has appProtocol ` +
        `${quote(port.appProtocol)}, but HTTP/2 is not spoken to backends yet`,
      remedy: "If the backend speaks HTTP/1.1 too, take appProtocol off the Service's port",
    },
  };
}

/** The Service's own problem says what of its annotations is wrong. */
function insecure(service: string): Finding {
  return missing("name", {
    reason: "UpstreamTlsUnusable",
    message: `Service ${service} cannot be spoken to by TLS as its annotations ask for`,
    remedy: `Mend the annotations; what is wrong is reported for Service ${service}`,
  });
}

/** The TCP ports of a Service; those that cannot be read are not there. */
function readPorts(spec: unknown): PortModel[] {
  const ports: PortModel[] = [];
  for (const entry of asList(fieldOf(spec, "ports")) ?? []) {
    const protocol = fieldOf(entry, "protocol") ?? "TCP";
    const port = asPort(fieldOf(entry, "port"));
    if (protocol !== "TCP" || port === null) continue;
    const name = fieldOf(entry, "name");
    ports.push({
      name: typeof name === "string" ? name : "",
      port,
      targetPort: asPort(fieldOf(entry, "targetPort")),
      protocol: readAppProtocol(fieldOf(entry, "appProtocol")),
      appProtocol: fieldOf(entry, "appProtocol"),
    });
  }
  return ports;
}

function showPort({ name, port }: PortModel): string {
  return name === "" ? `${port}` : `${port} (${quote(name).slice(1, -1)})`;
}

/** RFC 6761 §6.3. Names that resolve to local addresses are refused where they are dialled. */
function isLocalName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}
