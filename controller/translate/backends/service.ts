/** Services. In: an object of unknown shape. Out: its identity and its TCP ports. */
import type { Upstream } from "../../../shared/snapshot/types.ts";
import { readAppProtocol } from "./app_protocol.ts";
import { type Identified, readIdentity } from "../../base/identity.ts";
import { asList, asPort, fieldOf, quote } from "../../base/json.ts";

export interface ServiceModel extends Identified {
  readonly ports: readonly PortModel[];
}

/** Null for one without an identity. */
export function readService(object: object): ServiceModel | null {
  const identity = readIdentity("Service", object);
  if (identity === null) return null;
  return { identity, object, ports: readPorts(fieldOf(object, "spec")) };
}

export interface PortModel {
  /** "" for a port without one. */
  readonly name: string;
  readonly port: number;
  readonly targetPort: number | null;
  readonly protocol: Upstream["protocol"];
  /** What `protocol` was read from. */
  readonly appProtocol: unknown;
  /** Where that stands in the Service. */
  readonly appProtocolField: string;
}

/** The TCP ports of a Service; those that cannot be read are not there. */
function readPorts(spec: unknown): PortModel[] {
  const ports: PortModel[] = [];
  for (const [index, entry] of (asList(fieldOf(spec, "ports")) ?? []).entries()) {
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
      appProtocolField: `spec.ports[${index}].appProtocol`,
    });
  }
  return ports;
}

export function showPort({ name, port }: PortModel): string {
  return name === "" ? `${port}` : `${port} (${quote(name).slice(1, -1)})`;
}
