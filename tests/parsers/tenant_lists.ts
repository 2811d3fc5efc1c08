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
import type { Resources } from "../../controller/resources.ts";
import { translate, type TranslateOptions } from "../../controller/translate.ts";
import { readIdentity } from "../../controller/translate/identity.ts";
import { readIngress } from "../../controller/translate/ingress.ts";
import { referencedSecrets } from "../../controller/secret_references.ts";
import { unknownClasses } from "../../controller/unknown_class.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "../../controller/translate/namespace_bounds.ts";
import { compileTable } from "../../proxy/router/table.ts";
import { explain } from "../../proxy/router/explain.ts";
import { parseSnapshot } from "../../shared/snapshot_parse.ts";
import type { Snapshot } from "../../shared/snapshot.ts";
import { serialiseSnapshot } from "../../shared/snapshot_serialise.ts";
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

/**
 * Stands in all names, hosts and paths, and is another one for each translation: what stays the same
 * from one to the next is remembered, and would cost nothing.
 */
let run = 0;

/** @param resources gives objects of this run. */
function translated(resources: (count: number) => Resources, count: number): Snapshot {
  run++;
  return translate(resources(count), null, OPTIONS, () => NOW).snapshot;
}

type Extras = Readonly<Record<string, unknown>>;

/** An Ingress of this run's tenant. */
function ingressOf(spec: Extras, annotations: Extras = {}, metadata: Extras = {}) {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "one", namespace: tenant(), annotations, ...metadata },
    spec,
  } as Resources["ingresses"][number];
}

const BACKEND = { service: { name: "web", port: { number: 80 } } };

function pathOf(path: string, pathType = "Prefix", backend: unknown = BACKEND) {
  return { path: `/${run}${path}`, pathType, backend };
}

function ruleOf(host: string, paths: readonly unknown[] = [pathOf("/")]) {
  return { host, http: { paths } };
}

function listOf<T>(count: number, element: (i: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, i) => element(i));
}

function tenant(): string {
  return `tenant-${run}`;
}

const TLS = secret("tls", "", "app");

/** A cluster with one Ingress. */
function clusterOf(spec: Extras, annotations: Extras = {}): Resources {
  return {
    ...NONE,
    ingresses: [ingressOf(spec, annotations)],
    services: [service("web", tenant())],
    endpointSlices: [slice("web", tenant(), "web-1", ["10.0.0.1"])],
    secrets: [{ ...TLS, metadata: { name: "tls", namespace: tenant() } }],
  };
}

const SSL = { "nginx.ingress.kubernetes.io/force-ssl-redirect": "true" };
const REWRITE = { "nginx.ingress.kubernetes.io/rewrite-target": "/" };
const SATISFY = { "nginx.ingress.kubernetes.io/satisfy": "any" };

const hostOf = (i: number) => `host-${i}.tenant-${run}.test`;
const oneHost = () => `tenant-${run}.test`;

/** One Ingress by what it has many of. */
const INGRESSES: Readonly<Record<string, (count: number) => Resources>> = {
  "rules of hosts": (count) => clusterOf({ rules: listOf(count, (i) => ruleOf(hostOf(i))) }),
  "rules of one host": (count) =>
    clusterOf({ rules: listOf(count, (i) => ruleOf(oneHost(), [pathOf(`/${i}`)])) }),
  "the same rule again": (count) => clusterOf({ rules: listOf(count, () => ruleOf(oneHost())) }),
  "rules without a path": (count) =>
    clusterOf({ rules: listOf(count, (i) => ({ host: hostOf(i) })) }),
  "bad hosts": (count) => clusterOf({ rules: listOf(count, (i) => ruleOf(`-${i}`)) }),
  "wildcards": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(`*.${hostOf(i)}`)),
      tls: [{ secretName: "tls" }],
    }),
  "paths": (count) =>
    clusterOf({ rules: [ruleOf(oneHost(), listOf(count, (i) => pathOf(`/${i}/a`)))] }),
  "paths one below the other": (count) =>
    clusterOf({
      rules: [ruleOf(oneHost(), listOf(Math.sqrt(count), (i) => pathOf("/a".repeat(i))))],
    }),
  "bad paths": (count) =>
    clusterOf({ rules: [ruleOf(oneHost(), listOf(count, (i) => pathOf(`${i}%`)))] }),
  "backends that are missing": (count) =>
    clusterOf({
      rules: [
        ruleOf(
          oneHost(),
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
          oneHost(),
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
      rules: [ruleOf(oneHost())],
      tls: listOf(count, () => ({ hosts: [oneHost()], secretName: "tls" })),
    }),
  "TLS entries without hosts": (count) =>
    clusterOf({ rules: [ruleOf(oneHost())], tls: listOf(count, () => ({ secretName: "tls" })) }),
  "hosts of one TLS entry": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, hostOf), secretName: "tls" }],
    }),
  "hosts of a TLS entry without rules": (count) =>
    clusterOf({ rules: [ruleOf(oneHost())], tls: [{ hosts: listOf(count, hostOf) }] }),
  "TLS entries of one wildcard": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(count, () => ({ hosts: [`*.${oneHost()}`], secretName: "tls" })),
    }),
  "one wildcard again in a TLS entry": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, () => `*.${oneHost()}`), secretName: "tls" }],
    }),
  "Secrets for one wildcard": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(
        // Fewer than a namespace may have certificates.
        count / 4,
        (i) => ({ hosts: [`*.${oneHost()}`], secretName: `gone-${i}` }),
      ),
    }),
  "hosts that are forced to HTTPS": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, hostOf), secretName: "tls" }],
    }, SSL),
  "annotations": (count) =>
    clusterOf(
      { rules: [ruleOf(oneHost())] },
      Object.fromEntries(
        listOf(count, (i) => [`nginx.ingress.kubernetes.io/a-${i}`, "a"]),
      ),
    ),
  "annotations of ours": (count) =>
    clusterOf(
      { rules: [ruleOf(oneHost())] },
      Object.fromEntries(listOf(count, (i) => [`pingress.io/a-${i}`, "a"])),
    ),
};

/** Objects by what there are many of. */
const OBJECTS: Readonly<Record<string, (count: number) => Resources>> = {
  "Ingresses with the same path": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) => ingressOf({ rules: [ruleOf(oneHost())] }, {}, { name: `one-${i}` }),
    ),
  }),
  "namespaces with the same host": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) =>
        ingressOf({ rules: [ruleOf(oneHost(), [pathOf(`/${i}`)])] }, {}, {
          namespace: `${tenant()}-${i}`,
        }),
    ),
  }),
  "namespaces with the same host in TLS": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) =>
        ingressOf(
          { rules: [ruleOf(oneHost())], tls: [{ hosts: [oneHost()], secretName: "tls" }] },
          {},
          {
            namespace: `${tenant()}-${i}`,
          },
        ),
    ),
  }),
  "default backends": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) => ingressOf({ defaultBackend: BACKEND }, {}, { namespace: `${tenant()}-${i}` }),
    ),
  }),
  "endpoints": (count) => ({
    ...clusterOf({ rules: [ruleOf(oneHost())] }),
    endpointSlices: [slice("web", tenant(), "web-1", listOf(count, addressOf))],
  }),
  "the same endpoint again": (count) => ({
    ...clusterOf({ rules: [ruleOf(oneHost())] }),
    endpointSlices: [slice("web", tenant(), "web-1", listOf(count, () => "10.0.0.1"))],
  }),
  "endpoints that are no addresses": (count) => ({
    ...clusterOf({ rules: [ruleOf(oneHost())] }),
    endpointSlices: [slice("web", tenant(), "web-1", listOf(count, (i) => `a${i}`))],
  }),
  "EndpointSlices": (count) => ({
    ...clusterOf({ rules: [ruleOf(oneHost())] }),
    endpointSlices: listOf(count, (i) => slice("web", tenant(), `web-${i}`, [addressOf(i)])),
  }),
  "Services": (count) => ({
    ...clusterOf({
      rules: [
        ruleOf(
          oneHost(),
          listOf(count, (i) => {
            const service = { name: `web-${i}`, port: { name: "http" } };
            return pathOf(`/${i}`, "Prefix", { service });
          }),
        ),
      ],
    }),
    services: listOf(count, (i) => service(`web-${i}`, tenant())),
    endpointSlices: listOf(count, (i) => slice(`web-${i}`, tenant(), `web-${i}`, [addressOf(i)])),
  }),
};

function addressOf(i: number): string {
  return `10.1.${i >> 8}.${i & 255}`;
}

/** What `translate` calls for one of its objects, or for each of their elements. */
const TRANSLATED: readonly string[] = [
  "backend.ts BackendResolver.findsAgain",
  "backend.ts new BackendResolver",
  "certificate.ts coversHost",
  "certificate_source.ts indexSecrets",
  "certificate_source.ts new CertificateSources",
  "class.ts ownIngresses",
  "closures.ts Closures.of",
  "default_certificate.ts readDefaultCertificate",
  "endpoints.ts EndpointIndex.slicesOf",
  "endpoints.ts new EndpointIndex",
  "endpoints.ts portsOf",
  "endpoints.ts readEndpoints",
  "endpoints.ts stateOf",
  "host_owner.ts standingOf",
  "identity.ts ObjectIndex.of",
  "identity.ts addToIndex",
  "ingress_object.ts IngressObject.model",
  "ingress_object.ts ingressObject",
  "ingress_object.ts new IngressObject",
  "json.ts asList",
  "json.ts asObject",
  "json.ts asPort",
  "json.ts asText",
  "json.ts fieldOf",
  "json.ts isAbsent",
  "json.ts showSome",
  "memo.ts isSameList",
  "namespace_facts.ts isDying",
  "ownership.ts Ownership.differsOnlyIn",
  "ownership.ts Ownership.standing",
  "ownership_problems.ts reportOwnership",
  "refusals.ts closedAnswer",
  "route_claims.ts RouteClaims.claimHost",
  "route_claims.ts RouteClaims.findId",
  "route_claims.ts RouteClaims.resolve",
  "route_claims.ts RouteClaims.routes",
  "route_place.ts HostPlaces.of",
  "route_place.ts new RoutePlace",
  "route_place.ts routeId",
  "status.ts LastTlsStatus.of",
  "status.ts LastTlsStatus.served",
  "status.ts new LastTlsStatus",
  "text_order.ts compareText",
  "tls_admission.ts TlsAdmission.admit",
  "tls_admission.ts TlsAdmission.exactBelow",
  "upstream_tls.ts new UpstreamTlsReader",
].map((name) => `controller/translate/${name}`);

function translationParser(
  name: string,
  of: Readonly<Record<string, (count: number) => Resources>>,
  count = COUNT,
): Parser {
  return listParser({
    name,
    functions: ["controller/translate.ts translate", ...TRANSLATED],
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
    clusterOf({ rules: [ruleOf(oneHost(), [pathOf("/a".repeat(count))])] }),
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
      "shared/host_order.ts compareHosts",
    ],
    count: COUNT,
    read: Object.fromEntries(
      Object.entries(SNAPSHOTS).map(([element, resources]) => [element, (count) => {
        const read = prepare(translated(resources, count));
        return () => {
          const snapshot = read();
          const table = compileTable(snapshot, (action) => action);
          for (const { host, path } of snapshot.routes) table.match(host, path.value);
        };
      }]),
    ),
  });
}

function published(snapshot: Snapshot): () => Snapshot {
  const text = serialiseSnapshot(snapshot, { revealKeys: true });
  return () => {
    const { snapshot } = parseSnapshot(text);
    if (snapshot === null) throw new Error("no snapshot");
    explain(snapshot, oneHost(), "/a");
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
      "controller/translate/published_ingress.ts new PublishedParts",
      "controller/translate/published_ingress.ts PublishedParts.hasRoute",
      "controller/translate/published_ingress.ts PublishedParts.secretsOf",
      "controller/translate/published_certificates.ts PublishedCertificates.find",
      "controller/translate/published_certificates.ts PublishedCertificates.isPlain",
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
        const rules = [...spec?.rules ?? [], ruleOf(oneHost())];
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
      "controller/secret_references.ts referencedSecrets",
      "controller/unknown_class.ts unknownClasses",
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
      "controller/translate/too_large.ts reportTooLarge",
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
    "shared/snapshot_certificate.ts readCertificate",
    "shared/snapshot_parse.ts readVersion",
    "shared/snapshot_route.ts RouteReader.read",
    "shared/snapshot_route.ts RouteReader.readAction",
    "shared/snapshot_route.ts readHost",
    "shared/snapshot_route.ts readOrigin",
    "shared/snapshot_upstream.ts readUpstream",
  ], published),
  snapshotParser("a snapshot by the stream", [
    "shared/stream/messages.ts new UnreadContent",
    "shared/stream/received_units.ts rawRest",
    "shared/stream/received_units.ts rawUnits",
    "shared/stream/content.ts hostText",
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
  run++;
  const resources = INGRESSES["hosts of one TLS entry"](count);
  const { snapshot } = translate(resources, null, OPTIONS, () => NOW);
  return { resources, snapshot };
}

function namesIn(resources: (count: number) => Resources, count: number): void {
  run++;
  const objects = resources(count);
  referencedSecrets(objects, OPTIONS);
  unknownClasses(objects.ingresses, objects.ingressClasses, ["pingress"]);
}
