/** What the status of a Gateway says where the API server takes no Service or slice. */
import { equal, match } from "node:assert/strict";
import { NOT_LEADING } from "../../kube/fenced_client.ts";
import { ABORTED } from "../../kube/types.ts";
import { refusalOf } from "./refusal.ts";

const REFUSALS: readonly [code: number, said: string, reason: string, remedy: RegExp][] = [
  [
    403,
    'services "web-pingress" is forbidden: exceeded quota: few, requested: services=1',
    "Invalid",
    /exceeded quota: few.*Raise the quota/,
  ],
  [
    403,
    'services "w" is forbidden: unable to create new content in namespace shop because it is being terminated',
    "Pending",
    /Wait until/,
  ],
  [
    422,
    "services \"w\" is forbidden: ValidatingAdmissionPolicy 'pingress-gateway-services' with binding 'x' denied request: y",
    "Invalid",
    /variables of the policies pingress-gateway-services/,
  ],
  [403, 'admission webhook "x" denied the request: no', "Invalid", /Change what that admission/],
  [
    403,
    'endpointslices "w" is forbidden: endpoint address 10.2.0.1 is not allowed',
    "Invalid",
    /endpointslices\/restricted/,
  ],
  [
    403,
    'services is forbidden: User "x" cannot create resource "services" in API group ""',
    "Invalid",
    /overlays\/gateway/,
  ],
  [
    422,
    'Service "w" is invalid: spec.clusterIPs: Invalid value: ["192.0.2.1"]: failed to allocate IP',
    "AddressNotUsable",
    /another address/,
  ],
  [
    422,
    'Service "w" is invalid: metadata.labels: Invalid value: "x y"',
    "Invalid",
    /infrastructure/,
  ],
  [503, "the server is away", "Pending", /is retried/],
  [0, "connection refused", "Pending", /is retried/],
];

for (const [code, message, reason, remedy] of REFUSALS) {
  Deno.test(`a refusal: ${message.slice(0, 60)}`, () => {
    const fault = refusalOf("Service", "shop/w", { code, reason: "", message, retryAfter: null });
    equal(fault?.reason, reason);
    match(fault?.message ?? "", remedy);
    match(fault?.message ?? "", /^Service shop\/w is rejected by the API server: .*\.$/);
  });
}

for (const reason of [NOT_LEADING, ABORTED]) {
  Deno.test(`a write that was given up says nothing: ${reason}`, () => {
    equal(refusalOf("Service", "shop/w", { code: 0, reason, message: "", retryAfter: null }), null);
  });
}
