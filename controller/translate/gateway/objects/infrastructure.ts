/**
 * What a Gateway asks of its address. In: its `spec`, of unknown shape. Out: the addresses that it names, and
 * labels and annotations of the objects that are made for it.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#gatewayinfrastructure
 */
import { asList, asObject, asText, fieldOf } from "../../../base/json.ts";

/** One of `spec.addresses`. */
export interface RequestedAddress {
  /** `IPAddress` or `Hostname`; others are refused before. */
  readonly type: string;
  /** Null where any may be assigned. */
  readonly value: string | null;
}

export interface Infrastructure {
  readonly addresses: readonly RequestedAddress[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Of unknown shape; undefined for none. */
  readonly parametersRef: unknown;
}

export function readInfrastructure(spec: unknown): Infrastructure {
  const infrastructure = fieldOf(spec, "infrastructure");
  return {
    addresses: (asList(fieldOf(spec, "addresses")) ?? []).map((address) => ({
      type: asText(fieldOf(address, "type")) ?? "IPAddress",
      value: asText(fieldOf(address, "value")),
    })),
    labels: textsOf(fieldOf(infrastructure, "labels")),
    annotations: textsOf(fieldOf(infrastructure, "annotations")),
    parametersRef: fieldOf(infrastructure, "parametersRef"),
  };
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(asObject(value) ?? {}).filter((pair): pair is [string, string] =>
      typeof pair[1] === "string"
    ),
  );
}
