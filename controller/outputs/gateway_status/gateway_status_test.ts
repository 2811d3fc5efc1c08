import { SETTINGS } from "../../../tests/support/gateway_plan.ts";
import { readInfrastructure } from "../../translate/gateway/objects/infrastructure.ts";
import { deepEqual, equal, ok } from "node:assert/strict";
import { falseCondition, trueCondition } from "../../translate/gateway/objects/condition.ts";
import { HTTP_ROUTE } from "../../translate/gateway/objects/listener.ts";
import { gatewayChange, type WantedGateway } from "./gateway_status.ts";

const NOW = Date.parse("2026-02-02T00:00:00Z");
const programmed = trueCondition("Programmed");

/** @param routes By name of the listener, in order. */
function wanted(routes: Readonly<Record<string, number>>, generation = 1): WantedGateway {
  const ref = { kind: "Gateway", namespace: "apps", name: "web" };
  return {
    status: {
      identity: { ref, key: "apps/web", label: "Gateway apps/web", createdAt: 0 },
      uid: "u1",
      infrastructure: readInfrastructure({}),
      address: "own",
      service: SETTINGS,
      ...{ generation, className: "pingress", ports: [] },
      conditions: [trueCondition("Accepted")],
      listeners: Object.entries(routes).map(([name, attachedRoutes]) => ({
        ...{ name, attachedRoutes },
        supportedKinds: [HTTP_ROUTE],
        conditions: [trueCondition("Accepted"), trueCondition("ResolvedRefs")],
      })),
    },
    address: { addresses: [{ type: "IPAddress", value: "203.0.113.1" }], fault: null },
    attachedListenerSets: null,
    programmed: {
      gateway: programmed,
      listeners: new Map(Object.keys(routes).map((name) => [name, programmed])),
    },
  };
}

const written = (value: WantedGateway, standing: unknown = undefined) =>
  gatewayChange(standing, value, NOW)?.fields;

type Listener = { name: string; conditions: { type: string; observedGeneration: number }[] };
const listenersOf = (fields: ReturnType<typeof written>) => fields?.listeners as Listener[];

Deno.test("a Gateway shows its addresses, and each listener with kinds, count and conditions", () => {
  const stamp = { observedGeneration: 1, lastTransitionTime: "2026-02-02T00:00:00Z" };
  const condition = (type: string) => ({ ...trueCondition(type), ...stamp });
  deepEqual(written(wanted({ http: 2 })), {
    conditions: [condition("Accepted"), condition("Programmed")],
    addresses: [{ type: "IPAddress", value: "203.0.113.1" }],
    listeners: [{
      name: "http",
      supportedKinds: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute" }],
      attachedRoutes: 2,
      conditions: [condition("Accepted"), condition("Programmed"), condition("ResolvedRefs")],
    }],
  });
});

Deno.test("where there are ListenerSets, a Gateway shows that none is attached", () => {
  const [without, none] = [null, 0].map((attachedListenerSets) =>
    written({ ...wanted({ http: 2 }), attachedListenerSets })
  );
  deepEqual([without && "attachedListenerSets" in without, none?.attachedListenerSets], [false, 0]);
});

Deno.test("an equal status of a Gateway is not written", () => {
  const standing = written(wanted({ http: 2 }));
  equal(gatewayChange(standing, wanted({ http: 2 }), NOW + 60_000), null);
});

Deno.test("listeners are those of the spec, in its order", () => {
  const standing = written(wanted({ a: 0, b: 0, c: 0 }));
  const fields = written(wanted({ c: 0, a: 0, d: 0 }), standing);
  deepEqual(Object.keys(fields!), ["listeners"]);
  deepEqual(listenersOf(fields).map(({ name }) => name), ["c", "a", "d"]);
});

Deno.test("a change of a count alone is told from every other", () => {
  const standing = written(wanted({ a: 1, b: 1 }));
  const isCountOnly = (value: WantedGateway) => gatewayChange(standing, value, NOW)?.isCountOnly;
  equal(isCountOnly(wanted({ a: 1, b: 2 })), true);
  equal(isCountOnly(wanted({ a: 1, b: 2 }, 2)), false);
  equal(isCountOnly(wanted({ a: 1, c: 1 })), false);
  equal(isCountOnly({ ...wanted({ a: 2, b: 1 }), address: { addresses: [], fault: null } }), false);
  equal(gatewayChange(undefined, wanted({}), NOW)?.isCountOnly, false);
});

Deno.test("while a generation is on its way, Programmed keeps the one that it is about", () => {
  const standing = written(wanted({ a: 0 }));
  const underWay = {
    ...wanted({ a: 0, b: 0 }, 2),
    programmed: { gateway: null, listeners: new Map([["a", null], ["b", null]]) },
  };
  const fields = written(underWay, standing);
  const generations = (conditions: unknown) =>
    (conditions as Listener["conditions"]).map((each) => [each.type, each.observedGeneration]);
  deepEqual(generations(fields?.conditions), [["Accepted", 2], ["Programmed", 1]]);
  const [a, b] = listenersOf(fields);
  deepEqual(generations(a.conditions), [["Accepted", 2], ["Programmed", 1], ["ResolvedRefs", 2]]);
  deepEqual(generations(b.conditions), [["Accepted", 2], ["ResolvedRefs", 2]]);
});

Deno.test("addresses stay while they are not known, and go when none can be used", () => {
  const standing = written(wanted({ a: 0 }));
  equal(written({ ...wanted({ a: 0 }), address: null }, standing), undefined);
  const fault = { reason: "AddressNotUsable" as const, message: "taken" };
  const fields = written({ ...wanted({ a: 0 }), address: { addresses: [], fault } }, standing);
  deepEqual(fields, { addresses: [] });
});

Deno.test("OverlappingTLSConfig is removed from a listener when it overlaps with none any more", () => {
  const overlap = trueCondition("OverlappingTLSConfig", "OverlappingHostnames", "another one");
  const before = wanted({ https: 0 });
  const [listener] = before.status.listeners;
  const conditions = [...listener.conditions, overlap];
  const overlapping = { ...before.status, listeners: [{ ...listener, conditions }] };
  const typesOf = (fields: ReturnType<typeof written>) =>
    listenersOf(fields)[0].conditions.map(({ type }) => type);
  const standing = written({ ...before, status: overlapping });
  deepEqual(typesOf(standing), ["Accepted", "Programmed", "ResolvedRefs", overlap.type]);
  deepEqual(typesOf(written(before, standing)), ["Accepted", "Programmed", "ResolvedRefs"]);
});

Deno.test("a Gateway of 64 listeners in conflict has a status of 128 KiB at most", () => {
  const names = Array.from({ length: 64 }, (_, i) => `${i}`.padEnd(253, "x"));
  const value = wanted(Object.fromEntries(names.map((name) => [name, 0])));
  const [accepted, conflicted] = ["Accepted", "Conflicted"].map((type) =>
    falseCondition(type, "HostnameConflict", `the listeners ${names.slice(0, 5).join(", ")}`)
  );
  const listeners = value.status.listeners.map((listener) => ({
    ...listener,
    conditions: [accepted, trueCondition("ResolvedRefs"), conflicted],
  }));
  const fields = written({ ...value, status: { ...value.status, listeners } });
  const bytes = new TextEncoder().encode(JSON.stringify(fields)).length;
  ok(bytes < 128 << 10, `${bytes} bytes`);
});
