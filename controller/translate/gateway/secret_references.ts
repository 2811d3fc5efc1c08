/**
 * Secrets that Gateways name. In: objects of Gateway API. Out: those of HTTPS listeners of our classes, where
 * grants permit them: no other Secret is read for a Gateway.
 */
import { isDnsName } from "../../base/names.ts";
import { type Identity, keyOf } from "../../base/identity.ts";
import type { Resources } from "../../kube/resources.ts";
import type { GatewayReaders } from "./gateway_readers.ts";
import { referrerOf } from "./gateway_status.ts";

export type GatewayLists = Pick<Resources, "gatewayClasses" | "gateways" | "referenceGrants">;

/** What one Gateway names. */
export interface GatewaySecrets {
  readonly gateway: Identity;
  /** As `namespace/name`. */
  readonly secrets: readonly string[];
}

/** Of those that name any. */
export function secretsOfGateways(
  { gatewayClasses, gateways, referenceGrants }: GatewayLists,
  readers: GatewayReaders,
): GatewaySecrets[] {
  if (gateways == null || gateways.length === 0) return [];
  const classes = readers.classes(gatewayClasses ?? []);
  const grants = readers.grants(referenceGrants ?? []);
  return gateways.flatMap((object) => {
    const gateway = readers.gateway(object);
    if (gateway === null || !classes.has(gateway.className)) return [];
    const from = referrerOf(gateway);
    const secrets = gateway.listeners.flatMap(({ certificates }) =>
      certificates.flatMap((reference) =>
        reference !== null && reference.group === "" && reference.kind === "Secret" &&
          isDnsName(reference.name) && grants.isPermitted(from, reference)
          ? keyOf(reference)
          : []
      )
    );
    return secrets.length === 0 ? [] : { gateway: gateway.identity, secrets };
  });
}
