import assert from "node:assert/strict";
import { MAX_ADDRESSES, textOf } from "./address.ts";
import {
  type AddressNode,
  type AddressPod,
  type AddressService,
  type AddressSource,
  publishedAddresses,
} from "./published_addresses.ts";

const NOTHING: AddressSource = {
  publishAddresses: [],
  backend: "HostPort",
  service: null,
  pods: [],
  nodes: [],
};

function shown(source: Partial<AddressSource>): readonly string[] | null {
  return publishedAddresses({ ...NOTHING, ...source })?.map(textOf) ?? null;
}

function pod(nodeName: string, fields: Partial<AddressPod["status"]> = {}): AddressPod {
  return {
    metadata: { labels: { "app.kubernetes.io/name": "pingress-proxy-server" } },
    spec: { nodeName },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      ...fields,
    },
  };
}

function node(name: string, addresses: Readonly<Record<string, string | string[]>>): AddressNode {
  return {
    metadata: { name },
    status: {
      addresses: Object.entries(addresses).flatMap(([type, value]) =>
        [value].flat().map((address) => ({ type, address }))
      ),
    },
  };
}

const service = (spec: AddressService["spec"], ingress: unknown[] = []) =>
  ({ spec, status: { loadBalancer: { ingress } } }) as AddressService;

Deno.test("--publish-address wins, sorted and without duplicates, IP addresses apart from host names", () => {
  const addresses = publishedAddresses({
    ...NOTHING,
    publishAddresses: ["LB.example.com.", "203.0.113.9", "2001:db8::1", "203.0.113.9"],
    pods: [pod("a")],
    nodes: [node("a", { ExternalIP: "198.51.100.1" })],
  });
  assert.deepEqual(addresses, [
    { ip: "2001:db8::1" },
    { ip: "203.0.113.9" },
    { hostname: "lb.example.com" },
  ]);
});

const SERVICES: [what: string, service: AddressService | null, shown: string[] | null][] = [
  ["a Service that is not there yet", null, null],
  ["a load balancer that is not ready", service({ type: "LoadBalancer" }), []],
  [
    "a load balancer with addresses and names",
    service({ type: "LoadBalancer" }, [
      { ip: "203.0.113.2" },
      { ip: "203.0.113.1", ports: [{ port: 80, protocol: "TCP" }], ipMode: "VIP" },
      { hostname: "a.elb.example.com" },
    ]),
    ["203.0.113.1", "203.0.113.2", "a.elb.example.com"],
  ],
  [
    "a load balancer with both an address and a name",
    service({ type: "LoadBalancer" }, [{ ip: "203.0.113.2", hostname: "x.example.com" }]),
    ["203.0.113.2"],
  ],
  [
    "a load balancer and external addresses",
    service({ type: "LoadBalancer", externalIPs: ["198.51.100.1", "203.0.113.2"] }, [
      { ip: "203.0.113.2" },
    ]),
    ["198.51.100.1", "203.0.113.2"],
  ],
  [
    "node ports with external addresses",
    service({ type: "NodePort", clusterIP: "10.0.0.1", externalIPs: ["198.51.100.1"] }),
    ["198.51.100.1"],
  ],
  ["node ports without", service({ type: "NodePort", clusterIP: "10.0.0.1" }), ["10.0.0.1"]],
  [
    "a cluster address of both families",
    service({ type: "ClusterIP", clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1", "fd00::1"] }),
    ["10.0.0.1", "fd00::1"],
  ],
  ["no cluster address", service({ type: "ClusterIP", clusterIP: "None" }), []],
  [
    "what the API server would refuse",
    service({ type: "LoadBalancer" }, [{ ip: "fe80::1%eth0" }, { hostname: "*.x.com" }, {}]),
    [],
  ],
];

/** For the name of a test. */
function show(addresses: string[] | null): string {
  return addresses === null ? "what they showed" : addresses.join(" and ") || "nothing";
}

for (const [what, given, expected] of SERVICES) {
  Deno.test(`behind a Service, Ingresses have ${show(expected)}: ${what}`, () => {
    assert.deepEqual(shown({ backend: "LoadBalancer", service: given }), expected);
  });
}

const NODES = [
  node("outside", { InternalIP: "10.0.0.1", ExternalIP: ["203.0.113.1", "2001:db8::1"] }),
  node("inside", { Hostname: "inside", InternalIP: ["10.0.0.2", "fd00::2"] }),
  node("named", { Hostname: "named", ExternalDNS: "named.example.com" }),
];

const PODS: [what: string, pods: AddressPod[], shown: string[] | null][] = [
  ["no proxy", [], null],
  ["external addresses before internal ones", [pod("outside")], ["2001:db8::1", "203.0.113.1"]],
  ["internal ones of both families", [pod("inside")], ["10.0.0.2", "fd00::2"]],
  [
    "several nodes, one with two proxies",
    [pod("inside"), pod("outside"), pod("inside")],
    ["10.0.0.2", "2001:db8::1", "203.0.113.1", "fd00::2"],
  ],
  ["a node with names alone", [pod("named")], null],
  [
    "a node that cannot be read",
    [pod("hidden", { hostIP: "10.0.0.9", hostIPs: [{ ip: "10.0.0.9" }, { ip: "fd00::9" }] })],
    ["10.0.0.9", "fd00::9"],
  ],
  ["the same of an old API server", [pod("hidden", { hostIP: "10.0.0.9" })], ["10.0.0.9"]],
  [
    "a proxy that is not ready",
    [pod("inside", { conditions: [{ type: "Ready", status: "False" }] })],
    null,
  ],
  ["a proxy that has not started", [pod("inside", { phase: "Pending", conditions: [] })], null],
  [
    "a proxy that is ending",
    [{ ...pod("inside"), metadata: { ...pod("inside").metadata, deletionTimestamp: "now" } }],
    null,
  ],
  [
    "a pod of somebody else",
    [{ ...pod("inside"), metadata: { labels: { "app.kubernetes.io/name": "db" } } }],
    null,
  ],
];

for (const [what, pods, expected] of PODS) {
  Deno.test(`on nodes, Ingresses have ${show(expected)}: ${what}`, () => {
    assert.deepEqual(shown({ pods, nodes: NODES }), expected);
  });
}

Deno.test("with very many nodes the same few are published, in any order of the nodes", () => {
  const nodes = Array.from({ length: 300 }, (_, i) => node(`n${i}`, { InternalIP: `10.0.0.${i}` }));
  const pods = nodes.map(({ metadata }) => pod(metadata.name));
  const one = shown({ pods, nodes });
  assert.equal(one?.length, MAX_ADDRESSES);
  assert.deepEqual(shown({ pods: pods.toReversed(), nodes: nodes.toReversed() }), one);
});
