/** Objects and pages as values or as what is missing. In: a cluster. Out: what was read, or a sentence on why not. */
import { fieldOf } from "../../controller/base/json.ts";
import type { Selection } from "../../controller/kube/client.ts";
import { type KubeObject, PODS, type Resource } from "../../controller/kube/types.ts";
import type { Cluster } from "./cluster.ts";
import { type Unread, unreadOf } from "./unread.ts";

export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  /** @property code HTTP status; 0 where no whole answer came. */
  | { readonly ok: false; readonly code: number; readonly unread: Unread };

export async function readList<T extends KubeObject>(
  cluster: Cluster,
  resource: Resource,
  selection: Selection,
): Promise<Reading<readonly T[]>> {
  const list = await cluster.list<T>(resource, selection);
  if (list.ok) return list;
  const { error } = list;
  const { namespace } = selection;
  const { timeout } = cluster;
  return {
    ok: false,
    code: error.code,
    unread: unreadOf({ verb: "list", resource, namespace, error, timeout }),
  };
}

/** Null where there is no such object. */
export async function readObject<T extends KubeObject>(
  cluster: Cluster,
  resource: Resource,
  namespace: string | null,
  name: string,
  options: { readonly metadataOnly?: boolean } = {},
): Promise<Reading<T | null>> {
  const read = await cluster.get<T>(resource, namespace, name, options);
  if (read.ok) return read;
  const { error } = read;
  if (error.code === 404) return { ok: true, value: null };
  const { timeout } = cluster;
  return {
    ok: false,
    code: error.code,
    unread: unreadOf({ verb: "get", resource, namespace, name, error, timeout }),
  };
}

/** A page of a pod's admin port. Null where its version has no such page. */
export async function readPage(
  cluster: Cluster,
  pod: KubeObject,
  port: number,
  path: string,
): Promise<Reading<string | null>> {
  const { name, namespace = "" } = pod.metadata;
  const answer = await cluster.pod({ namespace, pod: name, port, path });
  if (!answer.ok) {
    const { error } = answer;
    const { timeout } = cluster;
    const { message, remedy } = unreadOf({
      ...{ verb: "create", resource: PODS, subresource: "portforward", namespace, name },
      ...{ error, timeout },
    });
    const unread = error.code === 403
      ? {
        message: `cannot connect to port ${port} of pod ${namespace}/${name}: ${error.message}`,
        remedy: `Allow the verbs get and create on pods/portforward in namespace ${namespace}`,
      }
      : error.code === 0
      ? {
        message: `cannot connect to port ${port} of pod ${namespace}/${name}: ${error.message}`,
        remedy: `Look at the pod: kubectl -n ${namespace} describe pod ${name}`,
      }
      : { message, remedy };
    return { ok: false, code: error.code, unread };
  }
  const { status, body } = answer.value;
  if (status === 404) return { ok: true, value: null };
  if (status >= 200 && status <= 299) return { ok: true, value: body };
  return {
    ok: false,
    code: status,
    unread: {
      message: `port ${port} of pod ${namespace}/${name} responded to ${path} with ${status}: ` +
        body.trim().slice(0, 200),
      remedy: `Read the log of the pod: kubectl -n ${namespace} logs ${name}`,
    },
  };
}

/** JSON of such a page; a page that is no JSON is one of another program. */
export async function readJsonPage(
  cluster: Cluster,
  pod: KubeObject,
  port: number,
  path: string,
): Promise<Reading<unknown>> {
  const page = await readPage(cluster, pod, port, path);
  if (!page.ok || page.value === null) return page;
  try {
    return { ok: true, value: JSON.parse(page.value) };
  } catch {
    const { name, namespace = "" } = pod.metadata;
    return {
      ok: false,
      code: 0,
      unread: {
        message: `port ${port} of pod ${namespace}/${name} responded to ${path} with no JSON`,
        remedy: "Check whether the pod is of Pingress, and of which version",
      },
    };
  }
}

/** The container port of this name. */
export function portOf(pod: KubeObject, name: string, otherwise: number): number {
  const containers = fieldOf(fieldOf(pod, "spec"), "containers");
  for (const container of Array.isArray(containers) ? containers : []) {
    const ports = fieldOf(container, "ports");
    for (const port of Array.isArray(ports) ? ports : []) {
      const number = fieldOf(port, "containerPort");
      if (fieldOf(port, "name") === name && typeof number === "number") return number;
    }
  }
  return otherwise;
}
