/**
 * What a port of a Service comes to. In: the Service, the port that an Ingress names, EndpointSlices.
 * Out: the upstream but for its securing, which depends on Secrets and on what was published; or
 * why there is none, with the problems of the Service and its slices.
 */
import { isLocalName, looksLikeAddress } from "../model/external_name.ts";
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import type { ForwardAction, ReplyAction, Upstream } from "../../../shared/snapshot/types.ts";
import { appProtocolMistake } from "./app_protocol.ts";
import { readBalance } from "./balance.ts";
import { type EndpointOptions, readEndpoints, type Slice } from "./endpoints.ts";
import { readGrpcWeb } from "./grpc_web.ts";
import { fieldOf, quote, showSome } from "../../base/json.ts";
import { isDnsName } from "../../base/names.ts";
import type { Fault, Note } from "./fault.ts";
import type { ProblemList } from "../../base/problems.ts";
import { type PortModel, type ServiceModel, showPort } from "./service.ts";
import { reportUnusedTls } from "./upstream_tls.ts";
import { FIRST_PORT, upstreamId } from "../model/backend_ref.ts";

export interface BackendOptions extends EndpointOptions {
  readonly allowExternalName: boolean;
}

/** What a route does with its requests. */
export interface Resolution {
  readonly action: ForwardAction | ReplyAction;
  /** Whether requests reach a backend now, as far as the objects say. */
  readonly isServed: boolean;
  /** Nothing else of the route has an effect. */
  readonly isClosed?: true;
}

export type Finding = Reached | {
  readonly upstream: null;
  readonly fault: Fault;
  readonly resolution: Resolution;
};

export interface Reached {
  readonly upstream: Upstream;
  readonly fault: Fault | null;
  /** It serves, but worth a look for whoever names the backend. */
  readonly note: Note | null;
  readonly resolution: Resolution;
}

export type Plan =
  | { readonly kind: "settled"; readonly finding: Finding }
  /** The upstream is to be secured by TLS. */
  | {
    readonly kind: "secured";
    readonly upstream: Upstream;
    readonly fault: Fault | null;
    /** The name that a Service of type ExternalName stands for; else null. */
    readonly externalName: string | null;
  };

export interface PlanInputs {
  readonly service: ServiceModel;
  /** As the Ingress names it. */
  readonly port: number | string;
  /** The Service's port that it is; undefined where it has none such. */
  readonly chosen: PortModel | undefined;
  /** All of the Service, in the order of their names. */
  readonly slices: readonly Slice[];
  /** Of endpoints; Infinity for none. */
  readonly limit: number;
}

/** Decided by the inputs alone: never by the clock, other objects or what was published. */
export function planBackend(
  inputs: PlanInputs,
  options: BackendOptions,
  problems: ProblemList,
): Plan {
  const { service, port, chosen, slices } = inputs;
  if (fieldOf(fieldOf(service.object, "spec"), "type") === "ExternalName") {
    return planExternal(inputs, options, problems);
  }
  const { namespace, name } = service.identity.ref;
  if (chosen === undefined) {
    return missing("port", {
      reason: "ServicePortNotFound",
      message: `Service ${name} has no TCP port${port === FIRST_PORT ? "" : ` ${port}`}`,
      remedy: service.ports.length === 0
        ? "Add the port to the Service"
        : `Write one of its ports: ${showSome(service.ports.map(showPort))}`,
    });
  }
  const { endpoints, absence } = readEndpoints(
    slices,
    chosen.name,
    chosen.targetPort ?? chosen.port,
    options,
    problems,
    inputs.limit,
  );
  return planReached(
    service,
    chosen,
    {
      id: upstreamId(namespace, name, port),
      protocol: chosen.protocol,
      addresses: { kind: "endpoints", endpoints },
    },
    endpoints.length > 0 ? null : {
      at: "name",
      status: 503,
      reason: "EndpointsMissing",
      message: `Service ${name} has no endpoints for port ${
        port === FIRST_PORT ? chosen.port : port
      } (${absence})`,
      remedy: `Check whether its pods are ready: kubectl -n ${namespace} get endpointslices ` +
        `-l kubernetes.io/service-name=${name}`,
    },
    null,
    problems,
  );
}

function planExternal(
  { service: model, port, chosen }: PlanInputs,
  options: BackendOptions,
  problems: ProblemList,
): Plan {
  const { namespace, name: service } = model.identity.ref;
  const written = fieldOf(fieldOf(model.object, "spec"), "externalName");
  if (!options.allowExternalName) {
    return missing("name", {
      reason: "ExternalNameNotAllowed",
      message: `Service ${service} is of type ExternalName, which is not allowed here`,
      remedy: "Use a Service with a selector or EndpointSlices, or start the controller with " +
        "--allow-external-name",
    });
  }
  const name = typeof written === "string" ? written.toLowerCase().replace(/\.$/, "") : "";
  if (!isDnsName(name) || looksLikeAddress(name)) {
    return missing("name", {
      reason: "ExternalNameInvalid",
      message: `externalName ${quote(written)} of Service ${service} is not a DNS name`,
      remedy: "Write a name such as api.example.com; for addresses write an EndpointSlice",
    });
  }
  if (!options.allowLocalEndpoints && isLocalName(name)) {
    return missing("name", {
      reason: "ExternalNameNotAllowed",
      message: `externalName ${name} of Service ${service} resolves to the proxy itself`,
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
  return planReached(
    model,
    chosen,
    {
      id: upstreamId(namespace, service, port),
      protocol: chosen?.protocol ?? "http",
      addresses: { kind: "dns", name, port: target },
    },
    null,
    name,
    problems,
  );
}

function planReached(
  service: ServiceModel,
  port: PortModel | undefined,
  plain: Upstream,
  fault: Fault | null,
  externalName: string | null,
  problems: ProblemList,
): Plan {
  const mistake = appProtocolMistake(port?.appProtocol);
  if (port !== undefined && mistake !== null) {
    problems.about(service.identity.ref).warning(port.appProtocolField, mistake);
  }
  const balance = readBalance(service, problems);
  const grpcWeb = readGrpcWeb(service, problems);
  const upstream = {
    ...plain,
    ...(balance === undefined ? {} : { balance }),
    ...(grpcWeb === undefined ? {} : { grpcWeb }),
  };
  if (isSecured(upstream.protocol)) return { kind: "secured", upstream, fault, externalName };
  // Settings are the Service's, and may be meant for another of its ports.
  if (!service.ports.some(({ protocol }) => isSecured(protocol))) {
    reportUnusedTls(service, problems);
  }
  return { kind: "settled", finding: reached(upstream, fault) };
}

/** Whether two plans for one port of one Service with the same options say the same. */
export function isSamePlan(a: Plan, b: Plan): boolean {
  const [before, now] = [a, b].map((plan) => plan.kind === "settled" ? plan.finding : plan);
  return a.kind === b.kind && before.fault?.message === now.fault?.message &&
    before.upstream !== null && now.upstream !== null &&
    isSamePart(before.upstream.addresses, now.upstream.addresses);
}

export function reached(
  upstream: Upstream,
  fault: Fault | null,
  note: Note | null = null,
): Reached {
  return {
    upstream,
    fault,
    note,
    resolution: {
      action: { kind: "forward", backends: [{ upstream: upstream.id }] },
      isServed: fault === null,
    },
  };
}

export function notReached(fault: Fault): Finding {
  const { status, message: reason } = fault;
  const resolution: Resolution = fault.closes === true
    ? { action: { kind: "reply", status, reason, closed: true }, isServed: false, isClosed: true }
    : { action: { kind: "reply", status, reason }, isServed: false };
  return { upstream: null, fault, resolution };
}

/** The Service's own problem says what of its annotations is wrong. */
export function insecure(service: string): Finding {
  return notReached({
    at: "name",
    status: 503,
    reason: "UpstreamTlsInvalid",
    message: `Service ${service} cannot be accessed over TLS as its annotations require`,
    remedy: `Correct the annotations; the problems are reported for Service ${service}`,
  });
}

function missing(at: Fault["at"], fault: Omit<Fault, "at" | "status">): Plan {
  return { kind: "settled", finding: notReached({ at, status: 503, ...fault }) };
}

/** Whether it is spoken over TLS. */
export function isSecured(protocol: Upstream["protocol"]): boolean {
  return protocol === "https" || protocol === "h2";
}
