/**
 * What it means for a Gateway that the API server does not take its Service or a slice. In: the object and the
 * error. Out: the fault with the API server's words and the remedy; null where we gave up ourselves.
 */
import { NOT_LEADING } from "../../kube/fenced_client.ts";
import { ABORTED, type ApiError } from "../../kube/types.ts";
import { printable } from "../workload/refusal.ts";
import type { AddressFault } from "./plan.ts";

/** The first that fits. */
const CAUSES: readonly (readonly [
  code: number,
  text: RegExp,
  reason: AddressFault["reason"],
  remedy: string,
])[] = [
  [403, /exceeded quota|failed quota/, "Invalid", "Raise the quota of the namespace"],
  [
    403,
    /being terminated/,
    "Pending",
    "Wait until the namespace is deleted, and create it again",
  ],
  ...[403, 422].map((code) =>
    [
      code,
      /ValidatingAdmissionPolicy 'pingress-gateway-/,
      "Invalid",
      "Write class and ports into the variables of the policies pingress-gateway-services and -slices",
    ] as const
  ),
  ...[403, 422].map((code) =>
    [
      code,
      /ValidatingAdmissionPolicy |admission webhook|denied the request/,
      "Invalid",
      "Change what that admission requires, or exempt the object from it",
    ] as const
  ),
  [
    403,
    /endpoint address \S+ is not allowed/,
    "Invalid",
    "Grant create on endpointslices/restricted to the controller's service account (OpenShift)",
  ],
  [
    403,
    /cannot (?:create|patch|delete) resource/,
    "Invalid",
    "Give the controller's service account this right: overlays/gateway",
  ],
  [403, /./, "Invalid", "Change what forbids it"],
  [
    422,
    /spec\.(?:clusterIPs?|loadBalancerIP)\b/,
    "AddressNotUsable",
    "Write another address in spec.addresses, or none",
  ],
  [422, /./, "Invalid", "Correct what it names in spec.infrastructure or the parameters"],
  [400, /./, "Invalid", "Correct what it names in spec.infrastructure or the parameters"],
];

export interface Refusal extends AddressFault {
  /** It may pass by itself, such as a server that is away. */
  readonly isTransient: boolean;
}

/** @param kind Of the object. @param name `namespace/name`. */
export function refusalOf(kind: string, name: string, error: ApiError): Refusal | null {
  if (error.reason === NOT_LEADING || error.reason === ABORTED) return null;
  const said = `${kind} ${name} is rejected by the API server: ${printable(error.message)}`;
  const cause = CAUSES.find(([code, text]) => code === error.code && text.test(error.message));
  if (cause === undefined) {
    return { reason: "Pending", message: `${said}. It is retried.`, isTransient: true };
  }
  const [, , reason, remedy] = cause;
  return { reason, message: `${said}. ${remedy}.`, isTransient: false };
}

/**
 * The name that an object is to have is taken.
 * @param name `namespace/name`.
 * @param owner The Gateway that has it, as `namespace/name`; null for an object that is not ours.
 */
export function foreignFault(kind: string, name: string, owner: string | null): AddressFault {
  const whose = owner === null ? "is not of this controller" : `belongs to Gateway ${owner}`;
  return {
    reason: "Pending",
    message: `${kind} ${name} exists and ${whose}, so it is not changed. Delete or rename one.`,
  };
}
