/** Listeners of which several things are wrong, from objects on: what they say, and that none hides another. */
import assert from "node:assert/strict";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";
import { translationProblems } from "../../problems/gateway/condition_problems.ts";
import { DEFAULT_GATEWAY_OPTIONS, translate } from "../../translate/translator.ts";
import { programmedOf } from "./programmed.ts";

const CLASS = {
  metadata: { name: "pingress" },
  spec: { controllerName: "pingress.io/gateway-controller" },
};

/** A listener of HTTPS that allows GRPCRoutes too, which it does not serve. */
function translated(certificateRefs: readonly unknown[]) {
  const gateway = {
    metadata: { name: "web", namespace: "shop" },
    spec: {
      gatewayClassName: "pingress",
      listeners: [{
        ...{ name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs } },
        allowedRoutes: { kinds: [{ kind: "HTTPRoute" }, { kind: "GRPCRoute" }] },
      }],
    },
  };
  const { gateway: translation } = translate(
    {
      ...{ ingresses: [], ingressClasses: [], services: [], endpointSlices: [], secrets: [] },
      ...{ gatewayClasses: [CLASS], gateways: [gateway], httpRoutes: [], referenceGrants: [] },
    },
    null,
    { ...TRANSLATE_OPTIONS, gateway: DEFAULT_GATEWAY_OPTIONS },
    () => 0,
  );
  const [status] = translation!.gateways;
  const programmed = programmedOf({
    gateway: status,
    address: { addresses: [{ type: "IPAddress", value: "203.0.113.1" }], fault: null },
    progress: { kind: "everywhere" },
    isOverdue: false,
    obstacles: new Map(),
  });
  return { status, programmed, problems: translationProblems(translation!) };
}

for (
  const [what, certificateRefs, reason] of [
    ["is missing", [{ name: "tls" }], "InvalidCertificateRef"],
    ["may not be used", [{ name: "tls", namespace: "infra" }], "RefNotPermitted"],
    ["is not named", [], "InvalidCertificateRef"],
  ] as const
) {
  Deno.test(`a listener whose certificate ${what} is not programmed, whatever kinds of routes it allows`, () => {
    const { status, programmed, problems } = translated(certificateRefs);
    const [{ conditions }] = status.listeners;
    const resolved = conditions.find(({ type }) => type === "ResolvedRefs")!;
    assert.deepEqual([resolved.status, resolved.reason], ["False", reason]);
    assert.match(resolved.message, /certificateRefs.*allowedRoutes\.kinds has "GRPCRoute"/);
    assert.equal(programmed.listeners.get("https")?.status, "False");
    assert.equal(programmed.gateway?.reason, "ListenersNotValid");
    assert.deepEqual(problems.map(({ reason }) => reason), [reason, "InvalidRouteKinds"]);
  });
}
