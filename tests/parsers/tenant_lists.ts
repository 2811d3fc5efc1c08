/**
 * Lists that tenants write into objects, translated, published and compiled to routes. In: nothing.
 * Out: rows of the table.
 */
import {
  DEFAULT_OBJECT_BOUNDS,
  type ObjectBounds,
  ObjectLedger,
} from "../../controller/kube/object_bounds.ts";
import { reduceIngress } from "../../controller/kube/reduce.ts";
import type { KubeObject } from "../../controller/kube/types.ts";
import type { Resources } from "../../controller/kube/resources.ts";
import {
  translate,
  type TranslateOptions,
  Translator,
} from "../../controller/translate/translator.ts";
import { readIdentity } from "../../controller/base/identity.ts";
import { readIngress } from "../../controller/translate/ingress/ingress.ts";
import { type ReferenceBounds, ReferenceLedger } from "../../controller/watch/reference_ledger.ts";
import { SecretReferences } from "../../controller/watch/secret_references.ts";
import { unknownClasses } from "../../controller/problems/unknown_class.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "../../controller/translate/bounds/namespace_bounds.ts";
import { compileTable } from "../../proxy/router/table.ts";
import { explain } from "../../proxy/router/explain.ts";
import { parseSnapshot } from "../../shared/snapshot/parse.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { deltaLine, wholeLine } from "../../shared/stream/change.ts";
import { Content } from "../../shared/stream/content.ts";
import { readUpdate } from "../../shared/stream/messages.ts";
import { ReceivedContent } from "../../shared/stream/received.ts";
import { listParser, type Parser } from "./parser.ts";
import {
  clusterOf,
  INGRESSES,
  ingressOf,
  listOf,
  OBJECTS,
  ONE_HOST,
  pathOf,
  ruleOf,
} from "./tenant_objects.ts";
import { TRANSLATE_OPTIONS } from "../support/translate_options.ts";

/**
 * Elements of a list. An object of 1.5 MiB, etcd's limit, has some 10,000 rules; what is quadratic
 * shows with these.
 */
const COUNT = 2048;

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  watchIngressWithoutClass: true,
  allowExternalName: true,
};

const NOW = Date.parse("2030-01-01T00:00:00Z");

/** By a translator that has nothing remembered. */
function translated(resources: (count: number) => Resources, count: number): Snapshot {
  return translate(resources(count), null, OPTIONS, () => NOW).snapshot;
}

/** What `translate` calls for one of its objects, or for each of their elements. */
const TRANSLATED: readonly string[] = [
  "controller/base/identity.ts ObjectIndex.model",
  "controller/base/identity.ts ObjectIndex.of",
  "controller/base/identity.ts addToIndex",
  "controller/base/json.ts asList",
  "controller/base/json.ts asObject",
  "controller/base/json.ts asPort",
  "controller/base/json.ts asText",
  "controller/base/json.ts fieldOf",
  "controller/base/json.ts isAbsent",
  "controller/base/json.ts showSome",
  "controller/base/memo.ts isSameList",
  "controller/base/text_order.ts compareText",
  "controller/translate/annotations/nginx/refusals.ts closedAnswer",
  "controller/translate/backends/backend.ts BackendResolver.findsAgain",
  "controller/translate/backends/backend.ts new BackendResolver",
  "controller/translate/backends/endpoints.ts EndpointIndex.of",
  "controller/translate/backends/endpoints.ts portsOf",
  "controller/translate/backends/endpoints.ts readEndpoints",
  "controller/translate/backends/endpoints.ts stateOf",
  "controller/translate/backends/plan_cache.ts PlanCache.of",
  "controller/translate/backends/zone_names.ts readZones",
  "controller/translate/backends/upstream_tls.ts new UpstreamTlsReader",
  "controller/translate/bounds/held_certificates.ts new HeldCertificates",
  "controller/translate/certificates/certificate.ts coversHost",
  "controller/translate/certificates/certificate.ts namesFor",
  "controller/translate/certificates/certificate_source.ts new CertificateSources",
  "controller/translate/certificates/default_certificate.ts readDefaultCertificate",
  "controller/translate/certificates/tls_admission.ts TlsAdmission.admit",
  "controller/translate/certificates/tls_admission.ts TlsAdmission.exactBelow",
  "controller/translate/hosts/host_owner.ts standingOf",
  "controller/translate/hosts/ownership.ts Ownership.standing",
  "controller/translate/hosts/ownership_problems.ts reportOwnership",
  "controller/translate/ingress/class.ts OwnIngresses.of",
  "controller/translate/ingress/class.ts isDefaultClass",
  "controller/translate/ingress/class.ts ownIngresses",
  "controller/translate/ingress/ingress_object.ts IngressObject.model",
  "controller/translate/ingress/ingress_object.ts IngressObjects.of",
  "controller/translate/ingress/ingress_object.ts new IngressObject",
  "controller/translate/ingress/ingress_object.ts writtenClass",
  "controller/translate/hosts/namespace_facts.ts isDying",
  "controller/translate/ingress/path_entry.ts readPathEntry",
  "controller/translate/ingress/path_entry.ts reportShape",
  "controller/translate/model/route_place.ts HostPlaces.of",
  "controller/translate/model/route_place.ts RegexPlaces.of",
  "controller/translate/model/route_place.ts new RoutePlace",
  "controller/translate/model/route_place.ts routeId",
  "controller/translate/model/status.ts LastTlsStatus.of",
  "controller/translate/model/status.ts LastTlsStatus.served",
  "controller/translate/model/status.ts new LastTlsStatus",
  "controller/translate/routes/closures.ts Closures.of",
  "controller/translate/routes/path_claims.ts claimPath",
  "controller/translate/routes/regex_hosts.ts regexOf",
  "controller/translate/routes/route_claims.ts RouteClaims.claimHost",
  "controller/translate/routes/route_claims.ts RouteClaims.findId",
  "controller/translate/routes/route_claims.ts RouteClaims.findWritten",
  "controller/translate/routes/route_claims.ts RouteClaims.keepWritten",
  "controller/translate/routes/route_claims.ts RouteClaims.resolve",
  "controller/translate/routes/route_claims.ts RouteClaims.routes",
  "controller/translate/routes/route_claims.ts writtenKey",
];

function translationParser(
  name: string,
  of: Readonly<Record<string, (count: number) => Resources>>,
  count = COUNT,
): Parser {
  return listParser({
    name,
    functions: [
      "controller/translate/translator.ts translate",
      "controller/translate/translator.ts Translator.translate",
      ...TRANSLATED,
    ],
    count,
    read: Object.fromEntries(
      Object.entries(of).map(([element, resources]) => [
        element,
        (count) => () => translated(resources, count),
      ]),
    ),
  });
}

/** Snapshots as proxies read them. */
const SNAPSHOTS: Readonly<Record<string, (count: number) => Resources>> = {
  "hosts": INGRESSES["TLS entries"],
  "paths": INGRESSES.paths,
  "endpoints": OBJECTS.endpoints,
  "upstreams": OBJECTS.Services,
  "segments of a path": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST, [pathOf("/a".repeat(count))])] }),
};

/** Reads a configuration of each kind, and routes a request to each of its hosts. */
function snapshotParser(
  name: string,
  functions: readonly string[],
  prepare: (snapshot: Snapshot) => () => Snapshot,
): Parser {
  return listParser({
    name,
    functions: [
      ...functions,
      "proxy/router/table.ts RouteTable.replaceHost",
      "proxy/router/table.ts RouteTable.find",
      "proxy/router/table.ts RouteTable.match",
      "proxy/router/host.ts HostIndex.get",
      "proxy/router/host.ts HostIndex.set",
      "proxy/router/host.ts HostIndex.find",
      "proxy/router/name_table.ts NameTable.get",
      "proxy/router/name_table.ts NameTable.set",
      "proxy/router/path.ts PathTree.find",
      "proxy/router/segments.ts Segments.get",
      "proxy/router/segments.ts Segments.set",
      "proxy/router/segments.ts Segments.find",
      "shared/host/host_order.ts compareHosts",
    ],
    count: COUNT,
    read: Object.fromEntries(
      Object.entries(SNAPSHOTS).map(([element, resources]) => [element, (count) => {
        const read = prepare(translated(resources, count));
        return () => {
          const snapshot = read();
          const table = compileTable(snapshot, (action) => action);
          for (const { host, match } of snapshot.routes) table.match(host, match.path.value);
        };
      }]),
    ),
  });
}

/** With a field that is not known in each part, so that none passes the compiled check. */
function publishedByHand(snapshot: Snapshot): () => Snapshot {
  return published(
    snapshot,
    (text) =>
      text.replaceAll('"origin":{', '"origin":{"x":0,').replaceAll('"address":', '"x":0,"address":')
        .replaceAll('"protocol":', '"x":0,"protocol":'),
  );
}

function published(snapshot: Snapshot, edit = (text: string) => text): () => Snapshot {
  const text = edit(serialiseSnapshot(snapshot, { revealKeys: true }));
  return () => {
    const { snapshot } = parseSnapshot(text);
    if (snapshot === null) throw new Error("no snapshot");
    explain(snapshot, ONE_HOST, "/a");
    return snapshot;
  };
}

/** Reads all at once, and what comes to nothing. */
function streamed(snapshot: Snapshot): () => Snapshot {
  const nothing = Content.of({ ...snapshot, routes: [], upstreams: [], certificates: [] });
  const all = Content.of(snapshot);
  const lines = [wholeLine(all), wholeLine(nothing), deltaLine(nothing, all)];
  return () => {
    const received = new ReceivedContent();
    let last = snapshot;
    for (const line of lines) {
      const update = readUpdate(line);
      if (!update.ok) throw new Error(update.reason);
      const { message } = update;
      if (message.kind !== "snapshot" && message.kind !== "delta") throw new Error(message.kind);
      const taken = received.take(message);
      if (!taken.ok) throw new Error(taken.reason);
      last = taken.snapshot;
    }
    return last;
  };
}

export const TENANT_LISTS: readonly Parser[] = [
  translationParser("what one Ingress has", INGRESSES),
  translationParser("what namespaces have", OBJECTS, COUNT / 2),
  listParser({
    name: "what was published before",
    functions: [
      "controller/translate/bounds/published_sources.ts new PublishedParts",
      "controller/translate/bounds/published_sources.ts PublishedParts.hasRoute",
      "controller/translate/bounds/published_sources.ts PublishedParts.secretsOf",
      "controller/translate/certificates/published_certificates.ts PublishedCertificates.find",
      "controller/translate/certificates/published_certificates.ts PublishedCertificates.isPlain",
    ],
    count: COUNT,
    read: {
      "TLS entries without hosts": (count) => () => {
        const { resources, snapshot } = publishedBefore(count);
        const tls = listOf(count, () => ({ secretName: "tls" }));
        const { ingresses: [{ spec }] } = resources;
        const again = { ...resources, ingresses: [ingressOf({ ...spec, tls })], secrets: [] };
        translate(again, snapshot, OPTIONS, () => NOW);
      },
      "paths over a namespace's bound": (count) => () => {
        const { resources, snapshot } = publishedBefore(count);
        const { ingresses: [{ spec }] } = resources;
        const rules = [...spec?.rules ?? [], ruleOf(ONE_HOST)];
        const namespaceBounds = { ...DEFAULT_NAMESPACE_BOUNDS, routes: 1 };
        const more = { ...resources, ingresses: [ingressOf({ ...spec, rules })] };
        translate(more, snapshot, { ...OPTIONS, namespaceBounds }, () => NOW);
      },
      "hosts to which plain HTTP stays": (count) => () => {
        const { resources, snapshot } = publishedBefore(count);
        translate({ ...resources, secrets: [] }, snapshot, OPTIONS, () => NOW);
      },
    },
  }),
  listParser({
    name: "names in Ingresses",
    functions: [
      "controller/watch/secret_references.ts SecretReferences.of",
      "controller/watch/reference_ledger.ts ReferenceLedger.choose",
      "controller/watch/reference_ledger.ts ReferenceLedger.measure",
      "controller/problems/unknown_class.ts unknownClasses",
    ],
    count: COUNT,
    read: {
      "TLS entries": (count) => () => namesIn(INGRESSES["TLS entries without a Secret"], count),
      "Ingresses": (count) => () => namesIn(OBJECTS["Ingresses with the same path"], count),
      "Services": (count) => () => namesIn(OBJECTS.Services, count),
    },
  }),
  listParser({
    name: "objects as they are read",
    functions: [
      "controller/kube/reduce.ts sizeOf",
      "controller/kube/object_bounds.ts ObjectLedger.forget",
      "controller/kube/object_bounds.ts ObjectLedger.keepOnly",
    ],
    count: COUNT,
    read: Object.fromEntries(
      ["rules of hosts", "paths", "TLS entries", "annotations"].map((
        element,
      ) => [element, (count) => {
        const { ingresses } = INGRESSES[element](count);
        return () => readAtTheDoor(ingresses);
      }]),
    ),
  }),
  snapshotParser("a published snapshot", [
    "proxy/router/explain.ts chooseRedirect",
    "proxy/router/explain.ts explain",
    "shared/snapshot/node_reader.ts readNode",
    "shared/snapshot/parse.ts readRest",
    "shared/snapshot/parse.ts readVersion",
    "shared/snapshot/route.ts RouteReader.read",
  ], published),
  snapshotParser("a snapshot written by hand", [], publishedByHand),
  snapshotParser("a snapshot by the stream", [
    "shared/stream/messages.ts new UnreadContent",
    "shared/stream/received_units.ts rawRest",
    "shared/stream/received_units.ts rawUnits",
    "shared/stream/content.ts hostText",
    "shared/stream/received_sections.ts routesAfter",
    "shared/stream/sound_routes.ts SoundRoutes.take",
    "shared/stream/unit.ts differenceOfEdits",
    "shared/stream/unit.ts findUnit",
    "shared/stream/unit.ts merge",
    "shared/stream/unit.ts unitHash",
  ], streamed),
];

/** What stays of Ingresses, and of stubs of them. */
function readAtTheDoor(ingresses: Resources["ingresses"]): void {
  for (const bounds of [DEFAULT_OBJECT_BOUNDS, NO_ROOM]) {
    const ledger = new ObjectLedger("Ingress", bounds, () => {});
    const read = ledger.bounded(reduceIngress);
    for (const ingress of ingresses) {
      const object = read(ingress as KubeObject);
      readIngress(readIdentity("Ingress", object)!, object);
    }
    ledger.keepOnly(null, (_namespace, name) => name.length % 2 === 0);
    for (const { metadata } of ingresses) {
      ledger.forget(metadata?.namespace ?? "", metadata?.name ?? "");
    }
  }
}

const NO_ROOM: ObjectBounds = { ...DEFAULT_OBJECT_BOUNDS, objectBytes: 1 };

/** A certificate for so many hosts, none of which it names. */
function publishedBefore(count: number) {
  const resources = INGRESSES["hosts of one TLS entry"](count);
  const { snapshot } = translate(resources, null, OPTIONS, () => NOW);
  return { resources, snapshot };
}

/** Secrets, and bytes of these. */
const LITTLE_ROOM: ReferenceBounds = { count: 10, bytes: 5 };

function namesIn(resources: (count: number) => Resources, count: number): void {
  const objects = resources(count);
  const demand = new SecretReferences(new Translator().readers, OPTIONS).of(objects);
  const { count: most } = LITTLE_ROOM;
  for (const bounds of [LITTLE_ROOM, { count, bytes: most }]) {
    const ledger = new ReferenceLedger(bounds);
    const { wanted } = ledger.choose(demand, new Set());
    for (const key of [...wanted].slice(0, most)) ledger.measure(key, 1);
    for (const key of wanted) ledger.isDropped(key);
  }
  unknownClasses(objects.ingresses, objects.ingressClasses, ["pingress"]);
}
