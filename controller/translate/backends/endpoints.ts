/**
 * Endpoints of a Service port. In: EndpointSlices of unknown shape. Out: the addresses to send
 * requests to: ready ones, or while none is ready those that are terminating but still serving.
 * Each slice is read once, since most Services of a large cluster stay as they are.
 *
 * https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions
 */
import { isIP } from "node:net";
import { parsedAddress } from "../../../shared/net/parsed_address.ts";
import { reservedForm } from "../../../shared/net/reserved_address.ts";
import type { Endpoint } from "../../../shared/snapshot/types.ts";
import { EndpointTally } from "../model/endpoint_sizes.ts";
import type { Denied, DeniedKind } from "./denied.ts";
import { type Identified, type Identity, ObjectIndex, readIdentity } from "../../base/identity.ts";
import { asList, asPort, asText, fieldOf, isAbsent, quote } from "../../base/json.ts";
import { LastResult } from "../../base/memo.ts";
import {
  type ObjectProblem,
  type ProblemList,
  recordProblems,
  type Report,
} from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import { readZones } from "./zone_names.ts";

const SERVICE_LABEL = "kubernetes.io/service-name";

export interface EndpointOptions {
  readonly allowLocalEndpoints: boolean;
  readonly denied: Denied;
}

/** What the slices of a Service say of one of its ports. */
export interface EndpointReading {
  /** Sorted by address, then port, without repetition. */
  readonly endpoints: readonly Endpoint[];
  /** Why there is none, as a clause: `it has no EndpointSlices`. */
  readonly absence: string;
}

/** An EndpointSlice, with what it says by itself. */
export class Slice implements Identified {
  readonly identity: Identity;
  readonly object: object;
  /** Key of the Service that it belongs to; null for none. */
  readonly serviceKey: string | null;
  #withLocal: Addresses | null = null;
  #withoutLocal: Addresses | null = null;

  constructor(identity: Identity, object: object) {
    this.identity = identity;
    this.object = object;
    const labels = fieldOf(fieldOf(object, "metadata"), "labels");
    const service = asText(fieldOf(labels, SERVICE_LABEL));
    this.serviceKey = service === null ? null : `${identity.ref.namespace}/${service}`;
  }

  addresses({ allowLocalEndpoints }: EndpointOptions): Addresses {
    return allowLocalEndpoints
      ? this.#withLocal ??= this.#read(true)
      : this.#withoutLocal ??= this.#read(false);
  }

  #read(allowLocal: boolean): Addresses {
    const read = recordProblems((list) =>
      readAddresses(this.object, allowLocal, list.about(this.identity.ref))
    );
    const tally = new EndpointTally();
    const sorted = [...read.value].sort((a, b) => compareText(a.address, b.address));
    for (const [i, one] of sorted.entries()) {
      one.units = tally.add(one, i === 0 ? "" : sorted[i - 1].address);
    }
    return { ...read, tally };
  }
}

interface Addresses {
  readonly value: readonly Address[];
  readonly problems: readonly ObjectProblem[];
  /** What they take. */
  readonly tally: EndpointTally;
}

/** Null for one without an identity. */
function readSlice(object: object): Slice | null {
  const identity = readIdentity("EndpointSlice", object);
  return identity === null ? null : new Slice(identity, object);
}

/** By `namespace/service`; the slices of each in the order of their names. */
export type SlicesByService = ReadonlyMap<string, readonly Slice[]>;

export class EndpointIndex {
  readonly #slices = new ObjectIndex(readSlice);
  readonly #last = new LastResult<ReadonlyMap<string, Slice>, SlicesByService>();
  /** How the last groups were made of the ones before. */
  #change: { readonly from: SlicesByService; readonly keys: ReadonlySet<string> } | null = null;

  /** The very same as before where the objects are. */
  of(objects: readonly unknown[], problems: ProblemList): SlicesByService {
    const slices = this.#slices.of(objects, problems);
    const { last } = this.#last;
    if (last?.inputs === slices) return last.result;
    const changed = this.#slices.changedSince(last?.inputs ?? null);
    if (last === null || changed === null) {
      this.#change = null;
      return this.#last.keep(slices, groupSlices(slices.values()));
    }
    const keys = new Set(
      [...changed].flatMap((key) =>
        [last.inputs.get(key), slices.get(key)].flatMap((slice) => slice?.serviceKey ?? [])
      ),
    );
    this.#change = { from: last.result, keys };
    const coming = Map.groupBy(
      [...changed].flatMap((key) => slices.get(key) ?? []),
      ({ serviceKey }) => serviceKey,
    );
    const isStaying = ({ identity }: Slice) => !changed.has(identity.key);
    const groups = new Map(last.result);
    for (const key of keys) {
      const staying = (last.result.get(key) ?? []).filter(isStaying);
      const list = [...staying, ...coming.get(key) ?? []];
      if (list.length === 0) groups.delete(key);
      else groups.set(key, list.sort(bySliceName));
    }
    return this.#last.keep(slices, groups);
  }

  /** Keys of Services with other slices now than in some groups; null for all. */
  changedSince(before: SlicesByService | null): ReadonlySet<string> | null {
    if (before !== null && before === this.#last.last?.result) return NO_SERVICES;
    return before !== null && this.#change?.from === before ? this.#change.keys : null;
  }
}

const NO_SERVICES: ReadonlySet<string> = new Set();

function bySliceName(a: Slice, b: Slice): number {
  return compareText(a.identity.ref.name, b.identity.ref.name);
}

function groupSlices(slices: Iterable<Slice>): SlicesByService {
  const groups = new Map<string, Slice[]>();
  for (const slice of slices) {
    if (slice.serviceKey === null) continue;
    const others = groups.get(slice.serviceKey);
    if (others === undefined) groups.set(slice.serviceKey, [slice]);
    else others.push(slice);
  }
  for (const list of groups.values()) {
    if (list.length > 1) list.sort(bySliceName);
  }
  return groups;
}

/** What all endpoints of a Service take. */
export function tallyOf(slices: readonly Slice[], options: EndpointOptions): EndpointTally {
  const tally = new EndpointTally();
  for (const slice of slices) tally.addAll(slice.addresses(options).tally);
  return tally;
}

/**
 * @param slices All of one Service, in the order of their names.
 * @param portName Name of the Service's port, "" for one without, as slices repeat it.
 * @param fallbackPort For slices that restrict no ports.
 * @param limit Of endpoints, in ordinary ones: those of the first slices, and without zones, which take more
 * than all else of an endpoint. Infinity for none.
 */
export function readEndpoints(
  slices: readonly Slice[],
  portName: string,
  fallbackPort: number,
  options: EndpointOptions,
  problems: ProblemList,
  limit: number,
): EndpointReading {
  if (slices.length === 0) return { endpoints: [], absence: "it has no EndpointSlices" };
  const byState: Readonly<Record<EndpointState, Candidate[]>> = { ready: [], leaving: [], out: [] };
  const taken: Record<EndpointState, number> = { ready: 0, leaving: 0, out: 0 };
  const zones = limit === Infinity ? null : WITHOUT_ZONES;
  for (const slice of slices) {
    // Nothing more is read of a Service that is over a bound than it gets.
    if (taken.ready >= limit) break;
    const ports = portsOf(slice.object, portName, fallbackPort);
    if (ports.length === 0) continue;
    const addresses = slice.addresses(options);
    problems.addAll(addresses.problems);
    for (const found of addresses.value) {
      for (const port of ports) {
        const refusal = options.denied.refusal(found.address, port, found.isPod);
        const { state } = found;
        if (refusal === null) {
          const { units } = found;
          // The first one in any case: it still serves then.
          if (taken[state] > 0 && taken[state] + units > limit) continue;
          taken[state] += units;
          byState[state].push({ ...found, ...zones, port });
        } else reportDenied(found, refusal, problems.about(slice.identity.ref));
      }
    }
  }
  const { ready, leaving, out } = byState;
  return {
    endpoints: sortedEndpoints(ready.length > 0 ? ready : leaving),
    absence: ready.length + leaving.length + out.length > 0
      ? "none of its endpoints is ready"
      : "its EndpointSlices have no usable address for that port",
  };
}

const WITHOUT_ZONES = { zone: null, hints: null };

function readAddresses(slice: unknown, allowLocal: boolean, report: Report): readonly Address[] {
  const found: Address[] = [];
  // One problem for all: they mostly have the same zone.
  let hasRefused = false;
  const endpoints = asList(fieldOf(slice, "endpoints")) ?? [];
  for (const [i, endpoint] of endpoints.entries()) {
    const state = stateOf(fieldOf(endpoint, "conditions"));
    // Hints are for ready endpoints: while only others serve, whoever still does is asked.
    const { zone, hints, refused } = readZones(endpoint, state === "ready");
    if (refused !== null && !hasRefused) {
      hasRefused = true;
      reportZones(`endpoints[${i}].${refused}`, fieldOf(endpoint, refused), report);
    }
    const isPod = fieldOf(fieldOf(endpoint, "targetRef"), "kind") === "Pod";
    const addresses = asList(fieldOf(endpoint, "addresses")) ?? [];
    // All of them: the API calls the addresses of one endpoint fungible.
    for (const [j, written] of addresses.entries()) {
      const field = `endpoints[${i}].addresses[${j}]`;
      const address = readAddress(written, field, allowLocal, report);
      if (address !== null) found.push({ address, state, zone, hints, isPod, at: i, units: 1 });
    }
  }
  return found;
}

function reportZones(field: string, written: unknown, report: Report): void {
  report.warning(field, {
    reason: "EndpointZoneInvalid",
    message: typeof written === "string"
      ? `${quote(written)} is not the name of a zone, so the endpoint counts as one without a zone`
      : "the hints are not up to 8 names of zones, so the endpoint is used from all zones",
    remedy: "Write zones as the label topology.kubernetes.io/zone of the nodes has them, of at " +
      "most 63 characters",
  });
}

function readAddress(
  written: unknown,
  field: string,
  allowLocal: boolean,
  report: Report,
): string | null {
  // isIP, since ipaddr.js takes 10.1 and 0x7f000001 too; a zone index names an interface of ours.
  if (typeof written !== "string" || isIP(written) === 0 || written.includes("%")) {
    report.error(field, {
      reason: "EndpointInvalid",
      message: `${quote(written)} is not an IP address, so the endpoint is left out`,
      remedy: "Write an IPv4 or IPv6 address; names need a Service of type ExternalName",
    });
    return null;
  }
  const address = parsedAddress(written);
  const reserved = reservedForm(address);
  if (reserved !== null && !allowLocal) {
    report.error(field, {
      reason: "EndpointNotAllowed",
      message: `${quote(written)} is ${reserved.what}, so it is left out`,
      remedy: "Use the address of a pod or of another machine",
    });
    return null;
  }
  return address.toString();
}

/** `leaving`: terminating, but still serving. */
export type EndpointState = "ready" | "leaving" | "out";

interface Address {
  readonly address: string;
  readonly state: EndpointState;
  readonly zone: string | null;
  readonly hints: readonly string[] | null;
  /** Whether it is said to be a Pod's. */
  readonly isPod: boolean;
  /** Index of the endpoint. */
  readonly at: number;
  /** What it takes without zones, in ordinary endpoints; set once all of the slice are read. */
  units: number;
}

interface Candidate extends Address {
  readonly port: number;
}

const DENIED: Readonly<Record<DeniedKind, string>> = {
  api: "the API server's address",
  node: "a node's address, and its targetRef names no Pod",
  service: "an address of a Service",
};

function reportDenied({ address, at }: Address, kind: DeniedKind, report: Report): void {
  report.error(`endpoints[${at}].addresses`, {
    reason: "EndpointNotAllowed",
    message: `${quote(address)} is ${DENIED[kind]}, so it is left out`,
    remedy: "Use the address of a pod or of a machine that is no node",
  });
}

/** Conditions that are null or missing: ready and serving count as true, terminating as false. */
export function stateOf(conditions: unknown): EndpointState {
  const ready = fieldOf(conditions, "ready");
  if (isAbsent(ready) || ready === true) return "ready";
  const serving = fieldOf(conditions, "serving");
  return (isAbsent(serving) || serving === true) && fieldOf(conditions, "terminating") === true
    ? "leaving"
    : "out";
}

/** Numbers of the slice's TCP ports with that name. */
export function portsOf(slice: unknown, name: string, fallback: number): readonly number[] {
  const numbers: number[] = [];
  for (const port of asList(fieldOf(slice, "ports")) ?? []) {
    const protocol = fieldOf(port, "protocol");
    if (!isAbsent(protocol) && protocol !== "TCP") continue;
    if ((fieldOf(port, "name") ?? "") !== name) continue;
    const number = fieldOf(port, "port");
    const read = isAbsent(number) ? fallback : asPort(number);
    if (read !== null) numbers.push(read);
  }
  return numbers;
}

function sortedEndpoints(candidates: readonly Candidate[]): readonly Endpoint[] {
  const sorted = [...candidates].sort((a, b) =>
    compareText(a.address, b.address) || a.port - b.port || compareText(a.zone ?? "", b.zone ?? "")
  );
  const endpoints: Endpoint[] = [];
  for (const { address, port, zone, hints } of sorted) {
    const last = endpoints.at(-1);
    if (last?.address === address && last.port === port) continue;
    endpoints.push({
      address,
      port,
      ...(zone === null ? {} : { zone }),
      ...(hints === null ? {} : { hints }),
    });
  }
  return endpoints;
}
