/**
 * The Service and the EndpointSlices of one Gateway. In: its plan, and the proxies. Out: the calls by which its
 * objects become as planned, each of them only where it changes something.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
 */
import type { Logger } from "../../../shared/log.ts";
import { keyOf } from "../../base/identity.ts";
import { asList, asPort, asText, fieldOf } from "../../base/json.ts";
import type { WriteClient } from "../../kube/fenced_client.ts";
import {
  type ApiError,
  type ApiResult,
  ENDPOINT_SLICES,
  type KubeObject,
  type Resource,
  SERVICES,
} from "../../kube/types.ts";
import { portsOf } from "./address_state.ts";
import {
  classFault,
  type Difference,
  NO_DIFFERENCE,
  serviceDifference,
  sliceDifference,
} from "./difference.ts";
import { type IpFamily, plannedSlices } from "./endpoint_slices.ts";
import { ownerOf, portName, serviceName } from "./names.ts";
import type { OwnedObject, OwnedObjects } from "./owned_objects.ts";
import type { GatewayPort } from "../../translate/gateway/gateway_translation.ts";
import type { GatewayAddressPlan } from "./plan.ts";
import type { ProxyEndpoint } from "./proxy_endpoints.ts";
import type { PutBacks } from "./put_backs.ts";
import { foreignFault } from "./refusal.ts";
import { requestedFields } from "./requested_addresses.ts";
import type { Run } from "./run.ts";
import { plannedService } from "./service_object.ts";

/** Milliseconds until a name is tried again that another object has. */
const FOREIGN_INTERVAL = 30_000;

/** Milliseconds until the watch has shown what a write has collided with. */
const CONFLICT_PAUSE = 1_000;

export interface GatewayObjectsOptions {
  readonly client: Pick<WriteClient, "create" | "patch" | "delete">;
  readonly log: Logger;
  readonly services: OwnedObjects;
  readonly slices: OwnedObjects;
  readonly putBacks: PutBacks;
}

/** One object as it is to be. */
interface Wanted {
  readonly resource: Resource;
  readonly objects: OwnedObjects;
  readonly planned: KubeObject & { readonly metadata: { readonly namespace: string } };
  readonly differenceFrom: (live: KubeObject) => Difference;
}

export class GatewayObjects {
  readonly #options: GatewayObjectsOptions;

  constructor(options: GatewayObjectsOptions) {
    this.#options = options;
  }

  /** Makes all objects of a Gateway as planned, and deletes what it does not need any more. */
  async ensure(
    plan: GatewayAddressPlan,
    endpoints: readonly ProxyEndpoint[],
    run: Run,
  ): Promise<void> {
    await this.keepSlices(plan, endpoints, run);
    if (run.isIll) return;
    await this.#ensureService(plan, run);
    if (run.isIll) return;
    const service = this.#serviceOf(plan);
    if (service !== null) {
      const ports = plan.ports ?? this.#portsThere(plan, service.object);
      await this.#ensureSlices(plan, ports, service.object, endpoints, run);
    }
    await this.#removeOthers(plan, service?.object ?? null, endpoints, run);
  }

  /** Puts the slices of a Service right that is there, for our ports of it and those that it is to get. */
  async keepSlices(
    plan: GatewayAddressPlan,
    endpoints: readonly ProxyEndpoint[],
    run: Run,
  ): Promise<void> {
    const service = this.#serviceOf(plan);
    if (service === null) return;
    const ports = unionOf(plan.ports ?? [], this.#portsThere(plan, service.object));
    await this.#ensureSlices(plan, ports, service.object, endpoints, run);
  }

  /**
   * Deletes all objects of a Gateway, slices first: once its name is free, another Gateway's Service may have it,
   * and must not lead to these ports. Whether none is left. @param key As `keyOf`.
   */
  async remove(key: string, run: Run): Promise<boolean> {
    const { services, slices } = this.#options;
    for (const owned of slices.of(key)) await this.#delete(ENDPOINT_SLICES, slices, owned, run);
    if (slices.of(key).length > 0) return false;
    for (const owned of services.of(key)) await this.#delete(SERVICES, services, owned, run);
    return services.of(key).length === 0;
  }

  #serviceOf({ gateway }: GatewayAddressPlan): OwnedObject | null {
    return this.#options.services.ofOwner(gateway.namespace, serviceName(gateway), gateway.uid);
  }

  /**
   * The ports of a Service that our slices have, which get each one first: others may have edited the Service.
   * Those of the Service where there is no slice.
   */
  #portsThere({ gateway }: GatewayAddressPlan, service: KubeObject): readonly GatewayPort[] {
    const ports = portsOf(service);
    const slices = this.#options.slices.of(keyOf(gateway));
    const ours = new Map(slices.flatMap(({ object }) => slicePortsOf(object)));
    return ours.size === 0 ? ports : ports.flatMap(({ port }) => {
      const containerPort = ours.get(portName(port));
      return containerPort === undefined ? [] : [{ port, containerPort }];
    });
  }

  async #ensureService(plan: GatewayAddressPlan, run: Run): Promise<void> {
    const { services } = this.#options;
    const { service } = plan;
    const before = this.#serviceOf(plan);
    // Edits of others are put back also while it is not known which ports are open.
    const ports = plan.ports ?? (before === null ? [] : this.#portsThere(plan, before.object));
    // What is there stays: the address of a Gateway does not go because a change of it is wrong.
    if (service === null || ports.length === 0) return;
    const requested = requestedFields(plan.addresses, service.type);
    if (!requested.ok) return;
    const planned = plannedService({ ...plan, service }, ports, requested.fields);
    await this.#ensureObject({
      resource: SERVICES,
      objects: services,
      planned,
      differenceFrom: (live) => {
        const difference = serviceDifference(planned, live);
        // A new one waits until its ports are known.
        return plan.ports === null && difference.kind === "recreate" ? NO_DIFFERENCE : difference;
      },
    }, run);
    const there = this.#serviceOf(plan);
    const fault = there === null ? null : classFault(planned, there.object);
    if (fault !== null) run.faulty(fault);
  }

  async #ensureSlices(
    plan: GatewayAddressPlan,
    ports: readonly GatewayPort[],
    service: KubeObject,
    endpoints: readonly ProxyEndpoint[],
    run: Run,
  ): Promise<void> {
    for (const planned of plannedSlices(plan, ports, familiesOf(service), endpoints)) {
      await this.#ensureObject({
        resource: ENDPOINT_SLICES,
        objects: this.#options.slices,
        planned,
        differenceFrom: (live) => sliceDifference(planned, live),
      }, run);
      if (run.isIll) return;
    }
  }

  /** Objects of the Gateway, or of one of its name before it, that the plan does not have. */
  async #removeOthers(
    plan: GatewayAddressPlan,
    service: KubeObject | null,
    endpoints: readonly ProxyEndpoint[],
    run: Run,
  ): Promise<void> {
    const { services, slices } = this.#options;
    const { gateway } = plan;
    const key = keyOf(gateway);
    const isOther = ({ object }: OwnedObject) => ownerOf(object)?.uid !== gateway.uid;
    const name = serviceName(gateway);
    const kept = service === null ? null : new Set(
      plannedSlices(
        plan,
        plan.ports ?? this.#portsThere(plan, service),
        familiesOf(service),
        endpoints,
      )
        .map(({ metadata }) => metadata.name),
    );
    for (const owned of slices.of(key)) {
      // Without a Service, they wait for it: it may be made anew.
      const isKept = kept === null || kept.has(owned.object.metadata.name);
      if (isKept && !isOther(owned)) continue;
      await this.#delete(ENDPOINT_SLICES, slices, owned, run);
    }
    for (const owned of services.of(key)) {
      if (!isOther(owned) && owned.object.metadata.name === name) continue;
      await this.#delete(SERVICES, services, owned, run);
    }
  }

  async #ensureObject(wanted: Wanted, run: Run): Promise<void> {
    const { client, putBacks } = this.#options;
    const { resource, objects, planned, differenceFrom } = wanted;
    const { namespace, name } = planned.metadata;
    const there = objects.get(namespace, name);
    // It is on its way out, or another Gateway's; the watch tells when it has gone.
    if (there !== null && !isUsable(there.object, planned)) {
      return this.#taken(resource, there.object, planned, run);
    }
    const difference = there === null ? null : differenceFrom(there.object);
    if (difference?.kind === "none") return;
    const wait = putBacks.waitFor(nameOf(resource, planned), planned);
    if (wait > 0) return run.again(wait);
    if (there !== null && difference?.kind === "recreate") {
      return await this.#delete(resource, objects, there, run, "recreated");
    }
    run.called();
    const result: ApiResult<KubeObject> = there === null
      ? await client.create(resource, planned)
      : await client.patch(
        resource,
        namespace,
        name,
        versioned(difference?.kind === "patch" ? difference.patch : {}, there.version),
        { type: "merge" },
      );
    if (result.ok) {
      putBacks.wrote(nameOf(resource, planned), planned);
      objects.wrote(result.value);
      return this.#log(resource, planned, there === null ? "created" : "changed");
    }
    if (there === null && isTaken(result.error)) {
      const stored = objects.stored(namespace, name);
      return stored === null
        ? this.#foreign(resource, planned, null, run)
        : this.#taken(resource, stored, planned, run);
    }
    if (there !== null && isOutdated(result.error)) return this.#outdated(objects, run);
    run.refused(resource.kind, `${namespace}/${name}`, result.error);
  }

  /** An object of ours has the name, which is not this Gateway's or is being deleted. */
  #taken(resource: Resource, there: KubeObject, planned: KubeObject, run: Run): void {
    const owner = ownerOf(there);
    const wanted = ownerOf(planned);
    if (owner?.name !== wanted?.name) {
      const { namespace = "" } = there.metadata;
      const key = owner === null ? null : keyOf({ namespace, name: owner.name });
      return this.#foreign(resource, planned, key, run);
    }
    const { namespace, name } = planned.metadata;
    run.faulty({
      reason: "Pending",
      message: `${resource.kind} ${namespace}/${name} is being deleted, and is then created anew.`,
    });
    run.again(CONFLICT_PAUSE);
  }

  #foreign(resource: Resource, { metadata }: KubeObject, owner: string | null, run: Run): void {
    const name = `${metadata.namespace}/${metadata.name}`;
    run.faulty(foreignFault(resource.kind, name, owner));
    run.again(FOREIGN_INTERVAL);
  }

  async #delete(
    resource: Resource,
    objects: OwnedObjects,
    { object, version }: OwnedObject,
    run: Run,
    verb: "deleted" | "recreated" = "deleted",
  ): Promise<void> {
    const { namespace = "", name, uid, deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || run.isIll) return;
    run.called();
    const preconditions = { uid, resourceVersion: version };
    const result = await this.#options.client.delete(resource, namespace, name, preconditions);
    if (result.ok || result.error.code === 404) {
      objects.deleted(object);
      this.#options.putBacks.forget(nameOf(resource, object));
      this.#log(resource, object, verb);
      if (verb === "recreated") run.again(0);
      return;
    }
    if (isOutdated(result.error)) return this.#outdated(objects, run);
    run.refused(resource.kind, `${namespace}/${name}`, result.error);
  }

  /** It has changed since the watch showed it, or has gone: the watch brings us back. */
  #outdated(objects: OwnedObjects, run: Run): void {
    objects.forget();
    run.again(CONFLICT_PAUSE);
  }

  #log({ kind }: Resource, { metadata: { namespace, name } }: KubeObject, verb: string): void {
    // Slices change with each proxy.
    const level = kind === SERVICES.kind ? "info" : "debug";
    this.#options.log[level]("Address of a Gateway changed", { kind, namespace, name, verb });
  }
}

/** By name. */
function slicePortsOf(slice: KubeObject): readonly (readonly [string, number])[] {
  return (asList(fieldOf(slice, "ports")) ?? []).flatMap((entry) => {
    const [name, port] = [asText(fieldOf(entry, "name")), asPort(fieldOf(entry, "port"))];
    return name === null || port === null ? [] : [[name, port] as const];
  });
}

/** Whether an object of ours is the planned one, and stays. */
function isUsable(there: KubeObject, planned: KubeObject): boolean {
  return ownerOf(there)?.uid === ownerOf(planned)?.uid &&
    there.metadata.deletionTimestamp === undefined;
}

function versioned(
  patch: Readonly<Record<string, unknown>>,
  resourceVersion: string,
): Readonly<Record<string, unknown>> {
  const metadata = fieldOf(patch, "metadata") as Readonly<Record<string, unknown>> | undefined;
  return { ...patch, metadata: { ...metadata, resourceVersion } };
}

function isTaken({ code, reason }: ApiError): boolean {
  return code === 409 && reason === "AlreadyExists";
}

function isOutdated({ code }: ApiError): boolean {
  return code === 409 || code === 404;
}

/** Families of the Service's addresses; the API server fills them in. */
function familiesOf(service: KubeObject): readonly IpFamily[] {
  return (asList(fieldOf(fieldOf(service, "spec"), "ipFamilies")) ?? [])
    .filter((family): family is IpFamily => family === "IPv4" || family === "IPv6");
}

/** The first of each public port. */
function unionOf(
  first: readonly GatewayPort[],
  second: readonly GatewayPort[],
): readonly GatewayPort[] {
  const ports = new Set(first.map(({ port }) => port));
  return [...first, ...second.filter(({ port }) => !ports.has(port))];
}

function nameOf({ kind }: Resource, { metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
