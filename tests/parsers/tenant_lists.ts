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
import { NONE, secret, service, slice } from "../support/rich_cluster.ts";
import { listParser, type Parser } from "./parser.ts";

/**
 * Elements of a list. An object of 1.5 MiB, etcd's limit, has some 10,000 rules; what is quadratic
 * shows with these.
 */
const COUNT = 2048;

const OPTIONS: TranslateOptions = {
  ingressClasses: ["pingress"],
  controllerNames: ["pingress.io/ingress-controller"],
  watchIngressWithoutClass: true,
  defaultBackend: null,
  allowExternalName: true,
  acceptUnsupported: [],
  allowAcceptUnsupportedAnnotation: false,
  defaultCertificate: null,
  allowLocalEndpoints: false,
  hostOwnership: "namespace",
  version: { epoch: "test", seen: {} },
};

const NOW = Date.parse("2030-01-01T00:00:00Z");

/** By a translator that has nothing remembered. */
function translated(resources: (count: number) => Resources, count: number): Snapshot {
  return translate(resources(count), null, OPTIONS, () => NOW).snapshot;
}

type Extras = Readonly<Record<string, unknown>>;

/** An Ingress of the tenant. */
function ingressOf(spec: Extras, annotations: Extras = {}, metadata: Extras = {}) {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "one", namespace: TENANT, annotations, ...metadata },
    spec,
  } as Resources["ingresses"][number];
}

const BACKEND = { service: { name: "web", port: { number: 80 } } };

function pathOf(path: string, pathType = "Prefix", backend: unknown = BACKEND) {
  return { path: `/1${path}`, pathType, backend };
}

function ruleOf(host: string, paths: readonly unknown[] = [pathOf("/")]) {
  return { host, http: { paths } };
}

function listOf<T>(count: number, element: (i: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, i) => element(i));
}

const TENANT = "tenant-1";

const TLS = secret("tls", "", "app");

/** A cluster with one Ingress. */
function clusterOf(spec: Extras, annotations: Extras = {}): Resources {
  return {
    ...NONE,
    ingresses: [ingressOf(spec, annotations)],
    services: [service("web", TENANT)],
    endpointSlices: [slice("web", TENANT, "web-1", ["10.0.0.1"])],
    secrets: [{ ...TLS, metadata: { name: "tls", namespace: TENANT } }],
  };
}

const NAMES = {
  "nginx.ingress.kubernetes.io/from-to-www-redirect": "true",
  "nginx.ingress.kubernetes.io/server-alias": "a.test, b.test",
};
const REWRITE = { "nginx.ingress.kubernetes.io/rewrite-target": "/" };
const SATISFY = { "nginx.ingress.kubernetes.io/satisfy": "any" };

const ONE_HOST = `${TENANT}.test`;
const hostOf = (i: number) => `host-${i}.${ONE_HOST}`;

/** One Ingress by what it has many of. */
const INGRESSES: Readonly<Record<string, (count: number) => Resources>> = {
  "rules of hosts": (count) => clusterOf({ rules: listOf(count, (i) => ruleOf(hostOf(i))) }),
  "rules of one host": (count) =>
    clusterOf({ rules: listOf(count, (i) => ruleOf(ONE_HOST, [pathOf(`/${i}`)])) }),
  "the same rule again": (count) => clusterOf({ rules: listOf(count, () => ruleOf(ONE_HOST)) }),
  "rules without a path": (count) =>
    clusterOf({ rules: listOf(count, (i) => ({ host: hostOf(i) })) }),
  "bad hosts": (count) => clusterOf({ rules: listOf(count, (i) => ruleOf(`-${i}`)) }),
  "wildcards": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(`*.${hostOf(i)}`)),
      tls: [{ secretName: "tls" }],
    }),
  "paths": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST, listOf(count, (i) => pathOf(`/${i}/a`)))] }),
  "paths one below the other": (count) =>
    clusterOf({
      rules: [ruleOf(ONE_HOST, listOf(Math.sqrt(count), (i) => pathOf("/a".repeat(i))))],
    }),
  "bad paths": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST, listOf(count, (i) => pathOf(`${i}%`)))] }),
  "backends that are missing": (count) =>
    clusterOf({
      rules: [
        ruleOf(
          ONE_HOST,
          listOf(count, (i) => {
            const service = { name: `gone-${i}`, port: { number: 80 } };
            return pathOf(`/${i}`, "Exact", { service });
          }),
        ),
      ],
    }),
  "ports that are missing": (count) =>
    clusterOf({
      rules: [
        ruleOf(
          ONE_HOST,
          listOf(count, (i) => {
            const service = { name: "web", port: { number: i + 1 } };
            return pathOf(`/${i}`, "Exact", { service });
          }),
        ),
      ],
    }),
  "paths that an annotation closes": (count) =>
    clusterOf({ rules: listOf(count, (i) => ruleOf(hostOf(i), [pathOf(`/${i}`)])) }, {
      ...REWRITE,
      ...SATISFY,
    }),
  "TLS entries": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(count, (i) => ({ hosts: [hostOf(i)], secretName: "tls" })),
    }),
  "TLS entries without a Secret": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(count, (i) => ({ hosts: [hostOf(i)], secretName: `gone-${i}` })),
    }),
  "the same TLS entry again": (count) =>
    clusterOf({
      rules: [ruleOf(ONE_HOST)],
      tls: listOf(count, () => ({ hosts: [ONE_HOST], secretName: "tls" })),
    }),
  "TLS entries without hosts": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST)], tls: listOf(count, () => ({ secretName: "tls" })) }),
  "hosts of one TLS entry": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, hostOf), secretName: "tls" }],
    }),
  "hosts of a TLS entry without rules": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST)], tls: [{ hosts: listOf(count, hostOf) }] }),
  "TLS entries of one wildcard": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(count, () => ({ hosts: [`*.${ONE_HOST}`], secretName: "tls" })),
    }),
  "one wildcard again in a TLS entry": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, () => `*.${ONE_HOST}`), secretName: "tls" }],
    }),
  "Secrets for one wildcard": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(
        // Fewer than a namespace may have certificates.
        count / 4,
        (i) => ({ hosts: [`*.${ONE_HOST}`], secretName: `gone-${i}` }),
      ),
    }),
  "hosts with other names": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, hostOf), secretName: "tls" }],
    }, NAMES),
  "annotations": (count) =>
    clusterOf(
      { rules: [ruleOf(ONE_HOST)] },
      Object.fromEntries(
        listOf(count, (i) => [`nginx.ingress.kubernetes.io/a-${i}`, "a"]),
      ),
    ),
  "annotations of ours": (count) =>
    clusterOf(
      { rules: [ruleOf(ONE_HOST)] },
      Object.fromEntries(listOf(count, (i) => [`pingress.io/a-${i}`, "a"])),
    ),
};

/** Objects by what there are many of. */
const OBJECTS: Readonly<Record<string, (count: number) => Resources>> = {
  "Ingresses with the same path": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) => ingressOf({ rules: [ruleOf(ONE_HOST)] }, {}, { name: `one-${i}` }),
    ),
  }),
  "namespaces with the same host": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) =>
        ingressOf({ rules: [ruleOf(ONE_HOST, [pathOf(`/${i}`)])] }, {}, {
          namespace: `${TENANT}-${i}`,
        }),
    ),
  }),
  "namespaces with the same host in TLS": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) =>
        ingressOf(
          { rules: [ruleOf(ONE_HOST)], tls: [{ hosts: [ONE_HOST], secretName: "tls" }] },
          {},
          {
            namespace: `${TENANT}-${i}`,
          },
        ),
    ),
  }),
  "default backends": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) => ingressOf({ defaultBackend: BACKEND }, {}, { namespace: `${TENANT}-${i}` }),
    ),
  }),
  "endpoints": (count) => ({
    ...clusterOf({ rules: [ruleOf(ONE_HOST)] }),
    endpointSlices: [slice("web", TENANT, "web-1", listOf(count, addressOf))],
  }),
  "the same endpoint again": (count) => ({
    ...clusterOf({ rules: [ruleOf(ONE_HOST)] }),
    endpointSlices: [slice("web", TENANT, "web-1", listOf(count, () => "10.0.0.1"))],
  }),
  "endpoints that are no addresses": (count) => ({
    ...clusterOf({ rules: [ruleOf(ONE_HOST)] }),
    endpointSlices: [slice("web", TENANT, "web-1", listOf(count, (i) => `a${i}`))],
  }),
  "EndpointSlices": (count) => ({
    ...clusterOf({ rules: [ruleOf(ONE_HOST)] }),
    endpointSlices: listOf(count, (i) => slice("web", TENANT, `web-${i}`, [addressOf(i)])),
  }),
  "Services": (count) => ({
    ...clusterOf({
      rules: [
        ruleOf(
          ONE_HOST,
          listOf(count, (i) => {
            const service = { name: `web-${i}`, port: { name: "http" } };
            return pathOf(`/${i}`, "Prefix", { service });
          }),
        ),
      ],
    }),
    services: listOf(count, (i) => service(`web-${i}`, TENANT)),
    endpointSlices: listOf(count, (i) => slice(`web-${i}`, TENANT, `web-${i}`, [addressOf(i)])),
  }),
};

function addressOf(i: number): string {
  return `10.1.${i >> 8}.${i & 255}`;
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
  "controller/translate/backends/upstream_tls.ts new UpstreamTlsReader",
  "controller/translate/certificates/certificate.ts coversHost",
  "controller/translate/certificates/certificate_source.ts new CertificateSources",
  "controller/translate/certificates/default_certificate.ts readDefaultCertificate",
  "controller/translate/certificates/tls_admission.ts TlsAdmission.admit",
  "controller/translate/certificates/tls_admission.ts TlsAdmission.exactBelow",
  "controller/translate/hosts/host_owner.ts standingOf",
  "controller/translate/hosts/ownership.ts Ownership.standing",
  "controller/translate/hosts/ownership_problems.ts reportOwnership",
  "controller/translate/ingress/class.ts OwnIngresses.of",
  "controller/translate/ingress/class.ts ownIngresses",
  "controller/translate/ingress/ingress_object.ts IngressObject.model",
  "controller/translate/ingress/ingress_object.ts IngressObjects.of",
  "controller/translate/ingress/ingress_object.ts new IngressObject",
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
  "controller/translate/routes/route_claims.ts RouteClaims.resolve",
  "controller/translate/routes/route_claims.ts RouteClaims.routes",
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
      "controller/kube/object_bounds.ts ObjectLedger.forget",
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

function namesIn(resources: (count: number) => Resources, count: number): void {
  const objects = resources(count);
  new SecretReferences(new Translator().readers, OPTIONS).of(objects);
  unknownClasses(objects.ingresses, objects.ingressClasses, ["pingress"]);
}
