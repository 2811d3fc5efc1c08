/**
 * What lint reads of a cluster. In: a client of its API server. Out: the objects that Ingresses need, and
 * what could not be read, by verb and resource. Never a Secret: the role `pingress-lint` has none.
 */
import type { KubeClient } from "../../controller/kube/client.ts";
import { Lister } from "../../controller/kube/lister.ts";
import type { Resources } from "../../controller/kube/resources.ts";
import {
  type ApiError,
  CONFIG_MAPS,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  NAMESPACES,
  type Resource,
  SERVICES,
} from "../../controller/kube/types.ts";
import type { InputProblem } from "./finding.ts";

export interface ReadingOptions {
  /** Empty for all. */
  readonly namespaces: readonly string[];
  /** `NAMESPACE/NAME`; null for none. */
  readonly configMap: string | null;
  /** Milliseconds for all of it. */
  readonly timeout: number;
}

/** Can be sent from one thread to another. */
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

/** All at once, so that a server that answers nothing costs the time-out once. */
export async function readCluster(
  client: KubeClient,
  options: ReadingOptions,
): Promise<ClusterReading> {
  const signal = AbortSignal.timeout(options.timeout);
  const list = (resource: Resource, field: keyof Resources, namespace: string | null = null) =>
    readList(client, { resource, field, namespace, signal, timeout: options.timeout });
  const places = options.namespaces.length === 0 ? [null] : options.namespaces;
  const readings = await Promise.all([
    ...places.flatMap((place) => [
      list(INGRESSES, "ingresses", place),
      list(SERVICES, "services", place),
    ]),
    list(INGRESS_CLASSES, "ingressClasses"),
    // Those of other namespaces do not matter then.
    ...(options.namespaces.length === 0 ? [list(NAMESPACES, "namespaces")] : []),
    ...(options.configMap === null
      ? []
      : [readConfigMap(client, options.configMap, signal, options.timeout)]),
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

interface ListCall {
  readonly resource: Resource;
  readonly field: keyof Resources;
  /** Null for all. */
  readonly namespace: string | null;
  readonly signal: AbortSignal;
  readonly timeout: number;
}

async function readList(client: KubeClient, call: ListCall): Promise<PartReading> {
  const { resource, field, namespace, signal, timeout } = call;
  const selection = { namespace, metadataOnly: resource === NAMESPACES };
  const lister = new Lister({ client, resource, selection, reduce: withoutManagedFields });
  const list = await lister.list(signal);
  return list.ok
    ? { part: { [field]: list.value.objects }, unread: [] }
    : { part: {}, unread: [unreadOf("list", resource, namespace, list.error, signal, timeout)] };
}

async function readConfigMap(
  client: KubeClient,
  named: string,
  signal: AbortSignal,
  timeout: number,
): Promise<PartReading> {
  const [namespace, name] = named.split("/");
  const read = await client.get<KubeObject>(CONFIG_MAPS, namespace, name, { signal });
  if (read.ok) return { part: { configMap: read.value }, unread: [] };
  if (read.error.code === 404) {
    return {
      part: {},
      unread: [{
        message: `there is no ConfigMap ${named}, so its settings are not checked`,
        remedy: "Write --configmap as the Deployment of ingress-nginx has it",
        at: null,
      }],
    };
  }
  const problem = unreadOf("get", CONFIG_MAPS, namespace, read.error, signal, timeout);
  return { part: {}, unread: [problem] };
}

/** Who wrote which field says nothing of what is served, and is the largest part of many objects. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata as KubeObject["metadata"] & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}

function unreadOf(
  verb: string,
  { group, plural }: Resource,
  namespace: string | null,
  error: ApiError,
  signal: AbortSignal,
  timeout: number,
): InputProblem {
  const kind = group === "" ? plural : `${plural}.${group}`;
  const where = namespace === null ? "" : ` in namespace ${namespace}`;
  const message = `cannot ${verb} ${kind}${where}: ${reasonOf(error, signal, timeout)}`;
  return { message, remedy: remedyFor(verb, kind, where, error), at: null };
}

function reasonOf(error: ApiError, signal: AbortSignal, timeout: number): string {
  return signal.aborted && error.code === 0
    ? `the API server did not answer within ${timeout / 1000} s`
    : error.code === 401
    ? "the API server does not accept the credentials of the kubeconfig"
    : error.message;
}

function remedyFor(verb: string, kind: string, where: string, { code }: ApiError): string {
  switch (code) {
    case 401:
      return "Renew the token or certificate of the context's user";
    case 403:
      return `Allow the verb ${verb} on ${kind}${where}; the ClusterRole pingress-lint of ` +
        "overlays/lint does";
    case 0:
      return "Check the server of the kubeconfig and the way to it, or give it more time by --timeout";
    default:
      return "Look at the log of the API server";
  }
}
