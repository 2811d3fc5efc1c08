/** `spec.addresses` of Gateways. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { RequestedAddress } from "../../translate/gateway/objects/infrastructure.ts";
import type { ServiceType } from "../../translate/gateway/objects/parameters.ts";
import { requestedFields } from "./requested_addresses.ts";

const ip = (value: string | null): RequestedAddress => ({ type: "IPAddress", value });
const host = (value: string | null): RequestedAddress => ({ type: "Hostname", value });

const USABLE: readonly [
  what: string,
  addresses: readonly RequestedAddress[],
  type: ServiceType,
  fields: unknown,
][] = [
  ["none", [], "LoadBalancer", {}],
  ["an address without a value is assigned", [ip(null)], "ClusterIP", {}],
  ["of a ClusterIP", [ip("10.96.0.7")], "ClusterIP", {
    clusterIP: "10.96.0.7",
    clusterIPs: ["10.96.0.7"],
  }],
  ["one of each family", [ip("10.96.0.7"), ip("fd00::7")], "ClusterIP", {
    clusterIP: "10.96.0.7",
    clusterIPs: ["10.96.0.7", "fd00::7"],
  }],
  ["of a NodePort", [ip("10.96.0.7")], "NodePort", {
    clusterIP: "10.96.0.7",
    clusterIPs: ["10.96.0.7"],
  }],
  ["of a load balancer", [ip("203.0.113.7")], "LoadBalancer", { loadBalancerIP: "203.0.113.7" }],
  ["a value beside one to assign", [ip("203.0.113.7"), ip(null)], "LoadBalancer", {
    loadBalancerIP: "203.0.113.7",
  }],
];

for (const [what, addresses, type, fields] of USABLE) {
  Deno.test(`addresses that are usable: ${what}`, () => {
    const requested = requestedFields(addresses, type);
    deepEqual(requested.ok && requested.fields, fields);
  });
}

const UNUSABLE: readonly [
  what: string,
  addresses: readonly RequestedAddress[],
  type: ServiceType,
  says: RegExp,
][] = [
  [
    "a host name",
    [host("a.example.com")],
    "ClusterIP",
    /^spec\.addresses: Hostname a\.example\.com/,
  ],
  ["a host name to assign", [host(null)], "LoadBalancer", /an address of type Hostname/],
  ["all or nothing", [host("a.example.com"), ip("10.96.0.7")], "ClusterIP", /Hostname/],
  ["two of one family", [ip("10.96.0.7"), ip("10.96.0.8")], "ClusterIP", /10\.96\.0\.7 and 10\.96/],
  ["no address", [ip("10.96.0")], "ClusterIP", /"10\.96\.0" is no IP address/],
  ["an address with a zone", [ip("fe80::1%eth0")], "ClusterIP", /is no IP address/],
  ["too many to assign", [ip(null), ip(null), ip(null)], "ClusterIP", /not 3/],
  ["two of a load balancer", [ip("203.0.113.7"), ip("2001:db8::7")], "LoadBalancer", /one address/],
];

for (const [what, addresses, type, says] of UNUSABLE) {
  Deno.test(`addresses that are not usable: ${what}`, () => {
    const requested = requestedFields(addresses, type);
    equal(requested.ok, false);
    if (requested.ok) return;
    equal(requested.fault.reason, "AddressNotUsable");
    match(requested.fault.message, says);
    match(requested.fault.message, /\. (?:Write|Remove|Correct) .*\.$/);
  });
}
