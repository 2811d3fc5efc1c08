/**
 * What is kept of an object. In: an object as the API server sends it. Out: one with the fields that
 * are read and no others: in ten thousand Ingresses the rest would be most of the memory, and a
 * change of what nobody reads is then none.
 *
 * Whoever reads another field of an object that an informer holds adds it here.
 */
import { Buffer } from "node:buffer";
import type { Exceeded } from "./excess.ts";
import { apiVersionOf, type KubeMeta, type KubeObject, type Resource } from "./types.ts";
import { FIELD_MANAGER } from "./client.ts";
import { keptValues } from "../base/secret_values.ts";

/** Does not change its argument; may share parts with it. */
export type Reduce = <T extends KubeObject>(object: T) => T;

/** Annotations that somebody reads: ours, and those of ingress-nginx that problems are about. */
const ANNOTATIONS =
  /^(?:(?:[a-z-]+\.)?pingress\.io|nginx\.ingress\.kubernetes\.io)\/|^kubernetes\.io\/ingress\.class$|^ingressclass\.kubernetes\.io\/is-default-class$/;

/** By which an EndpointSlice says which Service it is of. */
const SERVICE_LABEL = "kubernetes.io/service-name";

/** What kubectl apply leaves: the whole object once more. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Also what the writing of its status needs; of `managedFields` only whether our status is there. */
export const reduceIngress: Reduce = (object) => {
  const { spec, status } = fieldsOf(object);
  const ours = object.metadata.managedFields?.flatMap((entry) => {
    const { manager, subresource } = (entry ?? {}) as { manager?: unknown; subresource?: unknown };
    return manager === FIELD_MANAGER && subresource === "status" ? [OUR_STATUS] : [];
  });
  return made(object, {
    metadata: {
      ...metadataOf(object, { annotations: true }),
      ...(ours === undefined || ours.length === 0 ? {} : { managedFields: ours }),
    },
    spec,
    status: pick(status, ["loadBalancer"]),
  });
};

const OUR_STATUS = { manager: FIELD_MANAGER, subresource: "status" };

export const reduceIngressClass: Reduce = (object) =>
  made(object, {
    metadata: metadataOf(object, { annotations: true }),
    spec: pick(fieldsOf(object).spec, ["controller"]),
  });

export const reduceService: Reduce = (object) => {
  const { spec, status } = fieldsOf(object);
  const { ports } = (spec ?? {}) as { ports?: unknown };
  return made(object, {
    metadata: metadataOf(object, { annotations: true }),
    spec: {
      ...pick(spec, ["type", "externalName", "clusterIP", "clusterIPs", "externalIPs"]),
      ports: each(
        ports,
        (port) => pick(port, ["name", "port", "protocol", "appProtocol", "targetPort"]),
      ),
    },
    status: pick(status, ["loadBalancer"]),
  });
};

/** One for all: there may be a hundred thousand. */
const POD = { kind: "Pod" };

export const reduceEndpointSlice: Reduce = (object) => {
  const { addressType, endpoints, ports } = fieldsOf(object);
  const service = object.metadata.labels?.[SERVICE_LABEL];
  return made(object, {
    metadata: {
      ...metadataOf(object, {}),
      ...(service === undefined ? {} : { labels: { [SERVICE_LABEL]: service } }),
    },
    addressType,
    endpoints: each(
      endpoints,
      (endpoint) => {
        const { targetRef } = (endpoint ?? {}) as {
          readonly targetRef?: { kind?: unknown } | null;
        };
        const kept = pick(endpoint, ["addresses", "conditions", "zone", "hints"]);
        return kept !== undefined && targetRef?.kind === "Pod" ? { ...kept, targetRef: POD } : kept;
      },
    ),
    ports: each(ports, (port) => pick(port, ["name", "port", "protocol"])),
  });
};

/**
 * Who owns which hosts, whether it is being deleted, and by which labels a listener of a Gateway selects it;
 * for a watch of metadata alone.
 */
export const reduceNamespace: Reduce = (object) =>
  made(object, { metadata: metadataOf(object, { annotations: true, labels: true }) });

/**
 * A Secret of a tenant, with the values that somebody reads and that are not too large. Its finalizers and its type may
 * have any size, and count towards no bound.
 */
export const reduceSecret: Reduce = (object) => {
  const { type, data } = fieldsOf(object);
  const { finalizers: _finalizers, ...metadata } = metadataOf(object, {});
  return made(object, { metadata, type: shortType(type), ...keptValues(type, data) });
};

/** Longer than any type that is known. */
const MAX_TYPE = 253;

/** Of a type that is not known, only whether it is one of Kubernetes matters. */
function shortType(type: unknown): unknown {
  if (typeof type !== "string" || type.length <= MAX_TYPE) return type;
  return type.startsWith("kubernetes.io/") ? "kubernetes.io/…" : "…";
}

/**
 * A ConfigMap of a tenant, as it is asked for by name: a stub of one with more bytes.
 *
 * @param keys That are read. Of the others the first one stays, without its value: somebody is told of it.
 */
export function boundedConfigMap(maxBytes: number, keys: readonly string[]): Reduce {
  return (object) => {
    const { data } = fieldsOf(object);
    const { name, namespace, resourceVersion } = object.metadata;
    const metadata = { name, namespace, resourceVersion };
    const excess: Exceeded = { bound: "bytes", limit: maxBytes };
    if (sizeOf(data ?? {}) > maxBytes) return made(object, { metadata, excess });
    const values = pick(data, keys);
    let other: string | null = null;
    for (const key of Object.keys(data ?? {})) {
      if (!keys.includes(key) && (other === null || key < other)) other = key;
    }
    return made(object, {
      metadata,
      data: values && { ...values, ...(other === null ? {} : { [other]: "" }) },
    });
  };
}

/** Bytes as JSON. */
export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** An object of Gateway API: nearly all of it is read, and its status is compared with what is written. */
export const reduceGatewayObject: Reduce = (object) => {
  const { spec, status } = fieldsOf(object);
  return made(object, { metadata: metadataOf(object, { annotations: true }), spec, status });
};

/** Which version of it there is; for a watch of metadata alone. */
export const reduceToVersion: Reduce = (object) => {
  const { name, namespace, resourceVersion } = object.metadata;
  return made(object, { metadata: { name, namespace, resourceVersion } });
};

/** Addresses, and by what a selector finds it; heartbeats are no change. */
export const reduceNode: Reduce = (object) => {
  const { spec, status } = fieldsOf(object);
  const { addresses, conditions } = (status ?? {}) as Record<string, unknown>;
  const ready = (Array.isArray(conditions) ? conditions : [])
    .filter((condition) => condition?.type === "Ready")
    .map((condition) => pick(condition, ["type", "status"]));
  return made(object, {
    metadata: metadataOf(object, { labels: true }),
    spec: pick(spec, ["unschedulable"]),
    status: { addresses, conditions: ready },
  });
};

/** Networks of Services. */
export const reduceServiceCidr: Reduce = (object) =>
  made(object, {
    metadata: metadataOf(object, {}),
    spec: pick(fieldsOf(object).spec, ["cidrs"]),
  });

/** Pods of proxies: where they run and how they are. */
export const reducePod: Reduce = (object) => {
  const { spec, status } = fieldsOf(object);
  return made(object, {
    metadata: {
      ...metadataOf(object, { labels: true }),
      ...pick(object.metadata, ["ownerReferences"]),
    },
    spec: pick(spec, ["nodeName"]),
    status: pick(status, [
      "phase",
      "reason",
      "message",
      "conditions",
      "containerStatuses",
      "initContainerStatuses",
      "hostIP",
      "hostIPs",
      "podIP",
      "podIPs",
    ]),
  });
};

/** Few objects that are ours: everything, and what kind they are. */
export function keepWhole(resource: Resource): Reduce {
  return (object) => {
    const { [LAST_APPLIED]: _applied, ...annotations } = object.metadata.annotations ?? {};
    return {
      ...object,
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: {
        ...object.metadata,
        ...(object.metadata.annotations === undefined ? {} : { annotations }),
      },
    };
  };
}

/** The same without who owns which fields: for ConfigMaps and Secrets, whose content counts. */
export function keepContent(resource: Resource): Reduce {
  const keep = keepWhole(resource);
  return (object) => {
    const { managedFields: _fields, ...metadata } = object.metadata;
    return keep({ ...object, metadata });
  };
}

interface MetadataOptions {
  /** Keep all labels. */
  readonly labels?: boolean;
  /** Keep the annotations that are read. */
  readonly annotations?: boolean;
}

function metadataOf({ metadata }: KubeObject, options: MetadataOptions): KubeMeta {
  const annotations = options.annotations
    ? Object.entries(metadata.annotations ?? {}).filter(([name]) => ANNOTATIONS.test(name))
    : [];
  return {
    name: metadata.name,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    ...pick(metadata, ["generation"]),
    creationTimestamp: metadata.creationTimestamp,
    ...(options.labels && metadata.labels !== undefined ? { labels: metadata.labels } : {}),
    ...(annotations.length > 0 ? { annotations: Object.fromEntries(annotations) } : {}),
    ...pick(metadata, ["finalizers", "deletionTimestamp"]),
  };
}

function fieldsOf(object: KubeObject): Readonly<Record<string, unknown>> {
  return object as unknown as Readonly<Record<string, unknown>>;
}

/** The object, now with these fields alone; what is undefined is left out. */
function made<T extends KubeObject>(
  _like: T,
  fields: { readonly metadata: KubeMeta; readonly [name: string]: unknown },
): T {
  for (const name of Object.keys(fields)) {
    if (fields[name] === undefined) delete (fields as Record<string, unknown>)[name];
  }
  // The fields that T promises are kept or optional: `Reduce` functions are written for one kind.
  return fields as unknown as T;
}

/** Those of the fields that are there; undefined where there is no object. */
function pick(value: unknown, names: readonly string[]): Record<string, unknown> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  const picked: Record<string, unknown> = {};
  for (const name of names) if (fields[name] !== undefined) picked[name] = fields[name];
  return picked;
}

/** What is no list stays as it is: who reads it says what is wrong. */
function each(value: unknown, change: (element: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map((element) => change(element) ?? element) : value;
}
