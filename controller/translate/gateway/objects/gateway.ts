/**
 * Gateways. In: an object of unknown shape whose class is ours. Out: its listeners, and what is wrong with it
 * by itself: conflicts of listeners, and fields that are not supported.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#gateway
 */
import { asList, asText, fieldOf, isAbsent, quote, showSome } from "../../../base/json.ts";
import { type Identity, readIdentity } from "../../../base/identity.ts";
import { describeExcess, type Excess, excessOf } from "../../../kube/excess.ts";
import { GATEWAYS } from "../../../kube/types.ts";
import { type Condition, falseCondition } from "./condition.ts";
import { generationOf } from "./generation.ts";
import { type Infrastructure, readInfrastructure } from "./infrastructure.ts";
import { type ListenerModel, readListener } from "./listener.ts";

export interface GatewayModel {
  readonly identity: Identity;
  /** "" in a folder, where there is none. */
  readonly uid: string;
  readonly generation: number;
  readonly infrastructure: Infrastructure;
  readonly className: string;
  readonly listeners: readonly ListenerModel[];
  /** By name of the listener, why it is in conflict with another one. */
  readonly conflicts: ReadonlyMap<string, Conflict>;
  /** Why the Gateway is not accepted, whatever its listeners and parameters; null where it is. */
  readonly refusal: Condition | null;
  /** Why none of its HTTPS listeners is served; null where they are. */
  readonly httpsRefusal: Condition | null;
}

export interface Conflict {
  readonly reason: "ProtocolConflict" | "HostnameConflict";
  readonly message: string;
  /** As in `Condition`. */
  readonly ofSharedAddress?: true;
}

/** Null for an object without a name or a class. */
export function readGateway(object: unknown): GatewayModel | null {
  const identity = readIdentity(GATEWAYS.kind, object);
  const spec = fieldOf(object, "spec");
  const className = fieldOf(spec, "gatewayClassName");
  if (identity === null || typeof className !== "string") return null;
  const { namespace } = identity.ref;
  const excess = excessOf(object);
  const listeners = (asList(fieldOf(spec, "listeners")) ?? []).flatMap((listener, i) =>
    readListener(listener, `spec.listeners[${i}]`, namespace) ?? []
  );
  return {
    ...{ identity, className, listeners },
    uid: asText(fieldOf(fieldOf(object, "metadata"), "uid")) ?? "",
    infrastructure: readInfrastructure(spec),
    generation: generationOf(object),
    conflicts: conflictsOf(listeners),
    refusal: excess === null ? refusalOf(spec) : tooLarge(excess),
    httpsRefusal: isAbsent(fieldOf(fieldOf(spec, "tls"), "frontend")) ? null : falseCondition(
      "Accepted",
      "UnsupportedValue",
      "spec.tls.frontend is not supported, so HTTPS listeners are not served. Remove it.",
    ),
  };
}

function tooLarge(excess: Excess): Condition {
  const [what, remedy] = describeExcess(excess);
  return falseCondition("Accepted", "ObjectTooLarge", `${what}, so it is not served. ${remedy}.`);
}

const ADDRESS_TYPES: ReadonlySet<unknown> = new Set(["IPAddress", "Hostname"]);

function refusalOf(spec: unknown): Condition | null {
  for (const [i, address] of (asList(fieldOf(spec, "addresses")) ?? []).entries()) {
    const type = fieldOf(address, "type");
    if (isAbsent(type) || ADDRESS_TYPES.has(type)) continue;
    return falseCondition(
      "Accepted",
      "UnsupportedAddress",
      `spec.addresses[${i}]: type ${quote(type)} is not supported. Write IPAddress or Hostname.`,
    );
  }
  return null;
}

/**
 * Listeners of one object have no order of age, so that all sides of a conflict lose. A port has one
 * protocol, and on a port each hostname stands once. Ports of UDP are others than those of TCP.
 */
function conflictsOf(listeners: readonly ListenerModel[]): ReadonlyMap<string, Conflict> {
  const conflicts = new Map<string, Conflict>();
  const byPort = Map.groupBy(
    listeners,
    ({ port, protocol }) => `${port}${protocol === "UDP" ? "/udp" : ""}`,
  );
  for (const sharing of byPort.values()) {
    const [{ port }] = sharing;
    const protocols = [...new Set(sharing.map(({ protocol }) => protocol))];
    // Each listener has the message: with the names of all, it would grow with their square.
    const shownProtocols = protocols.length === 2 ? protocols.join(" and ") : showSome(protocols);
    // HTTPS and TLS may share a port: the SNI selects the listener of both.
    if (new Set(protocols.map((each) => each === "HTTPS" ? "TLS" : each)).size > 1) {
      for (const { name, field } of sharing) {
        conflicts.set(name, {
          reason: "ProtocolConflict",
          message:
            `${field}: listeners on port ${port} have the protocols ${shownProtocols}. Write one ` +
            "protocol, or use another port.",
        });
      }
      continue;
    }
    const named = sharing.filter(({ isHostnameInvalid }) => !isHostnameInvalid);
    for (const [hostname, same] of Map.groupBy(named, (listener) => listener.hostname)) {
      if (same.length === 1) continue;
      const names = showSome(same.map(({ name }) => name));
      for (const { name, field } of same) {
        conflicts.set(name, {
          reason: "HostnameConflict",
          message: `${field}: the listeners ${names} on port ${port} have the same hostname` +
            `${hostname === null ? "" : ` ${hostname}`}. Remove all but one.`,
        });
      }
    }
  }
  return conflicts;
}
