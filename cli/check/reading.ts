/** What `pingress check` reads. In: a cluster. Out: all facts, each as far as it can be read. */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import {
  BUNDLE_VERSION,
  CONFIG_MAPS,
  type Crd,
  CRDS,
  DAEMON_SETS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  GATEWAY_API,
  GATEWAY_CLASSES,
  GATEWAYS,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  NETWORK_POLICIES,
  SERVICES,
} from "../../controller/kube/types.ts";
import {
  GATEWAY_NAME_LABEL,
  SERVICE_NAME_LABEL,
} from "../../controller/outputs/addresses/names.ts";
import { CLAIMS_NAME } from "../../controller/outputs/publish/host_claims.ts";
import { VERSION } from "../../shared/version.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type Reading, readList, readObject } from "../cluster/readings.ts";
import { unreadOf } from "../cluster/unread.ts";
import {
  CONTROLLER_NAME,
  type ControllerPages,
  type Installation,
  NAME_LABEL,
  proxiesOf,
  readControllerPages,
  readInstallation,
} from "../installation/installation.ts";
import { readCertificates } from "../installation/certificate_reader.ts";
import type { CheckFacts, GatewayApi } from "./facts.ts";
import { NEEDED_KINDS, OPTIONAL_KINDS } from "./groups/gateway_api.ts";
import { USER_GATEWAY_RIGHTS, USER_RIGHTS } from "./right.ts";
import { readAccountRights, readUserRights } from "./rights_reader.ts";
import type { ClassObject } from "../installation/ingress_class.ts";

/** Milliseconds that a proxy has to acknowledge a change that was made right before the check. */
const SETTLING = 2_000;

/** @param step Called with what is being read. */
export async function readFacts(
  cluster: Cluster,
  namespace: string,
  step: (text: string) => void,
): Promise<CheckFacts> {
  const now = Date.now();
  const kubernetes = await readVersion(cluster);
  if (!kubernetes.ok) return unreadFacts(cluster, namespace, kubernetes, now);
  step("Reading the objects of the cluster");
  const [installation, gatewayApi, objects] = await Promise.all([
    readInstallation(cluster, namespace, Date.now),
    readGatewayApi(cluster),
    readObjects(cluster, namespace),
  ]);
  step("Reading the admin pages of the controllers");
  const [pages, certificates, rights, accountRights] = await Promise.all([
    readSettledPages(cluster, installation),
    readCertificates(cluster, installation, null),
    readUserRights(cluster, namespace, [
      ...USER_RIGHTS,
      ...(gatewayApi.ok && gatewayApi.value !== null ? USER_GATEWAY_RIGHTS : []),
    ]),
    readAccountRights(cluster, installation),
  ]);
  const { deployments, ...others } = objects;
  return {
    ...others,
    ...{ now, kubernetes, rights, accountRights, installation, pages, gatewayApi, certificates },
    ownVersion: VERSION,
    server: cluster.server,
    elsewhere: deployments.ok
      ? deployments.value.flatMap(({ metadata }) =>
        metadata.name === CONTROLLER_NAME && metadata.namespace !== namespace
          ? metadata.namespace ?? []
          : []
      ).sort()
      : [],
  };
}

/** A change may be on its way to a proxy: one that has not acknowledged it gets a moment. */
async function readSettledPages(
  cluster: Cluster,
  installation: Installation,
): Promise<ControllerPages> {
  const pages = await readControllerPages(cluster, installation);
  const isOnItsWay = proxiesOf(pages.replicas).some(({ isInSync, refused }) =>
    !isInSync && refused === null
  );
  if (!isOnItsWay) return pages;
  await new Promise((resolve) => setTimeout(resolve, SETTLING));
  return laterPages(pages, await readControllerPages(cluster, installation));
}

/** What was read later, but for what a replica did not answer any more. */
export function laterPages(before: ControllerPages, after: ControllerPages): ControllerPages {
  const first = new Map(before.replicas.map((replica) => [replica.pod, replica]));
  const later = <T>(old: Reading<T> | undefined, read: Reading<T>): Reading<T> =>
    !read.ok && old?.ok ? old : read;
  return {
    problems: later(before.problems, after.problems),
    replicas: after.replicas.map(({ pod, version, proxies }) => ({
      pod,
      version: later(first.get(pod)?.version, version),
      proxies: later(first.get(pod)?.proxies, proxies),
    })),
  };
}

async function readObjects(cluster: Cluster, namespace: string) {
  const [deployments, classes, ingresses, daemonSets, dnsSlices, claims, networkPolicies] =
    await Promise.all([
      readList(cluster, DEPLOYMENTS, {
        namespace: null,
        labelSelector: `${NAME_LABEL}=${CONTROLLER_NAME}`,
      }),
      readList<ClassObject>(cluster, INGRESS_CLASSES, { namespace: null }),
      readList(cluster, INGRESSES, { namespace: null }),
      readList(cluster, DAEMON_SETS, { namespace: null }),
      readList(cluster, ENDPOINT_SLICES, {
        namespace: "kube-system",
        labelSelector: `${SERVICE_NAME_LABEL}=kube-dns`,
      }),
      readObject(cluster, CONFIG_MAPS, namespace, CLAIMS_NAME),
      readList(cluster, NETWORK_POLICIES, { namespace }),
    ]);
  return { deployments, classes, ingresses, daemonSets, dnsSlices, claims, networkPolicies };
}

async function readVersion(cluster: Cluster): Promise<Reading<string>> {
  const version = await cluster.version();
  if (version.ok) return { ok: true, value: version.value.gitVersion ?? "of an unknown version" };
  const { error } = version;
  const { timeout } = cluster;
  const resource = { group: "", plural: "version" };
  const { message, remedy } = unreadOf({ verb: "get", resource, namespace: null, error, timeout });
  return {
    ok: false,
    code: error.code,
    unread: {
      message: message.replace(
        "cannot get version",
        `the API server at ${cluster.server} cannot be used`,
      ),
      remedy,
    },
  };
}

/** Nothing more is asked of a server that does not answer. */
function unreadFacts(
  cluster: Cluster,
  namespace: string,
  kubernetes: Extract<Reading<string>, { ok: false }>,
  now: number,
): CheckFacts {
  const unread = kubernetes;
  const installation: Installation = {
    namespace,
    ...{ deployment: unread, workload: unread, controllerPods: unread, proxyPods: unread },
    leader: unread,
    options: null,
  };
  const pages: ControllerPages = { replicas: [], problems: unread };
  return {
    ...{ now, kubernetes, installation, pages },
    ownVersion: VERSION,
    server: cluster.server,
    elsewhere: [],
    ...{ rights: unread, accountRights: null, classes: unread, ingresses: unread },
    ...{ gatewayApi: unread, daemonSets: unread, dnsSlices: unread, certificates: unread },
    ...{ claims: unread, networkPolicies: unread },
  };
}

const BIND_DISCOVERY = "Bind the ClusterRole system:discovery to the user";

async function readGatewayApi(cluster: Cluster): Promise<Reading<GatewayApi | null>> {
  const discovered = await cluster.discover<unknown>(GATEWAY_API, GATEWAYS.version);
  if (!discovered.ok) {
    const { error } = discovered;
    if (error.code === 404) return { ok: true, value: null };
    const { timeout } = cluster;
    const resource = { group: GATEWAY_API, plural: "kinds" };
    const { message, remedy } = unreadOf({
      ...{ verb: "discover", resource, namespace: null, error, timeout },
    });
    return {
      ok: false,
      code: error.code,
      // Discovery has no resource and no verb of its own: every account has this role by default.
      unread: { message, remedy: error.code === 403 ? BIND_DISCOVERY : remedy },
    };
  }
  const named = (asList(fieldOf(discovered.value, "resources")) ?? [])
    .flatMap((kind) => asText(fieldOf(kind, "name")) ?? []);
  const served = new Set(named);
  const [crds, classes, gateways, services] = await Promise.all([
    readCrds(cluster, [...NEEDED_KINDS, ...OPTIONAL_KINDS].filter((kind) => served.has(kind))),
    listIfServed(cluster, served, GATEWAY_CLASSES),
    listIfServed(cluster, served, GATEWAYS),
    readList(cluster, SERVICES, { namespace: null, labelSelector: GATEWAY_NAME_LABEL }),
  ]);
  return { ok: true, value: { served, crds, classes, gateways, services } };
}

async function listIfServed(
  cluster: Cluster,
  served: ReadonlySet<string>,
  resource: typeof GATEWAYS,
): Promise<Reading<readonly KubeObject[]>> {
  return served.has(resource.plural)
    ? await readList(cluster, resource, { namespace: null })
    : { ok: true, value: [] };
}

/** Null where one may not be read. */
async function readCrds(
  cluster: Cluster,
  kinds: readonly string[],
): Promise<readonly Crd[] | null> {
  const readings = await Promise.all(
    kinds.map((kind) =>
      readObject(cluster, CRDS, null, `${kind}.${GATEWAY_API}`, { metadataOnly: true })
    ),
  );
  if (readings.some(({ ok }) => !ok)) return null;
  return readings.flatMap((reading) => {
    if (!reading.ok || reading.value === null) return [];
    const { name, annotations, deletionTimestamp } = reading.value.metadata;
    return [{
      name,
      bundleVersion: annotations?.[BUNDLE_VERSION] || null,
      isTerminating: deletionTimestamp !== undefined,
    }];
  });
}
