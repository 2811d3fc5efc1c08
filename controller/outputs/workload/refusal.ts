/**
 * What it means that the API server does not take a part of the workload. In: the object and the
 * error. Out: a problem for people; null for what passes by itself, such as a server that is away.
 */
import type { ApiError } from "../../kube/types.ts";
import type { Problem } from "../../../shared/problem.ts";
import type { PlannedRef } from "./options.ts";

/** As much of the API server's words as fits an Event with the rest. */
const QUOTED = 600;

/** The first that fits. */
const CAUSES: readonly (readonly [code: number, text: RegExp, reason: string, remedy: string])[] = [
  ...[403, 422].map((code) =>
    [
      code,
      /ValidatingAdmissionPolicy /,
      "AdmissionRejected",
      "change --proxy-pod-template or --proxy-server-image as the policy requires, or change the policy " +
      "(pingress-controller-workloads is of overlays/admission)",
    ] as const
  ),
  [
    403,
    /exceeded quota|forbidden: failed quota/,
    "QuotaExceeded",
    "raise the quota of the namespace",
  ],
  [
    403,
    /admission webhook|denied the request/,
    "AdmissionRejected",
    "change what that admission requires by --proxy-pod-template, or exempt the namespace",
  ],
  [
    403,
    /being terminated/,
    "NamespaceTerminating",
    "wait until the namespace is deleted, and create it again",
  ],
  [
    403,
    /./,
    "NotPermitted",
    "give the controller's service account this right; manifests/ has the Role",
  ],
  [
    404,
    /namespaces? /,
    "NamespaceNotFound",
    "create the namespace, or give --namespace another one",
  ],
  [404, /./, "ApiMissing", "use Kubernetes 1.27 or newer"],
  [
    422,
    /immutable|may not change once set/,
    "ImmutableField",
    "delete the object; the controller creates it again",
  ],
  [
    500,
    /failed calling webhook/,
    "AdmissionUnavailable",
    "repair that webhook, or exempt the namespace from it",
  ],
];

/** What else is refused for good: 400 and 422 for what is no valid object. */
const INVALID =
  "correct --proxy-pod-template and the controller's other flags about proxies in the field named";

export function refusalProblem(object: PlannedRef, error: ApiError): Problem | null {
  const said = printable(error.message);
  const cause = CAUSES.find(([code, text]) => code === error.code && text.test(error.message));
  // 500 and this text is what server-side apply says to a field that the schema does not have.
  const isInvalid = error.code === 400 || error.code === 422 ||
    error.message.includes("field not declared in schema");
  if (cause === undefined && !isInvalid) return null;
  return {
    object,
    field: "",
    reason: cause?.[2] ?? "InvalidWorkload",
    message: `the API server rejects it, and it stays unchanged: ${said}`,
    remedy: cause?.[3] ?? INVALID,
    severity: "error",
  };
}

/** On one line, without control characters and the last full stop. */
export function printable(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, " ").trim().replace(/\.$/, "");
  return line.length > QUOTED ? `${line.slice(0, QUOTED)}…` : line;
}
