/**
 * The status of GatewayClasses. In: the status that stands, the translation of a class, and the CRDs. Out: the fields to write.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#gatewayclassstatus
 */
import { fieldOf, quote } from "../../base/json.ts";
import { BUNDLE_VERSION, type Crd } from "../../kube/types.ts";
import {
  type Condition,
  falseCondition,
  trueCondition,
} from "../../translate/gateway/objects/condition.ts";
import type { GatewayClassStatus } from "../../translate/gateway/gateway_parameters.ts";
import { mergeConditions } from "./conditions.ts";
import { featuresWith } from "./features.ts";
import { type StatusChange, statusChange } from "./status_change.ts";

export interface WantedClass {
  readonly model: GatewayClassStatus;
  /** Of Gateway API; null where they are not known. */
  readonly crds: readonly Crd[] | null;
  /** Whether the CRD has `supportedFeatures`: older bundles drop it. */
  readonly showsFeatures: boolean;
}

/** Bundles whose fields are known here: 1.0 to 1.6. */
const SUPPORTED = /^v1\.[0-6]\.\d+(?:-.+)?$/;

/** @param version Such as `v1.6.3`. */
export function isSupportedBundle(version: string): boolean {
  return SUPPORTED.test(version);
}

export function classChange(
  standing: unknown,
  { model, crds, showsFeatures }: WantedClass,
  now: number,
): StatusChange | null {
  const { generation, conditions, address } = model;
  const isAccepted = conditions.some(({ type, status }) =>
    type === "Accepted" && status === "True"
  );
  const wanted = [...conditions, supportedVersion(crds)];
  return statusChange(standing, {
    conditions: mergeConditions(fieldOf(standing, "conditions"), { wanted, generation, now }),
    ...(showsFeatures && isAccepted
      ? { supportedFeatures: featuresWith(address).map((name) => ({ name })) }
      : {}),
  });
}

/** Of a CRD whose version cannot be told, or may change at once: then nothing is claimed. */
function supportedVersion(crds: readonly Crd[] | null): Condition {
  // The right to read CRDs is not needed to serve.
  if (crds === null || crds.length === 0) {
    return unknownVersion(
      "The version of the CRDs of Gateway API is not known, as the controller does not read CRDs.",
    );
  }
  const terminating = crds.find(({ isTerminating }) => isTerminating);
  if (terminating !== undefined) {
    return unknownVersion(
      `CustomResourceDefinition ${terminating.name} is being deleted, with its objects.`,
    );
  }
  const unsupported = crds.find(({ bundleVersion }) =>
    bundleVersion !== null && !isSupportedBundle(bundleVersion)
  );
  if (unsupported !== undefined) {
    const { name, bundleVersion } = unsupported;
    return falseCondition(
      "SupportedVersion",
      "UnsupportedVersion",
      `CustomResourceDefinition ${name} is of bundle ${
        quote(bundleVersion)
      }, and v1.0 to v1.6 are ` +
        "supported. Fields of other versions are served as far as they are known.",
    );
  }
  const unnamed = crds.find(({ bundleVersion }) => bundleVersion === null);
  return unnamed === undefined ? trueCondition("SupportedVersion") : unknownVersion(
    `CustomResourceDefinition ${unnamed.name} has no annotation ${BUNDLE_VERSION}. Install the CRDs ` +
      "of a release of Gateway API.",
  );
}

function unknownVersion(message: string): Condition {
  return { type: "SupportedVersion", status: "Unknown", reason: "Pending", message };
}
