/**
 * Functions of Gateway API with many objects, and texts in them. In: nothing. Out: rows of the table.
 */
import { covers, readHostname } from "../../controller/translate/gateway/objects/hostname.ts";
import {
  configMapLookup,
  PARAMETER_KEYS,
  type ParameterLists,
  parameterReferences,
} from "../../controller/translate/gateway/gateway_parameters.ts";
import { GatewayReaders } from "../../controller/translate/gateway/gateway_readers.ts";
import type { Resources } from "../../controller/kube/resources.ts";
import { EMPTY_SNAPSHOT } from "../../controller/translate/bounds/cluster_sizes.ts";
import { boundedConfigMap } from "../../controller/kube/reduce.ts";
import { publishedGatewayParts } from "../../controller/translate/bounds/gateway_tally.ts";
import { NamedUpstreams } from "../../controller/translate/gateway/named_upstreams.ts";
import { stayingGateways } from "../../controller/translate/gateway/published_parts.ts";
import { NONE } from "../support/rich_cluster.ts";
import { CertificateRoom } from "../../controller/translate/gateway/certificate_bounds.ts";
import { KeptHosts } from "../../controller/translate/gateway/sharing/kept_hosts.ts";
import { patternFault } from "../../controller/translate/gateway/objects/pattern.ts";
import { KeptClaims, ServingIngresses } from "../../controller/translate/hosts/host_claimants.ts";
import type { Route } from "../../shared/snapshot/types.ts";
import { listParser, type Parser, textParser } from "./parser.ts";
import { listOf } from "./tenant_objects.ts";
import { certificate, OBJECTS, SERVICE, translateAll } from "./gateway_objects.ts";

const BY_ADDRESS = (["own", "shared"] as const).flatMap((address) =>
  Object.entries(OBJECTS).map(([name, make]) => ({
    name: address === "own" ? name : `${name}, with a shared address`,
    ...{ make, address },
  }))
);

export const GATEWAY_PARSERS: readonly Parser[] = [
  listParser({
    name: "keys of a ConfigMap with parameters",
    functions: ["controller/kube/reduce.ts boundedConfigMap"],
    count: 16_384,
    read: {
      "unknown keys": (count) => {
        const data = Object.fromEntries(listOf(count, (i) => [`key-${count - i}`, "value"]));
        const configMap = { metadata: { namespace: "one", name: "p" }, data };
        const keep = boundedConfigMap(1 << 20, PARAMETER_KEYS);
        return () => keep(configMap);
      },
    },
  }),
  listParser({
    name: "objects of Gateway API",
    functions: [
      "controller/translate/gateway/objects/backend_ref.ts readBackendRef",
      "controller/translate/gateway/objects/backend_tls_policy.ts new BackendTlsPolicies",
      "controller/translate/gateway/objects/backend_tls_policy.ts BackendTlsPolicies.policyOf",
      "controller/translate/gateway/objects/gateway.ts readGateway",
      "controller/translate/gateway/objects/listener_set.ts listenerSetStatuses",
      "controller/translate/gateway/objects/gateway_class.ts readGatewayClasses",
      "controller/translate/bounds/gateway_sizes.ts backendsSize",
      "controller/translate/bounds/gateway_sizes.ts reasonSize",
      "controller/translate/bounds/gateway_tally.ts FilterSetTally.add",
      "controller/translate/bounds/gateway_tally.ts GatewayTally.addHost",
      "controller/translate/bounds/gateway_tally.ts GatewayTally.addUpstream",
      "controller/translate/bounds/pair_sizes.ts assignedSize",
      "controller/translate/gateway/objects/container_ports.ts portKey",
      "controller/translate/gateway/gateway_parts.ts mostParts",
      "controller/translate/gateway/gateway_parameters.ts configMapLookup",
      "controller/translate/gateway/gateway_parameters.ts new GatewayParameters",
      "controller/translate/gateway/gateway_parameters.ts parameterReferences",
      "controller/translate/gateway/gateway_parameters.ts parameterUses",
      "controller/translate/gateway/gateway_readers.ts GatewayReaders.classes",
      "controller/translate/gateway/gateway_readers.ts GatewayReaders.gateway",
      "controller/translate/gateway/gateway_readers.ts GatewayReaders.grants",
      "controller/translate/gateway/gateway_readers.ts GatewayReaders.routes",
      "controller/translate/gateway/attachment_room.ts new AttachmentRoom",
      "controller/translate/gateway/host_admission.ts HostAdmission.examine",
      "controller/translate/gateway/host_admission.ts HostAdmission.ofRoute",
      "controller/translate/gateway/host_admission.ts HostAdmission.ownerOf",
      "controller/translate/gateway/host_admission.ts new RouteAdmission",
      "controller/translate/gateway/lookups.ts namespaceLabels",
      "controller/translate/gateway/lookups.ts servicePorts",
      "controller/translate/gateway/lookups.ts new UsedSecrets",
      "controller/translate/gateway/lookups.ts UsedSecrets.find",
      "controller/translate/gateway/lookups.ts UsedSecrets.namesOf",
      "controller/translate/gateway/objects/generation.ts generationOf",
      "controller/translate/gateway/objects/label_selector.ts readLabelSelector",
      "controller/translate/gateway/objects/listener.ts readListener",
      "controller/translate/gateway/objects/parent_ref.ts readParentRef",
      "controller/translate/gateway/objects/reference.ts readReference",
      "controller/translate/gateway/objects/reference_grant.ts readReferenceGrant",
      "controller/translate/gateway/objects/route_filters.ts backendFiltersFault",
      "controller/translate/gateway/objects/route_filters.ts readRuleFilters",
      "controller/translate/gateway/objects/route_filters.ts redirectOn",
      "controller/translate/gateway/objects/route_match.ts readMatch",
      "controller/translate/gateway/route_attachments.ts new RouteAttachments",
      "controller/translate/gateway/served_routes.ts RoutePlacements.serve",
      "controller/translate/gateway/served_routes.ts brokenShare",
      "controller/translate/gateway/served_routes.ts httpsRedirectOn",
      "controller/translate/gateway/served_routes.ts placesOf",
      "shared/snapshot/memory.ts listenersCharacters",
      "controller/translate/gateway/route_bounds.ts crowdedNamespaces",
      "controller/translate/gateway/sharing/host_certificates.ts hostCertificates",
    ],
    count: 4096,
    read: Object.fromEntries(
      BY_ADDRESS.map(({ name, make, address }) => [name, (count: number) => {
        const given = make(count);
        const { classes: gatewayClasses, gateways } = given;
        const configMaps = listOf(count, (i) => ({
          metadata: { namespace: "one", name: `p-${2 * i}` },
          data: { serviceType: "ClusterIP" },
        }));
        const unread = listOf(count, (i) => `one/p-${2 * i + 1}`);
        const lookup = configMapLookup(configMaps, unread);
        return () => {
          const readers = new GatewayReaders();
          parameterReferences({ gatewayClasses, gateways } as ParameterLists, "one", readers);
          translateAll(given, { readers, configMaps: lookup, address });
        };
      }]),
    ),
  }),
  listParser({
    name: "hosts that HTTPRoutes keep without a Gateway",
    functions: [
      "controller/translate/gateway/sharing/claimant.ts ClaimantsByRoute.of",
      "controller/translate/gateway/sharing/claimant.ts claimantOf",
      "controller/translate/hosts/host_claimants.ts KeptClaims.of",
    ],
    count: 2048,
    read: {
      "names": (count) => {
        const hostnames = listOf(count, (i) => `h-${i}.test`);
        const claims = new Map(hostnames.map((host) => [host, [{ namespace: "one", since: "" }]]));
        const object = {
          metadata: { name: "web", namespace: "one" },
          spec: { parentRefs: [{ name: "gone" }], hostnames },
        };
        const [route] = new GatewayReaders().routes([object]);
        return () => {
          const kept = new KeptHosts().of([{ route, hostnames }], claims);
          if (kept[0].hosts.length !== count) throw new Error("not all hosts are kept");
          new KeptClaims().of(new Set(), claims);
        };
      },
    },
  }),
  listParser({
    name: "certificates of the listeners of a namespace",
    functions: ["kept", "published", "take"].map((name) =>
      `controller/translate/gateway/certificate_bounds.ts CertificateRoom.${name}`
    ).concat("controller/translate/gateway/certificate_bounds.ts new CertificateRoom"),
    count: 4096,
    read: {
      "one listener each": (count) => {
        const all = listOf(count, (i) => certificate(`c-${i}`));
        return () => {
          const room = new CertificateRoom(
            { certificates: count / 2, hostBytes: Infinity },
            null,
            new Map(),
          );
          for (const each of all) room.take("one", [each]);
        };
      },
      "one listener with all": (count) => {
        const all = listOf(count, (i) => certificate(`c-${i}`));
        return () => {
          const bounds = { certificates: count, hostBytes: Infinity };
          const room = new CertificateRoom(bounds, null, new Map([["one", all]]));
          room.take("one", all);
          room.take("one", all);
          room.kept("one", all);
          for (const each of all) room.published("one", each);
        };
      },
    },
  }),
  listParser({
    name: "hosts of Ingresses that Gateways name too",
    functions: ["controller/translate/hosts/host_claimants.ts ServingIngresses.of"],
    count: 4096,
    read: {
      "hosts": (count) => {
        const origin = { kind: "Ingress", namespace: "one", name: "web", field: "" };
        const routes = listOf(count, (i) => ({ host: `h-${i}.test`, origin }) as Route);
        const aliases = listOf(count, (i) => ({ id: `a-${i}.test`, aliasOf: `h-${i}.test` }));
        const asked = new Set([...routes.map(({ host }) => host), ...aliases.map(({ id }) => id)]);
        return () => void new ServingIngresses().of({ routes, aliases }, asked);
      },
    },
  }),
  listParser({
    name: "published HTTPRoutes of a namespace beyond its bounds",
    functions: [
      "controller/translate/gateway/route_attachments.ts RouteAttachments.keep",
      "controller/translate/gateway/route_bounds.ts refusedRoutes",
      "controller/translate/gateway/route_demands.ts publishedDemand",
      "controller/translate/gateway/served_routes.ts placeOf",
      "controller/translate/model/backend_ref.ts serviceOf",
    ],
    count: 2048,
    read: Object.fromEntries(
      (["routes", "hostnames", "rules", "matches", "backends"] as const).map((
        name,
      ) => [name, (count: number) => {
        const { parts } = translateAll(OBJECTS[name](count));
        const published = { ...EMPTY_SNAPSHOT, ...parts, certificates: [] };
        // Each asks for one more than was published of it.
        const given = OBJECTS[name](count + 1);
        return () => void translateAll(given, { published, limit: 0 });
      }]),
    ),
  }),
  listParser({
    name: "Services that HTTPRoutes name",
    functions: ["controller/translate/gateway/named_upstreams.ts NamedUpstreams.of"],
    count: 4096,
    read: Object.fromEntries(
      (["routes", "rules", "backends"] as const).map((name) => [name, (count: number) => {
        const { classes, gateways, routes, grants } = OBJECTS[name](count);
        const resources = {
          ...{ ...NONE, gatewayClasses: classes, gateways },
          ...{ httpRoutes: routes, referenceGrants: grants },
        } as Resources;
        const services = new Map([["one/x", SERVICE]]);
        const named = () => new NamedUpstreams(new GatewayReaders());
        return () => void named().of(new Map(), resources, services, null);
      }]),
    ),
  }),
  listParser({
    name: "published parts of Gateways that there are still",
    functions: [
      "controller/translate/bounds/gateway_tally.ts GatewayTallies.of",
      "controller/translate/gateway/published_parts.ts stayingGateways",
    ],
    count: 4096,
    read: Object.fromEntries(
      (["routes", "hostnames", "listeners"] as const).map((name) => [name, (count: number) => {
        const given = OBJECTS[name](count);
        const { parts } = translateAll(given, { address: "shared" });
        const published = { ...EMPTY_SNAPSHOT, ...parts, certificates: [] };
        const there = { ...NONE, gateways: given.gateways, httpRoutes: given.routes };
        return () => void publishedGatewayParts(stayingGateways(published, there as Resources));
      }]),
    ),
  }),
  textParser({
    name: "hostnames of Gateway API",
    functions: [
      "controller/translate/gateway/objects/hostname.ts readHostname",
      "controller/translate/gateway/objects/hostname.ts covers",
    ],
    bytes: 4096,
    frames: [["*.", ".test"]],
    read: (text) => () => {
      readHostname(text);
      covers("*.example.com", text);
      covers(text, "a.example.com");
    },
  }),
  textParser({
    name: "regular expressions of Gateway API",
    functions: ["controller/translate/gateway/objects/pattern.ts patternFault"],
    bytes: 1024,
    frames: [["(a", ")"], ["[", "]"]],
    read: (text) => () => void patternFault(text),
  }),
];
