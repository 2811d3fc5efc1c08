import { deepEqual } from "node:assert/strict";
import { parse } from "yaml";
import type { GatewayObject } from "../../controller/kube/resources.ts";
import { withAssumedObjects } from "./assumed_objects.ts";

const OVERLAY = new URL("../../overlays/gateway/gateway-class.yaml", import.meta.url);

Deno.test("a folder without a GatewayClass has the one of overlays/gateway", async () => {
  const installed = parse(await Deno.readTextFile(OVERLAY));
  const gateway: GatewayObject = { metadata: { name: "web" } };
  const { gatewayClasses } = withAssumedObjects({
    ...{ ingresses: [], ingressClasses: [], services: [], endpointSlices: [], secrets: [] },
    gateways: [gateway],
  });
  const { labels: _, ...metadata } = installed.metadata;
  deepEqual(gatewayClasses, [{ ...installed, metadata }]);
});
