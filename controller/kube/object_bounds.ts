/**
 * What the controller keeps in memory of one tenant. In: objects of users, reduced, as they are listed
 * and watched. Out: the same, or a stub where the object, or its namespace, is over a bound. So a
 * tenant fills neither the controller's memory nor its turns.
 *
 * A stub has who the object is, its class and its status, with the mark of `excess.ts`.
 */
import { CUT_TEXT, type Exceeded, type Excess } from "./excess.ts";
import { sizeOf } from "./reduce.ts";
import { GATEWAY_CONTROLLER, type KubeObject } from "./types.ts";

export interface ObjectBounds {
  /** Paths of one Ingress. */
  readonly ingressPaths: number;
  /** Of one object of a `BoundedKind`, as JSON of the fields that are read, without its status. */
  readonly objectBytes: number;
  /** Of all objects of one of these kinds in one namespace, with an allowance for each status. */
  readonly namespaceBytes: number;
}

export const DEFAULT_OBJECT_BOUNDS: ObjectBounds = {
  ingressPaths: 1_000,
  objectBytes: 256 << 10,
  namespaceBytes: 8 << 20,
};

/** Kinds that tenants write. */
export type BoundedKind =
  | "Ingress"
  | "Service"
  | "EndpointSlice"
  | "HTTPRoute"
  | "Gateway"
  | "ListenerSet"
  | "ReferenceGrant"
  | "BackendTLSPolicy"
  | "Secret";

/** Bytes of annotations that a stub keeps, each whole or not at all: those of nearly all Ingresses. */
const ANNOTATION_BYTES = 16 << 10;

/** What stands for a text is no shorter than these. */
const CUT_BYTES = sizeOf(CUT_TEXT);

/** A longer text names no class, wherever it is cut. */
const CLASS_ANNOTATION = "kubernetes.io/ingress.class";
const CLASS_LENGTH = 254;

/** Bytes of TLS entries that a stub keeps, so that their Secrets are read. */
const TLS_BYTES = 16 << 10;

/** Bytes of an entry of ours in a status, for one parent of a route or one listener: about what an ordinary one takes. */
const ENTRY_BYTES = 512;

/**
 * Bytes of hosts of rules that a stub keeps: what annotations say of whole hosts holds for the rules of
 * other Ingresses too.
 */
const HOST_BYTES = 16 << 10;

/** Of a name of DNS; a longer one is no host. */
const MAX_HOST_LENGTH = 253;

/** Bytes of parents, hostnames and targets that a stub keeps: more than CRDs let through. */
const ATTACHMENT_BYTES = 32 << 10;

/** A part of a bound that has to be free before objects are read again: else each change would do it. */
const ROOM = 0.05;

interface Kept {
  readonly bytes: number;
  /** Whether it was reduced to a stub for its namespace's sake. */
  readonly isCrowdedOut: boolean;
}

interface Tenant {
  bytes: number;
  crowdedOut: number;
  /** By name of the object. */
  readonly objects: Map<string, Kept>;
}

/** The objects of one kind. */
export class ObjectLedger {
  readonly #kind: BoundedKind;
  readonly #bounds: ObjectBounds;
  readonly #onRoom: () => void;
  readonly #tenants = new Map<string, Tenant>();

  /** @param onRoom is called when objects that were crowded out may fit again. */
  constructor(kind: BoundedKind, bounds: ObjectBounds, onRoom: () => void) {
    this.#kind = kind;
    this.#bounds = bounds;
    this.#onRoom = onRoom;
  }

  /** `reduce`, and then a stub in place of what is over a bound. */
  bounded<T extends KubeObject>(reduce: (object: T) => T): (object: T) => T {
    return (object) => this.#take(reduce(object));
  }

  /** Has to be called with each object that is gone. */
  forget(namespace: string, name: string): void {
    const tenant = this.#tenants.get(namespace);
    if (tenant === undefined || !tenant.objects.has(name)) return;
    this.#remove(tenant, name);
    if (tenant.objects.size === 0) this.#tenants.delete(namespace);
    this.#reportRoom(tenant);
  }

  /**
   * Has to be called when the store has a complete list, of one namespace or (null) of all. Objects of a list that
   * failed, and that were deleted before the next one, were never stored, so `forget` is not called for them.
   */
  keepOnly(namespace: string | null, isStored: (namespace: string, name: string) => boolean): void {
    for (const [of, { objects }] of [...this.#tenants]) {
      if (namespace !== null && of !== namespace) continue;
      for (const name of [...objects.keys()]) if (!isStored(of, name)) this.forget(of, name);
    }
  }

  #take<T extends KubeObject>(object: T): T {
    const { name, namespace = "" } = object.metadata;
    let tenant = this.#tenants.get(namespace);
    if (tenant === undefined) {
      tenant = { bytes: 0, crowdedOut: 0, objects: new Map() };
      this.#tenants.set(namespace, tenant);
    }
    const before = tenant.objects.get(name)?.bytes ?? 0;
    const others = tenant.bytes - before;
    const own = sizeWithoutStatus(object);
    const bytes = own + statusAllowance(object);
    const { namespaceBytes } = this.#bounds;
    const crowded: Exceeded | null = bytes > before && others + bytes > namespaceBytes
      ? { bound: "namespace", limit: namespaceBytes }
      : null;
    const excess: Exceeded | null = excessOfOne(this.#kind, object, own, this.#bounds) ?? crowded;
    const kept = excess === null ? object : stubOf(object, excess, this.#kind);
    this.#remove(tenant, name);
    const isCrowdedOut = excess?.bound === "namespace";
    const entry = {
      bytes: excess === null ? bytes : sizeWithoutStatus(kept) + statusAllowance(kept),
      isCrowdedOut,
    };
    tenant.objects.set(name, entry);
    tenant.bytes += entry.bytes;
    if (isCrowdedOut) tenant.crowdedOut++;
    // An object that shrinks makes room as a deleted one does. One that stays as it is must not, or each list would
    // cause the next.
    if (entry.bytes < before) this.#reportRoom(tenant);
    return kept;
  }

  #reportRoom({ bytes, crowdedOut }: Tenant): void {
    if (crowdedOut > 0 && bytes < this.#bounds.namespaceBytes * (1 - ROOM)) this.#onRoom();
  }

  #remove(tenant: Tenant, name: string): void {
    const kept = tenant.objects.get(name);
    if (kept === undefined) return;
    tenant.objects.delete(name);
    tenant.bytes -= kept.bytes;
    if (kept.isCrowdedOut) tenant.crowdedOut--;
  }
}

/**
 * The bound that an Ingress exceeds by itself, as `reduceIngress` leaves it; null for none. For folders, in
 * which the controller keeps nothing.
 */
export function excessOfIngress(
  ingress: KubeObject,
  bounds: ObjectBounds = DEFAULT_OBJECT_BOUNDS,
): Exceeded | null {
  return excessOfOne("Ingress", ingress, sizeWithoutStatus(ingress), bounds);
}

function excessOfOne(
  kind: BoundedKind,
  object: KubeObject,
  bytes: number,
  { ingressPaths, objectBytes }: ObjectBounds,
): Exceeded | null {
  if (kind === "Ingress" && hasMorePaths(object, ingressPaths)) {
    return { bound: "paths", limit: ingressPaths };
  }
  return bytes > objectBytes ? { bound: "bytes", limit: objectBytes } : null;
}

function hasMorePaths(object: KubeObject, limit: number): boolean {
  const { rules } = (fieldsOf(object).spec ?? {}) as { readonly rules?: unknown };
  let count = 0;
  for (const rule of Array.isArray(rules) ? rules : []) {
    const paths: unknown = rule?.http?.paths;
    count += Array.isArray(paths) ? paths.length : 1;
    if (count > limit) return true;
  }
  return false;
}

function stubOf<T extends KubeObject>(object: T, exceeded: Exceeded, kind: BoundedKind): T {
  const { spec, status, addressType } = fieldsOf(object);
  const { annotations } = object.metadata;
  const { ingressClassName, gatewayClassName, tls, type, ...others } = (spec ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const { parentRef, parentRefs, hostnames, targetRef, targetRefs } = others;
  const stub = {
    metadata: {
      ...object.metadata,
      ...(annotations === undefined ? {} : { annotations: bounded(annotations) }),
    },
    ...(spec === undefined ? {} : {
      spec: {
        ...(ingressClassName === undefined ? {} : { ingressClassName }),
        ...(gatewayClassName === undefined ? {} : { gatewayClassName }),
        ...within({ tls }, TLS_BYTES),
        ...(type === undefined ? {} : { type }),
        ...within({ parentRef }, ATTACHMENT_BYTES),
        ...within({ parentRefs }, ATTACHMENT_BYTES),
        // Services that are not spoken to in plain text; `targetRef` is that of v1alpha2.
        ...within({ targetRef }, ATTACHMENT_BYTES),
        ...within({ targetRefs }, ATTACHMENT_BYTES),
        ...within({ hostnames }, ATTACHMENT_BYTES),
      },
    }),
    ...(status === undefined ? {} : { status }),
    ...(addressType === undefined ? {} : { addressType }),
    excess: { ...exceeded, ...(kind === "Ingress" ? hostsOf(spec) : {}) },
  };
  // A kind's own fields are optional; see `made` in reduce.ts.
  return stub as unknown as T;
}

/** Each host once; the first ones in their order where there are too many. */
function hostsOf(spec: unknown): Partial<Pick<Excess, "hosts" | "hasMoreHosts">> {
  const { rules } = (spec ?? {}) as { readonly rules?: unknown };
  const written = new Set<string>();
  for (const rule of Array.isArray(rules) ? rules : []) {
    const host: unknown = rule?.host ?? "";
    if (typeof host === "string" && host.length <= MAX_HOST_LENGTH) written.add(host);
  }
  if (written.size === 0) return {};
  const hosts: string[] = [];
  let room = HOST_BYTES;
  for (const host of [...written].sort()) {
    room -= sizeOf(host) + 1;
    if (room < 0) return { hosts, hasMoreHosts: true };
    hosts.push(host);
  }
  return { hosts };
}

/**
 * The shortest ones, in the place of all others what stands for a text that is not kept: no long one
 * takes the room of a switch.
 */
function bounded(annotations: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = { ...annotations };
  const written = kept[CLASS_ANNOTATION];
  if (typeof written === "string") kept[CLASS_ANNOTATION] = written.slice(0, CLASS_LENGTH);
  const sizes = Object.entries(kept)
    .filter(([name]) => name !== CLASS_ANNOTATION)
    .map(([name, value]) => ({ name, bytes: sizeOf(value) }));
  let room = ANNOTATION_BYTES;
  for (const { name, bytes } of sizes.sort((a, b) => a.bytes - b.bytes)) {
    room -= bytes;
    if (room < 0 && bytes > CUT_BYTES) kept[name] = CUT_TEXT;
  }
  return kept;
}

/** Those of the fields that are there and short enough. */
function within(fields: Readonly<Record<string, unknown>>, bytes: number) {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && sizeOf(value) <= bytes),
  );
}

function fieldsOf(object: KubeObject): Readonly<Record<string, unknown>> {
  return object as unknown as Readonly<Record<string, unknown>>;
}

/**
 * As JSON, without its status. What the controller writes into that itself must not count: else a status that
 * makes an object too large would be replaced by the shorter one of a stub, with which the object is whole
 * again, and so on without an end.
 */
function sizeWithoutStatus(object: KubeObject): number {
  return sizeOf({ ...object, status: undefined });
}

/** Of a status: what others write into their lists, and for our entries always the same. */
function statusAllowance(object: KubeObject): number {
  const { spec, status } = object as unknown as {
    readonly spec?: Readonly<Record<string, unknown>>;
    readonly status?: Readonly<Record<string, unknown>>;
  };
  const ours = (lengthOf(spec?.parentRefs) + lengthOf(spec?.listeners)) * ENTRY_BYTES;
  const foreign = [status?.parents, status?.ancestors].flatMap((list) =>
    (Array.isArray(list) ? list : []).filter((entry) =>
      entry?.controllerName !== GATEWAY_CONTROLLER
    )
  );
  return ours + (foreign.length === 0 ? 0 : sizeOf(foreign));
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
