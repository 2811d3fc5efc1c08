import { deepEqual, equal, match } from "node:assert/strict";
import type { GatewayAddress } from "./plan.ts";
import { sharedAddressState } from "./shared_address.ts";

const NODES: readonly GatewayAddress[] = [
  { type: "IPAddress", value: "192.0.2.7" },
  { type: "IPAddress", value: "2001:db8::7" },
];

Deno.test("a Gateway that shares the address of Ingresses shows all of it", () => {
  deepEqual(sharedAddressState([], NODES), { addresses: NODES, fault: null });
  const own = [{ type: "IPAddress", value: "192.0.2.7" }, { type: "IPAddress", value: null }];
  deepEqual(sharedAddressState(own, NODES), { addresses: NODES, fault: null });
});

Deno.test("addresses that are not those of Ingresses cannot be had, and then none is shown", () => {
  const state = sharedAddressState([{ type: "IPAddress", value: "192.0.2.8" }], NODES);
  deepEqual(state?.addresses, []);
  equal(state?.fault?.reason, "AddressNotUsable");
  match(state?.fault?.message ?? "", /is not 192\.0\.2\.8\. Remove spec\.addresses, or write/);
});

Deno.test("addresses that are not known leave those that are shown, and none is a fault", () => {
  equal(sharedAddressState([], null), null);
  equal(sharedAddressState([], [])?.fault?.reason, "AddressNotAssigned");
});
