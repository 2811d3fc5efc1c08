/**
 * What `pingress status` reads. In: a cluster and the namespaces to show. Out: facts, read once or followed.
 *
 * Objects are followed by watches; what pods say is read every few seconds.
 */
import {
  type ApiError,
  ENDPOINT_SLICES,
  EVENTS,
  GATEWAY_API,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  NAMESPACES,
  type Resource,
  SERVICES,
} from "../../controller/kube/types.ts";
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Followed } from "../cluster/followed.ts";
import { type Reading, readList } from "../cluster/readings.ts";
import { type Unread, unreadOf } from "../cluster/unread.ts";
import { readCertificates } from "../installation/certificate_reader.ts";
import { readControllerPages, readInstallation } from "../installation/installation.ts";
import { nearestName } from "../../shared/nearest_name.ts";
import type { MissingNamespace, StatusFacts, StatusObjects } from "./facts.ts";

export interface StatusScope {
  /** Of Ingresses and Gateways; null for all. */
  readonly namespace: string | null;
  /** Of controller and proxies. */
  readonly systemNamespace: string;
}

const KINDS: Readonly<Record<keyof StatusObjects, Resource>> = {
  ingresses: INGRESSES,
  ingressClasses: INGRESS_CLASSES,
  services: SERVICES,
  endpointSlices: ENDPOINT_SLICES,
  gatewayClasses: GATEWAY_CLASSES,
  gateways: GATEWAYS,
  httpRoutes: HTTP_ROUTES,
};

type Field = keyof StatusObjects;

const FIELDS = Object.keys(KINDS) as Field[];

/** Routes of other namespaces may be attached to a Gateway, with their backends. */
const FROM_ALL: readonly Field[] = ["ingressClasses", "gatewayClasses", "httpRoutes"];

export async function readObjects(cluster: Cluster, scope: StatusScope): Promise<StatusObjects> {
  const fields = await servedFields(cluster);
  const read = await Promise.all(fields.map(async (field) =>
    [
      field,
      await readList(cluster, KINDS[field], { namespace: namespaceOf(field, scope) }),
    ] as const
  ));
  return { ...NO_OBJECTS, ...Object.fromEntries(read) };
}

/**
 * What pods and the installation's own objects say, beside the objects that are shown.
 *
 * @param known Certificates that need not be read again; null for none.
 */
export async function readRest(
  cluster: Cluster,
  { namespace, systemNamespace }: StatusScope,
  known: StatusFacts["certificates"] | null,
): Promise<Omit<StatusFacts, "objects" | "stale">> {
  const installation = await readInstallation(cluster, systemNamespace, Date.now);
  const [pages, certificates, missingNamespace] = await Promise.all([
    readControllerPages(cluster, installation),
    known ?? readCertificates(cluster, installation, namespace),
    readMissingNamespace(cluster, namespace),
  ]);
  const hasProblems = pages.problems.ok && pages.problems.value !== null;
  const events = hasProblems
    ? null
    : await readList(cluster, EVENTS, { namespace, fieldSelector: "type=Warning" });
  return { now: Date.now(), installation, pages, certificates, events, missingNamespace };
}

/** Null also where namespaces may not be listed. */
async function readMissingNamespace(
  cluster: Cluster,
  name: string | null,
): Promise<MissingNamespace | null> {
  if (name === null) return null;
  const read = (fieldSelector?: string) =>
    readList<KubeObject>(cluster, NAMESPACES, {
      namespace: null,
      metadataOnly: true,
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    });
  const found = await read(`metadata.name=${name}`);
  if (!found.ok || found.value.length > 0) return null;
  const all = await read();
  const names = all.ok ? all.value.map(({ metadata }) => metadata.name) : [];
  return { name, meant: nearestName(name, names) };
}

/** Objects that are followed. */
export interface FollowedObjects {
  /** Null until all have come, or failed. */
  current(): Pick<StatusFacts, "objects" | "stale"> | null;
  /** The first kind of which nothing has come, nor why; null for none. */
  awaited(): Unread | null;
  onChange(subscriber: () => void): void;
}

export async function followObjects(
  cluster: Cluster,
  scope: StatusScope,
): Promise<FollowedObjects> {
  const followed = (await servedFields(cluster)).map((field) => {
    const namespace = namespaceOf(field, scope);
    return { field, namespace, objects: cluster.follow(KINDS[field], { namespace }) };
  });
  return {
    current: () => {
      if (followed.some(({ objects: { isSynced, failure } }) => !isSynced && failure === null)) {
        return null;
      }
      const read = followed.map(({ field, namespace, objects }) =>
        [field, readingOf(cluster, KINDS[field], namespace, objects)] as const
      );
      const stale = followed.flatMap(({ field, namespace, objects: { isSynced, failure } }) =>
        isSynced && failure !== null
          ? [unreadKind(cluster, "watch", KINDS[field], namespace, failure)]
          : []
      );
      return { objects: { ...NO_OBJECTS, ...Object.fromEntries(read) }, stale };
    },
    awaited: () => {
      const first = followed.find(({ objects: { isSynced, failure } }) =>
        !isSynced && failure === null
      );
      return first === undefined
        ? null
        : unreadKind(cluster, "list", KINDS[first.field], first.namespace, NO_ANSWER);
    },
    onChange: (subscriber) => {
      for (const { objects } of followed) objects.onChange(subscriber);
    },
  };
}

const NO_ANSWER: ApiError = { code: 0, reason: "Deadline", message: "", retryAfter: null };

function readingOf(
  cluster: Cluster,
  resource: Resource,
  namespace: string | null,
  objects: Followed<KubeObject>,
): Reading<readonly KubeObject[]> {
  const { isSynced, failure } = objects;
  if (isSynced || failure === null) return { ok: true, value: objects.list() };
  const unread = unreadKind(cluster, "list", resource, namespace, failure);
  return { ok: false, code: failure.code, unread };
}

function unreadKind(
  { timeout }: Cluster,
  verb: string,
  resource: Resource,
  namespace: string | null,
  error: ApiError,
): Unread {
  return unreadOf({ verb, resource, namespace, error, timeout });
}

const NONE: Reading<readonly KubeObject[]> = { ok: true, value: [] };

/** Of kinds that the API server does not serve. */
const NO_OBJECTS: StatusObjects = {
  ...{ ingresses: NONE, ingressClasses: NONE, services: NONE, endpointSlices: NONE },
  ...{ gatewayClasses: NONE, gateways: NONE, httpRoutes: NONE },
};

/** Without the kinds of Gateway API that the API server does not serve. */
async function servedFields(cluster: Cluster): Promise<readonly Field[]> {
  const discovered = await cluster.discover<unknown>(GATEWAY_API, GATEWAYS.version);
  const served = new Set(
    (discovered.ok ? asList(fieldOf(discovered.value, "resources")) ?? [] : [])
      .flatMap((kind) => asText(fieldOf(kind, "name")) ?? []),
  );
  return FIELDS.filter((field) =>
    KINDS[field].group !== GATEWAY_API || served.has(KINDS[field].plural)
  );
}

function namespaceOf(field: Field, { namespace }: StatusScope): string | null {
  return FROM_ALL.includes(field) ? null : namespace;
}
