/**
 * What lint reads of a cluster. In: the cluster. Out: the objects that Ingresses need, and
 * what could not be read, by verb and resource. Never a Secret: the role `pingress-lint` has none.
 */
import type { Resources } from "../../controller/kube/resources.ts";
import {
  CONFIG_MAPS,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  NAMESPACES,
  type Resource,
  SERVICES,
} from "../../controller/kube/types.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type FailedCall, unreadOf } from "../cluster/unread.ts";
import type { InputProblem } from "./finding.ts";

export interface ReadingOptions {
  /** Empty for all. */
  readonly namespaces: readonly string[];
  /** `NAMESPACE/NAME`; null for none. */
  readonly configMap: string | null;
}

export interface ClusterReading {
  readonly resources: Resources;
  /** Null where it was not asked for, or is not there. */
  readonly configMap: KubeObject | null;
  readonly unread: readonly InputProblem[];
}

type Part = Partial<Resources> & { readonly configMap?: KubeObject };

interface PartReading {
  readonly part: Part;
  readonly unread: readonly InputProblem[];
}

const ROLE = "the ClusterRole pingress-lint of overlays/lint does";

/** The ConfigMap that the role may read. */
const NAMED_CONFIG_MAP = "ingress-nginx-controller";

/** All at once, so that a server that answers nothing costs the time-out once. */
export async function readCluster(
  cluster: Cluster,
  options: ReadingOptions,
): Promise<ClusterReading> {
  const list = (resource: Resource, field: keyof Resources, namespace: string | null = null) =>
    readList(cluster, resource, field, namespace);
  const places = options.namespaces.length === 0 ? [null] : options.namespaces;
  const readings = await Promise.all([
    ...places.flatMap((place) => [
      list(INGRESSES, "ingresses", place),
      list(SERVICES, "services", place),
    ]),
    list(INGRESS_CLASSES, "ingressClasses"),
    // Those of other namespaces do not matter then.
    ...(options.namespaces.length === 0 ? [list(NAMESPACES, "namespaces")] : []),
    ...(options.configMap === null ? [] : [readConfigMap(cluster, options.configMap)]),
  ]);
  const all = <K extends keyof Resources>(field: K): Resources[K] =>
    readings.flatMap(({ part }) =>
      part[field] as readonly unknown[] ?? []
    ) as unknown as Resources[K];
  return {
    resources: {
      ingresses: all("ingresses"),
      ingressClasses: all("ingressClasses"),
      services: all("services"),
      namespaces: readings.some(({ part }) => part.namespaces !== undefined)
        ? all("namespaces")
        : null,
      endpointSlices: [],
      secrets: [],
    },
    configMap: readings.find(({ part }) => part.configMap !== undefined)?.part.configMap ?? null,
    unread: readings.flatMap(({ unread }) => unread),
  };
}

/** @param namespace Null for all. */
async function readList(
  cluster: Cluster,
  resource: Resource,
  field: keyof Resources,
  namespace: string | null,
): Promise<PartReading> {
  const list = await cluster.list(resource, { namespace, metadataOnly: resource === NAMESPACES });
  if (list.ok) return { part: { [field]: list.value }, unread: [] };
  return unread({ verb: "list", resource, namespace, error: list.error, timeout: cluster.timeout });
}

async function readConfigMap(cluster: Cluster, named: string): Promise<PartReading> {
  const [namespace, name] = named.split("/");
  const read = await cluster.get<KubeObject>(CONFIG_MAPS, namespace, name);
  if (read.ok) return { part: { configMap: read.value }, unread: [] };
  const { error } = read;
  if (error.code === 404) {
    return {
      part: {},
      unread: [{
        message: `there is no ConfigMap ${named}, so its settings are not checked`,
        remedy: "Write --configmap as the Deployment of ingress-nginx has it",
        at: null,
      }],
    };
  }
  const { timeout } = cluster;
  return unread({ verb: "get", resource: CONFIG_MAPS, namespace, name, error, timeout });
}

function unread(call: FailedCall): PartReading {
  const isNamed = call.name == null || call.name === NAMED_CONFIG_MAP;
  const role = isNamed ? ROLE : `${ROLE} once ${call.name} is among its resourceNames`;
  return { part: {}, unread: [{ ...unreadOf(call, role), at: null }] };
}
