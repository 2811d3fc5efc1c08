/**
 * The status of GatewayClasses. In: the status that stands, the translation of a class, and the version of
 * the CRDs. Out: the fields to write.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#gatewayclassstatus
 */
import { fieldOf } from "../../base/json.ts";
import {
  type Condition,
  falseCondition,
  trueCondition,
} from "../../translate/gateway/objects/condition.ts";
import type { GatewayClassStatus } from "../../translate/gateway/gateway_parameters.ts";
import { mergeConditions } from "./conditions.ts";
import { SUPPORTED_FEATURES } from "./features.ts";
import { type StatusChange, statusChange } from "./status_change.ts";

export interface WantedClass {
  readonly model: GatewayClassStatus;
  /** `gateway.networking.k8s.io/bundle-version` of the CRDs; null where it is not known. */
  readonly bundleVersion: string | null;
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
  { model, bundleVersion, showsFeatures }: WantedClass,
  now: number,
): StatusChange | null {
  const { generation, conditions } = model;
  const isAccepted = conditions.some(({ type, status }) =>
    type === "Accepted" && status === "True"
  );
  const wanted = [...conditions, supportedVersion(bundleVersion)];
  return statusChange(standing, {
    conditions: mergeConditions(fieldOf(standing, "conditions"), { wanted, generation, now }),
    ...(showsFeatures && isAccepted
      ? { supportedFeatures: SUPPORTED_FEATURES.map((name) => ({ name })) }
      : {}),
  });
}

/** The right to read CRDs is not needed to serve, so the version may be unknown: then nothing is claimed. */
function supportedVersion(bundleVersion: string | null): Condition {
  if (bundleVersion === null) {
    return {
      type: "SupportedVersion",
      status: "Unknown",
      reason: "Pending",
      message: "The version of the CRDs of Gateway API is not known, as the controller does not " +
        "read CRDs.",
    };
  }
  return isSupportedBundle(bundleVersion) ? trueCondition("SupportedVersion") : falseCondition(
    "SupportedVersion",
    "UnsupportedVersion",
    `the CRDs are of bundle ${bundleVersion}, and v1.0 to v1.6 are supported. Fields of other ` +
      "versions are served as far as they are known.",
  );
}
