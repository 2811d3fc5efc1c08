/**
 * Objects of Gateway API with many of one thing. In: how many. Out: the objects, and what they are translated to.
 */
import {
  type AddressSharing,
  type GatewayObjects,
  readGateways,
  translateGatewayApi,
} from "../../controller/translate/gateway/gateway_translation.ts";
import { configMapLookup } from "../../controller/translate/gateway/gateway_parameters.ts";
import { GatewayReaders } from "../../controller/translate/gateway/gateway_readers.ts";
import { DEFAULT_GATEWAY_OPTIONS } from "../../controller/translate/gateway/gateway_translator.ts";
import { RouteClaimants } from "../../controller/translate/gateway/route_claimants.ts";
import { NOT_FULL } from "../../controller/translate/bounds/cluster_bound.ts";
import { servicePorts } from "../../controller/translate/gateway/lookups.ts";
import type { AddressKind } from "../../controller/translate/gateway/objects/parameters.ts";
import { NamespaceReader } from "../../controller/translate/hosts/namespace_facts.ts";
import { OwnershipResolver } from "../../controller/translate/hosts/ownership.ts";
import { readService } from "../../controller/translate/backends/service.ts";
import type { Certificate, Snapshot } from "../../shared/snapshot/types.ts";
import { listOf } from "./tenant_objects.ts";

const CLASS = {
  metadata: { name: "pingress" },
  spec: { controllerName: "pingress.io/gateway-controller" },
};

export const SERVICE = readService({ metadata: { name: "x", namespace: "one" }, spec: {} })!;

const ALL = { namespaces: { from: "All" } };

function gatewayOf(listeners: readonly unknown[], name = "web") {
  return {
    metadata: { name, namespace: "one" },
    spec: { gatewayClassName: "pingress", listeners },
  };
}

function listener(i: number, more: object = {}) {
  return { name: `l-${i}`, port: 80, protocol: "HTTP", allowedRoutes: ALL, ...more };
}

function routeOf(spec: object, name = "web") {
  return {
    metadata: { name, namespace: "one" },
    spec: { parentRefs: [{ name: "web" }], rules: [{}], ...spec },
  };
}

function objects(part: Partial<GatewayObjects>): GatewayObjects {
  return {
    ...{ classes: [CLASS], gateways: [gatewayOf([listener(0)])], routes: [routeOf({})] },
    ...{ grants: [], backendTlsPolicies: [], listenerSets: [], ...part },
  };
}

export const OBJECTS: Readonly<Record<string, (count: number) => GatewayObjects>> = {
  "Gateways with parameters": (count) =>
    objects({
      gateways: listOf(count, (i) => ({
        metadata: { namespace: "one", name: `g-${i}` },
        spec: {
          gatewayClassName: "pingress",
          infrastructure: {
            parametersRef: { group: "", kind: "ConfigMap", name: `p-${i}` },
          },
        },
      })),
    }),
  "listeners": (count) =>
    objects({
      gateways: [gatewayOf(listOf(count, (i) => listener(i, { hostname: `h-${i}.test` })))],
    }),
  "listeners on ports of their own": (count) =>
    objects({ gateways: [gatewayOf(listOf(count, (i) => listener(i, { port: 1 + i })))] }),
  "listeners in conflict": (count) =>
    objects({
      gateways: [gatewayOf(listOf(count, (i) => listener(i, { protocol: `P${i % 9}` })))],
    }),
  "certificates of a listener": (count) =>
    objects({
      gateways: [gatewayOf([listener(0, {
        protocol: "HTTPS",
        tls: { certificateRefs: listOf(count, () => ({ name: "tls" })) },
      })])],
    }),
  "kinds of routes": (count) =>
    objects({
      gateways: [gatewayOf([listener(0, {
        allowedRoutes: { kinds: listOf(count, (i) => ({ kind: `K${i}` })) },
      })])],
    }),
  "labels of a selector": (count) =>
    objects({
      gateways: [gatewayOf([listener(0, {
        allowedRoutes: {
          namespaces: {
            from: "Selector",
            selector: {
              matchExpressions: listOf(count, (i) => ({ key: `k${i}`, operator: "DoesNotExist" })),
            },
          },
        },
      })])],
    }),
  "Gateways": (count) =>
    objects({ gateways: listOf(count, (i) => gatewayOf([listener(0)], `web-${i}`)) }),
  "GatewayClasses": (count) =>
    objects({ classes: listOf(count, (i) => ({ ...CLASS, metadata: { name: `c-${i}` } })) }),
  "routes": (count) => objects({ routes: listOf(count, (i) => routeOf({}, `r-${i}`)) }),
  "parents": (count) =>
    objects({ routes: [routeOf({ parentRefs: listOf(count, () => ({ name: "web" })) })] }),
  "hostnames": (count) =>
    objects({ routes: [routeOf({ hostnames: listOf(count, (i) => `h-${i}.test`) })] }),
  "the same hostname again": (count) =>
    objects({ routes: [routeOf({ hostnames: listOf(count, () => "h.test") })] }),
  "rules": (count) => objects({ routes: [routeOf({ rules: listOf(count, () => ({})) })] }),
  "rules that are not served": (count) =>
    objects({ routes: [routeOf({ rules: listOf(count, () => ({ filters: [{ type: "X" }] })) })] }),
  "matches": (count) =>
    objects({
      routes: [routeOf({
        rules: [{ matches: listOf(count, (i) => ({ path: { value: `/${i}` } })) }],
      })],
    }),
  "redirected prefixes": (count) =>
    objects({
      routes: [routeOf({
        rules: [{
          matches: listOf(count, (i) => ({ path: { type: "PathPrefix", value: `/${i}` } })),
          filters: [{
            type: "RequestRedirect",
            requestRedirect: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/" } },
          }],
        }],
      })],
    }),
  "headers of a match": (count) =>
    objects({
      routes: [routeOf({
        rules: [{ matches: [{ headers: listOf(count, (i) => ({ name: `x-${i}`, value: "a" })) }] }],
      })],
    }),
  "filters of a rule": (count) =>
    objects({
      routes: [routeOf({
        rules: [{
          filters: listOf(count, (i) => ({
            type: "RequestHeaderModifier",
            requestHeaderModifier: { set: [{ name: `x-${i}`, value: "a" }] },
          })),
        }],
      })],
    }),
  "headers of a filter": (count) =>
    objects({
      routes: [routeOf({
        rules: [{
          filters: [{
            type: "RequestHeaderModifier",
            requestHeaderModifier: {
              add: listOf(count, (i) => ({ name: `x-${i}`, value: "a" })),
              remove: listOf(count, (i) => `y-${i}`),
            },
          }, { type: "RequestRedirect", requestRedirect: { scheme: "https" } }],
        }],
      })],
    }),
  "backends": (count) =>
    objects({
      routes: [
        routeOf({ rules: [{ backendRefs: listOf(count, () => ({ name: "x", port: 1 })) }] }),
      ],
    }),
  "grants": (count) =>
    objects({
      grants: listOf(count, (i) => ({
        metadata: { name: `g-${i}`, namespace: "two" },
        spec: {
          from: [{ group: "g", kind: "HTTPRoute", namespace: "one" }],
          to: [{ group: "", kind: "Service", name: `s-${i}` }],
        },
      })),
    }),
  "policies of TLS to backends": (count) =>
    objects({ backendTlsPolicies: listOf(count, (i) => policyOf([target(i)], `p-${i}`)) }),
  "targets of a policy": (count) =>
    objects({ backendTlsPolicies: [policyOf(listOf(count, target))] }),
  "ListenerSets": (count) =>
    objects({
      listenerSets: listOf(count, (i) => ({
        metadata: { name: `l-${i}`, namespace: "one" },
        spec: { parentRef: { name: "web" } },
      })),
    }),
};

function target(i: number) {
  return { group: "", kind: "Service", name: `s-${i}` };
}

function policyOf(targetRefs: readonly unknown[], name = "tls") {
  return { metadata: { name, namespace: "one" }, spec: { targetRefs } };
}

interface Translating {
  readonly readers?: GatewayReaders;
  readonly configMaps?: ReturnType<typeof configMapLookup>;
  readonly published?: Snapshot | null;
  /** Of what one namespace may have. */
  readonly limit?: number;
  readonly address?: AddressKind;
}

export function certificate(id: string): Certificate {
  return {
    ...{ id, hosts: [], chain: { kind: "pem", pem: "-" } },
    key: { kind: "file", path: "tls.key" },
    origin: { kind: "Secret", namespace: "one", name: id, field: "" },
  };
}

/** Without Ingresses. */
function sharingOf(
  given: GatewayObjects,
  context: Required<Pick<Translating, "published" | "configMaps" | "address">>,
  readers: GatewayReaders,
): AddressSharing {
  const { gateways } = readGateways(
    given,
    { ...DEFAULT_GATEWAY_OPTIONS, ...context },
    readers,
  );
  const routes = readers.routes(given.routes);
  const { claimants, namespaces } = new RouteClaimants().of(gateways, routes, {
    ...{ namespaces: null, published: context.published },
    bounds: { routes: Infinity, hostBytes: Infinity },
    elsewhere: new Set(),
  });
  const ownership = new OwnershipResolver().resolve({
    ...{ mode: "namespace", claimants, claims: null, published: null, kept: new Set() },
    namespaces: new NamespaceReader().read([]),
  }, 0);
  return { ownership, claimants, namespaces, ingresses: new Map() };
}

export function translateAll(
  given: GatewayObjects,
  {
    readers = new GatewayReaders(),
    configMaps = configMapLookup([], []),
    published = null,
    limit = Infinity,
    address = "own",
  }: Translating = {},
) {
  return translateGatewayApi(given, {
    services: servicePorts(new Map([["one/x", SERVICE]])),
    upstreams: { faultOf: () => null },
    secrets: { find: () => "no Secret", namesOf: () => [], asPublished: () => null },
    namespaces: new Map([["one", {}]]),
    bounds: { routes: limit, hostBytes: limit, certificates: limit },
    taken: new Map(),
    // Where there are bounds, all are over that of the cluster as well.
    room: {
      fullFor: (wanted) =>
        limit === Infinity ? NOT_FULL : { ...NOT_FULL, namespaces: new Set(wanted.keys()) },
    },
    sharing: sharingOf(given, { published, configMaps, address }, readers),
    ...DEFAULT_GATEWAY_OPTIONS,
    ...{ published, configMaps, address },
  }, readers);
}
