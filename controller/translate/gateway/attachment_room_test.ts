/** How many pairs of hosts and listeners are put together for the routes of one namespace. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import type { GatewayObject } from "../../kube/resources.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "../bounds/namespace_bounds.ts";
import { translate, type Translation } from "../translator.ts";
import { AttachmentRoom } from "./attachment_room.ts";
import { GatewayReaders } from "./gateway_readers.ts";
import { DEFAULT_GATEWAY_OPTIONS } from "./gateway_translator.ts";
import { GATEWAY_CONTROLLER } from "./objects/gateway_class.ts";

function gateway(name: string, listeners: number): GatewayObject {
  return {
    metadata: { namespace: "a", name },
    spec: {
      gatewayClassName: "pingress",
      listeners: Array.from({ length: listeners }, (_, i) => ({
        ...{ name: `l${i}`, port: 8000 + i, protocol: "HTTP" },
      })),
    },
  };
}

function route(n: number, parents: readonly string[], hosts: number): GatewayObject {
  const creationTimestamp = new Date(Date.UTC(2025, 0, 1) + n * 1000).toISOString();
  return {
    metadata: { namespace: "a", name: `r${n}`, creationTimestamp },
    spec: {
      parentRefs: parents.map((name) => ({ name })),
      hostnames: Array.from({ length: hosts }, (_, i) => `h${i}.r${n}.test`),
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
  };
}

function translated(
  gateways: readonly GatewayObject[],
  httpRoutes: readonly GatewayObject[],
  published: Snapshot | null = null,
): Translation {
  return translate(
    {
      ...{ ingresses: [], ingressClasses: [], endpointSlices: [], secrets: [] },
      services: [{ metadata: { namespace: "a", name: "web" }, spec: { ports: [{ port: 80 }] } }],
      gatewayClasses: [{
        metadata: { name: "pingress" },
        spec: { controllerName: GATEWAY_CONTROLLER },
      }],
      ...{ gateways, httpRoutes },
    },
    published,
    {
      ...{ ...TRANSLATE_OPTIONS, controllerNames: [], gateway: DEFAULT_GATEWAY_OPTIONS },
      namespaceBounds: { ...DEFAULT_NAMESPACE_BOUNDS, hostBytes: 4000 },
    },
    () => 0,
  );
}

/** By HTTPRoute, the reason of Accepted and the pairs of hosts and listeners in the snapshot. */
function outcomes({ gateway, snapshot }: Translation): Record<string, [string, number]> {
  return Object.fromEntries(gateway!.routes.map(({ identity: { ref }, parents }) => {
    const [{ reason }] = parents[0].conditions;
    const pairs = snapshot.routes.filter(({ origin }) => origin.name === ref.name)
      .reduce((sum, { listeners = [] }) => sum + listeners.length, 0);
    return [ref.name, [reason, pairs]];
  }));
}

Deno.test("AttachmentRoom puts no more pairs together than a namespace may have twice", () => {
  const readers = new GatewayReaders();
  const { listeners } = readers.gateway(gateway("g", 64))!;
  const ids = new Map(listeners.map((listener) => [listener, `a/g/${listener.name}`]));
  const room = new AttachmentRoom({ hostBytes: 40_000 }, null, ids);
  const routes = readers.routes(Array.from({ length: 50 }, (_, n) => route(n, ["g"], 16)));
  const placed = routes.map((each) =>
    room.place(each, new Map(listeners.map((listener) => [listener, each.hostnames])))
  );
  // A pair has at least 16 bytes.
  ok(room.pairs <= 2 * 40_000 / 16, `${room.pairs} pairs`);
  const whole = placed.filter(({ unplacedBytes }) => unplacedBytes === 0);
  equal(room.pairs, whole.length * 64 * 16);
  equal(placed.indexOf(whole.at(-1)!), whole.length - 1);
  ok(placed.slice(whole.length).every(({ hosts }) => hosts.size === 0));
});

Deno.test("a route that attaches to too much is refused, and smaller ones are served", () => {
  const gateways = Array.from({ length: 8 }, (_, i) => gateway(`g${i}`, 16));
  const names = gateways.map(({ metadata }) => metadata!.name!);
  const result = translated(gateways, [
    route(0, names, 16),
    route(1, ["g0"], 1),
    route(2, names, 16),
  ]);
  deepEqual(outcomes(result), {
    r0: ["NamespaceLimitExceeded", 0],
    r1: ["Accepted", 16],
    r2: ["NamespaceLimitExceeded", 0],
  });
  const [{ message }] = result.gateway!.routes[0].parents[0].conditions;
  match(message, /^with this route namespace a would have more than 4000 bytes of .* not served\./);
  deepEqual(
    result.gateway!.gateways.map(({ listeners: [{ attachedRoutes }] }) => attachedRoutes),
    [1, 0, 0, 0, 0, 0, 0, 0],
  );
});

Deno.test("a route that grows to attach to too much keeps what was published of it", () => {
  const gateways = Array.from({ length: 8 }, (_, i) => gateway(`g${i}`, 16));
  const names = gateways.map(({ metadata }) => metadata!.name!);
  const first = translated(gateways, [route(0, ["g0"], 2)]);
  deepEqual(outcomes(first), { r0: ["Accepted", 32] });
  const grown = [route(0, names, 16), route(1, ["g0"], 1)];
  const second = translated(gateways, grown, first.snapshot);
  deepEqual(outcomes(second), { r0: ["NamespaceLimitExceeded", 32], r1: ["Accepted", 16] });
  deepEqual(outcomes(translated(gateways, grown, second.snapshot)), outcomes(second));
  const third = translated(gateways, [route(0, ["g0"], 2)], second.snapshot);
  deepEqual(third.snapshot.routes, first.snapshot.routes);
});

Deno.test("a listener that is not accepted counts its routes, which are not served on it", () => {
  const listeners = [8000, 8001, 8001].map((port, i) => ({
    name: `l${i}`,
    port,
    protocol: "HTTP",
  }));
  const conflicted = { ...gateway("g", 0), spec: { gatewayClassName: "pingress", listeners } };
  const result = translated([conflicted], [route(0, ["g", "g"], 3)]);
  deepEqual(outcomes(result), { r0: ["Accepted", 3] });
  deepEqual(
    result.gateway!.gateways[0].listeners.map(({ attachedRoutes }) => attachedRoutes),
    [1, 1, 1],
  );
});
