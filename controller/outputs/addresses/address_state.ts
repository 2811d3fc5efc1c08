/**
 * The addresses under which a Gateway can be reached. In: its plan, and its Service as the API server has it.
 * Out: what its status is to show, all or nothing, and what is still missing.
 */
import { isIP } from "node:net";
import { asList, asText, fieldOf } from "../../base/json.ts";
import type { KubeObject } from "../../kube/types.ts";
import { serviceName } from "./names.ts";
import type {
  AddressFault,
  GatewayAddress,
  GatewayAddressPlan,
  GatewayAddressState,
} from "./plan.ts";
import type { GatewayPort } from "../../translate/gateway/gateway_translation.ts";
import { requestedFields } from "./requested_addresses.ts";

/**
 * @param service Null where there is none, or none that is the Gateway's.
 * @param refusal Why the last write failed; null where it did not.
 */
export function addressState(
  plan: GatewayAddressPlan,
  service: KubeObject | null,
  refusal: AddressFault | null,
): GatewayAddressState {
  if (plan.service === null) {
    return {
      addresses: service === null ? [] : shownAddresses(service),
      fault: UNUSABLE_PARAMETERS,
    };
  }
  const requested = requestedFields(plan.addresses, plan.service.type);
  if (!requested.ok) return { addresses: [], fault: requested.fault };
  if (refusal?.reason === "AddressNotUsable") return { addresses: [], fault: refusal };
  if (service === null) return { addresses: [], fault: refusal ?? missingService(plan) };
  const addresses = shownAddresses(service);
  const fault = refusal ?? addressFault(service, addresses, requested.values) ??
    portsFault(plan, service);
  return { addresses: fault?.reason === "AddressNotUsable" ? [] : addresses, fault };
}

/** Ports of a Service of ours. */
export function portsOf(service: KubeObject): readonly GatewayPort[] {
  return (asList(fieldOf(fieldOf(service, "spec"), "ports")) ?? []).flatMap((entry) => {
    const port = fieldOf(entry, "port");
    const containerPort = fieldOf(entry, "targetPort");
    return typeof port === "number" && typeof containerPort === "number"
      ? [{ port, containerPort }]
      : [];
  });
}

function shownAddresses(service: KubeObject): readonly GatewayAddress[] {
  const spec = fieldOf(service, "spec");
  if (fieldOf(spec, "type") !== "LoadBalancer") {
    return (asList(fieldOf(spec, "clusterIPs")) ?? []).flatMap((ip) => ipAddress(ip));
  }
  const ingress = fieldOf(fieldOf(fieldOf(service, "status"), "loadBalancer"), "ingress");
  return (asList(ingress) ?? []).flatMap((entry): GatewayAddress[] => {
    const hostname = asText(fieldOf(entry, "hostname"));
    const ip = ipAddress(fieldOf(entry, "ip"));
    return ip.length > 0 || hostname === null ? ip : [{ type: "Hostname", value: hostname }];
  });
}

function ipAddress(value: unknown): GatewayAddress[] {
  return typeof value === "string" && isIP(value) !== 0 ? [{ type: "IPAddress", value }] : [];
}

function addressFault(
  service: KubeObject,
  addresses: readonly GatewayAddress[],
  requested: readonly string[],
): AddressFault | null {
  const { namespace, name } = service.metadata;
  if (addresses.length === 0) {
    const isBalanced = fieldOf(fieldOf(service, "spec"), "type") === "LoadBalancer";
    return {
      reason: "AddressNotAssigned",
      message: isBalanced
        ? `no load balancer has assigned an address to Service ${namespace}/${name} yet. Where the cluster ` +
          "has none, write serviceType ClusterIP into the parameters of the Gateway or its class, or " +
          "start the controller with --service-type ClusterIP."
        : `Service ${namespace}/${name} has no address yet.`,
    };
  }
  const missing = requested.filter((ip) => !addresses.some(({ value }) => value === ip));
  if (missing.length === 0) return null;
  const has = addresses.map(({ value }) => value).join(", ");
  return {
    reason: "AddressNotUsable",
    message: `spec.addresses: Service ${namespace}/${name} has the address ${has} in place of ` +
      `${missing.join(", ")}. Write an address that the load balancer can assign, or none.`,
  };
}

function portsFault({ ports }: GatewayAddressPlan, service: KubeObject): AddressFault | null {
  if (ports === null) return null;
  if (ports.length === 0) return NO_PORT;
  const there = new Map(portsOf(service).map(({ port, containerPort }) => [port, containerPort]));
  const missing = ports.filter(({ port, containerPort }) => there.get(port) !== containerPort);
  if (missing.length === 0) return null;
  const { namespace, name } = service.metadata;
  return {
    reason: "Pending",
    message: `Service ${namespace}/${name} is to get ` +
      `${missing.length === 1 ? "port" : "the ports"} ${
        missing.map(({ port }) => port).join(", ")
      }.`,
  };
}

function missingService({ gateway, ports }: GatewayAddressPlan): AddressFault {
  if (ports === null || ports.length === 0) return NO_PORT;
  return {
    reason: "Pending",
    message: `Service ${gateway.namespace}/${serviceName(gateway)} is to be created.`,
  };
}

/** The condition Accepted says which, and why. */
const UNUSABLE_PARAMETERS: AddressFault = {
  reason: "Invalid",
  message: "the parameters of the Gateway or its class cannot be used.",
};

const NO_PORT: AddressFault = {
  reason: "Pending",
  message: "no port of a listener is open in all proxies yet.",
};
