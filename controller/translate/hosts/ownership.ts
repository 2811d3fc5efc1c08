/**
 * Which namespace owns each host. In: Ingresses and HTTPRoutes, oldest first, what Namespace objects say,
 * recorded claims, and what was published. Out: the owner of each host that one names, the claims to
 * record next, and problems on both sides where another namespace names the host too.
 *
 * The owner is the namespace whose Namespace object says so, else the one with the oldest recorded
 * claim, else the one whose object is oldest. Exact names and `*.suffix` are separate hosts; rules
 * without a host are nobody's. Ownership ends when no living object of the namespace names the host.
 */
import { sharedSocketOf } from "../../../shared/snapshot/listener_id.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { HTTP_ROUTES, INGRESSES } from "../../kube/types.ts";
import {
  type HostClaims,
  isSameClaimList,
  isSameClaims,
  type RecordedClaim,
} from "./host_claims.ts";
import {
  type Claimants,
  type HostClaimant,
  type HostOwner,
  type HostOwnershipMode,
  type Standing,
  standingOf,
} from "./host_owner.ts";
import { differenceOf, isSameList, LastResult } from "../../base/memo.ts";
import type { AssignedHost, NamespaceFacts } from "./namespace_facts.ts";
import { broaderPatterns } from "../model/host.ts";
import { reportOwnership } from "./ownership_problems.ts";
import type { ObjectProblem } from "../../base/problems.ts";
import type { HostField } from "../model/host_field.ts";

/** Claims recorded for a host: its owner, and some that wait. */
const MAX_CLAIMS = 8;

export interface OwnershipInputs {
  readonly mode: HostOwnershipMode;
  /** The oldest first. */
  readonly claimants: readonly HostClaimant[];
  readonly namespaces: NamespaceFacts;
  /** Null where none are recorded. */
  readonly claims: HostClaims | null;
  /** Read where no claims are recorded: who served a host keeps it. */
  readonly published: Snapshot | null;
  /** Namespaces with Ingresses that could not be read whole: their recorded claims hold. */
  readonly kept: ReadonlySet<string>;
}

export class Ownership {
  readonly mode: HostOwnershipMode;
  readonly owners: ReadonlyMap<string, HostOwner>;
  readonly assigned: ReadonlyMap<string, AssignedHost>;
  /** Hosts that concern more than one namespace, or a Namespace object. */
  readonly contested: ReadonlySet<string>;
  /** To be recorded; null where hosts are shared by all. */
  readonly claims: HostClaims | null;
  readonly problems: readonly ObjectProblem[];
  #changes: { readonly before: Ownership; readonly changed: readonly string[] | null } | null =
    null;

  constructor(parts: Omit<Ownership, "standing" | "wildcardAbove" | "isOwn" | "changedSince">) {
    this.mode = parts.mode;
    this.owners = parts.owners;
    this.assigned = parts.assigned;
    this.contested = parts.contested;
    this.claims = parts.claims;
    this.problems = parts.problems;
  }

  standing(host: string, namespace: string): Standing {
    return standingOf(this.owners.get(host), namespace);
  }

  /** The most specific wildcard that somebody owns and that takes requests for a host, or for all of a wildcard. */
  wildcardAbove(host: string): string | undefined {
    const { owners } = this;
    let takesOneLabel = !host.startsWith("*.");
    for (const pattern of broaderPatterns(host)) {
      const owner = owners.get(pattern);
      if (owner !== undefined && (takesOneLabel || owner.isDeep)) return pattern;
      takesOneLabel = false;
    }
    return undefined;
  }

  /** Whether what `namespace` says of the rest of the host counts: it owns it, or nobody does. */
  isOwn(host: string, namespace: string): boolean {
    const standing = this.standing(host, namespace);
    return standing === "owner" || standing === "free";
  }

  /** Hosts that have another owner than before; null where all may. */
  changedSince(before: Ownership): readonly string[] | null {
    if (before === this) return NO_NAMES;
    // Asked by several stages of one translation.
    if (this.#changes?.before !== before) {
      this.#changes = { before, changed: this.#changedSince(before) };
    }
    return this.#changes.changed;
  }

  #changedSince(before: Ownership): readonly string[] | null {
    if (before.mode !== this.mode || before.assigned !== this.assigned) return null;
    // Whether there are owners at all decides what the hosts of others get.
    if ((before.owners.size === 0) !== (this.owners.size === 0)) return null;
    const changed: string[] = [];
    for (const [host, owner] of this.owners) {
      if (before.owners.get(host) !== owner) changed.push(host);
    }
    for (const host of before.owners.keys()) if (!this.owners.has(host)) changed.push(host);
    return changed;
  }
}

export class OwnershipResolver {
  readonly #memory = new LastResult<OwnershipInputs, Ownership>();

  /**
   * The very same as before where nothing that it depends on changed.
   *
   * @param now Milliseconds since the epoch; stands in new claims, and decides nothing.
   */
  resolve(inputs: OwnershipInputs, now: number): Ownership {
    const { last } = this.#memory;
    if (last === null || last.inputs.mode !== inputs.mode) return this.#resolveAll(inputs, now);
    if (inputs.mode === "shared") return this.#memory.keep(inputs, last.result);
    const isSame = last.inputs.namespaces === inputs.namespaces && inputs.kept.size === 0 &&
      last.inputs.kept.size === 0 && isSameRecord(last.inputs, inputs, last.result);
    const touched = isSame ? touchedHosts(last.inputs.claimants, inputs.claimants) : null;
    if (touched === null) return this.#resolveAll(inputs, now);
    if (touched.size === 0) return this.#memory.keep(inputs, last.result);
    return inputs.claims === null
      ? this.#resolveAll(inputs, now)
      : this.#memory.keep(inputs, determine(inputs, now, last.result, touched));
  }

  #resolveAll(inputs: OwnershipInputs, now: number): Ownership {
    const before = this.#memory.last?.result ?? null;
    return this.#memory.keep(inputs, determine(inputs, now, before, null));
  }
}

/** Recording what came out of a call changes nothing. */
function isSameRecord(
  { claims: before, published }: OwnershipInputs,
  { claims, published: now }: OwnershipInputs,
  result: Ownership,
): boolean {
  if (claims === null) return before === null && published === now;
  return claims === before || (result.claims !== null && isSameClaims(claims, result.claims));
}

/** The hosts named by objects that came, went, or say something else of hosts; null for many. */
function touchedHosts(
  before: readonly HostClaimant[],
  now: readonly HostClaimant[],
): ReadonlySet<string> | null {
  const touched = new Set<string>();
  if (before === now) return touched;
  const { removed, added } = differenceOf(before, now);
  if (removed.length + added.length > now.length / 8) return null;
  const isPaired = removed.length === added.length;
  for (const [i, ingress] of removed.entries()) {
    if (isPaired && isSameClaimant(ingress, added[i])) continue;
    const names = isPaired ? [...claimsOf(ingress), ...claimsOf(added[i])] : claimsOf(ingress);
    for (const { host } of names) touched.add(host);
  }
  if (isPaired) return touched;
  for (const ingress of added) for (const { host } of claimsOf(ingress)) touched.add(host);
  return touched;
}

/** All names that an object claims. */
function claimsOf({ hosts, otherNames }: HostClaimant): readonly HostField[] {
  return otherNames.length === 0 ? hosts : [...hosts, ...otherNames];
}

function isSameClaimant(a: HostClaimant, b: HostClaimant): boolean {
  return a.identity.label === b.identity.label && a.identity.createdAt === b.identity.createdAt &&
    a.isDying === b.isDying && isSameList(a.sharesWith, b.sharesWith) &&
    isSameNames(a.hosts, b.hosts) && isSameNames(a.otherNames, b.otherNames);
}

function isSameNames(a: readonly HostField[], b: readonly HostField[]): boolean {
  return a.length === b.length &&
    a.every(({ host, field }, i) => host === b[i].host && field === b[i].field);
}

const NO_NAMES: readonly string[] = [];

/** @param only Hosts to determine anew, where all others are as in `before`; null for all. */
function determine(
  inputs: OwnershipInputs,
  now: number,
  before: Ownership | null,
  only: ReadonlySet<string> | null,
): Ownership {
  const { mode, namespaces, claims } = inputs;
  const { assigned } = namespaces;
  if (mode === "shared") {
    const none = { owners: new Map(), assigned: new Map(), contested: new Set<string>() };
    return new Ownership({ mode, ...none, claims: null, problems: [] });
  }
  const since = `${new Date(now).toISOString().slice(0, 19)}Z`;
  const claimants = collect(
    inputs,
    only === null ? null : new Set([...only, ...before?.contested ?? []]),
  );
  const served = claims === null ? servedBy(inputs.published) : new Map<string, Set<string>>();
  const kept = only === null ? null : before;
  const owners = new Map(kept?.owners);
  const record = new Map(kept?.claims);
  const contested = new Set(kept === null ? assigned.keys() : kept.contested);
  for (const host of only ?? []) {
    owners.delete(host);
    record.delete(host);
    if (!assigned.has(host)) contested.delete(host);
  }
  for (const [host, { living, dying }] of claimants) {
    if (only !== null && !only.has(host)) continue;
    const counting = living.length > 0 ? living : dying;
    const claimed = claims?.get(host) ?? [];
    // What is being deleted serves on, but has no claim any more: neither to be recorded, nor to
    // decide until the record has lost it.
    const hasClaims = living.length > 0 || claimed.some((one) => inputs.kept.has(one.namespace));
    const recorded = hasClaims ? claimed : [];
    const names = namesOf(counting, recorded, inputs.kept);
    if (names.length === 0) continue;
    const list = inOrder(
      { names, recorded, served: served.get(host) ?? null, since },
      assigned.get(host)?.namespace ?? null,
      counting,
    );
    if (hasClaims) {
      const most = list.slice(0, MAX_CLAIMS);
      record.set(host, isSameClaimList(most, recorded) ? recorded : most);
    }
    const owner = ownerOf(host, list, assigned.get(host), { living, dying });
    const last = before?.owners.get(host);
    owners.set(host, last !== undefined && isSameOwner(last, owner) ? last : owner);
    if (isContested(living, dying, names, owner)) contested.add(host);
  }
  for (const [host, { namespace }] of assigned) {
    if (owners.has(host)) continue;
    const since = null;
    owners.set(host, {
      namespace,
      because: "assigned",
      since,
      sharers: NO_NAMES,
      guests: NO_NAMES,
      isDeep: host.startsWith("*."),
    });
  }
  return new Ownership({
    mode,
    owners,
    assigned,
    contested,
    claims: claims !== null && isSameClaims(claims, record) ? claims : record,
    problems: reportOwnership(contested, claimants, owners),
  });
}

/** @param only Null for all hosts. */
function collect(
  { claimants: objects, namespaces, claims, kept }: OwnershipInputs,
  only: ReadonlySet<string> | null,
): Map<string, Claimants> {
  const claimants = new Map<string, Claimants>();
  const of = (host: string): Claimants => {
    let found = claimants.get(host);
    if (found === undefined) claimants.set(host, found = { living: [], dying: [] });
    return found;
  };
  const add = (object: HostClaimant, names: readonly HostField[]) => {
    const isDying = object.isDying || namespaces.terminating.has(object.identity.ref.namespace);
    for (const { host } of names) {
      if (only !== null && !only.has(host)) continue;
      of(host)[isDying ? "dying" : "living"].push(object);
    }
  };
  for (const object of objects) add(object, object.hosts);
  // Where nothing is recorded, a name counts less than the host of a rule.
  for (const object of objects) {
    if (object.otherNames.length > 0) add(object, object.otherNames);
  }
  if (kept.size === 0 || claims === null) return claimants;
  for (const [host, list] of claims) {
    if (list.some(({ namespace }) => kept.has(namespace))) of(host);
  }
  return claimants;
}

/** Namespaces that had routes of a host, by host; of an alias those of the host that it stands for. */
function servedBy(published: Snapshot | null): Map<string, Set<string>> {
  const served = new Map<string, Set<string>>();
  const aliases = (published?.hostSettings ?? []).filter(({ aliasOf }) => aliasOf !== undefined);
  const aliasesOf = Map.groupBy(aliases, ({ aliasOf }) => aliasOf!);
  const add = (host: string, namespace: string) => {
    const names = served.get(host);
    if (names === undefined) served.set(host, new Set([namespace]));
    else names.add(namespace);
  };
  for (const { host, origin: { kind, namespace }, listeners = [] } of published?.routes ?? []) {
    if (kind === INGRESSES.kind) {
      add(host, namespace);
      for (const { id } of aliasesOf.get(host) ?? []) add(id, namespace);
    } else if (
      // Of Gateways, those alone that share an address.
      kind === HTTP_ROUTES.kind && listeners.some((id) => sharedSocketOf(id) !== null)
    ) add(host, namespace);
  }
  return served;
}

/** Each once; oldest Ingress first. */
function namesOf(
  counting: readonly HostClaimant[],
  recorded: readonly RecordedClaim[],
  kept: ReadonlySet<string>,
): readonly string[] {
  if (counting.length === 1 && kept.size === 0) return [counting[0].identity.ref.namespace];
  const names = new Set(counting.map(({ identity }) => identity.ref.namespace));
  for (const { namespace } of recorded) if (kept.has(namespace)) names.add(namespace);
  return [...names];
}

interface HostHistory {
  readonly names: readonly string[];
  readonly recorded: readonly RecordedClaim[];
  /** Namespaces that served it; null unless no claims are recorded at all. */
  readonly served: ReadonlySet<string> | null;
  readonly since: string;
}

/** The claims of all `names`, the owner's first. */
function inOrder(
  { names, recorded, served, since }: HostHistory,
  assignedTo: string | null,
  counting: readonly HostClaimant[],
): readonly RecordedClaim[] {
  const old = recorded.filter(({ namespace }) => names.includes(namespace));
  const others = names.filter((name) => !old.some(({ namespace }) => namespace === name));
  const serving = served === null ? [] : others.filter((name) => served.has(name));
  const idle = others.filter((name) => !serving.includes(name));
  const added = (name: string): RecordedClaim => ({ namespace: name, since });
  const list = [...old, ...serving.map(added), ...idle.map(added)];
  if (assignedTo !== null) {
    const plain = list.map(({ namespace, since }) => ({ namespace, since }));
    return [
      ...plain.filter(({ namespace }) => namespace === assignedTo),
      ...plain.filter(({ namespace }) => namespace !== assignedTo),
    ];
  }
  if (serving.length > 1) return sharedFirst(list, serving, counting);
  const sharing = list.filter(({ shared }) => shared);
  if (sharing.length !== 1) return list;
  return list.map(({ namespace, since }) => ({ namespace, since }));
}

/**
 * Several namespaces served the host before anybody recorded claims. Where one of them admits the
 * others, it owns the host; else they share it as before.
 */
function sharedFirst(
  list: readonly RecordedClaim[],
  serving: readonly string[],
  counting: readonly HostClaimant[],
): readonly RecordedClaim[] {
  const host = serving.find((name) => {
    const guests = guestsOf(name, counting);
    return serving.every((other) => other === name || guests.includes(other));
  });
  if (host !== undefined) {
    return [
      ...list.filter(({ namespace }) => namespace === host),
      ...list.filter(({ namespace }) => namespace !== host),
    ];
  }
  return list.map((claim) =>
    serving.includes(claim.namespace) ? { ...claim, shared: true as const } : claim
  );
}

function ownerOf(
  host: string,
  list: readonly RecordedClaim[],
  assigned: AssignedHost | undefined,
  { living, dying }: Claimants,
): HostOwner {
  const counting = living.length > 0 ? living : dying;
  const namespace = assigned?.namespace ?? list[0].namespace;
  const sharers = assigned === undefined && list[0].shared
    ? list.filter(({ shared }) => shared).map(({ namespace }) => namespace)
    : NO_NAMES;
  const owner = {
    namespace,
    because: assigned === undefined ? "claim" : "assigned",
    since: list.find((claim) => claim.namespace === namespace)?.since ?? null,
    sharers,
    guests: guestsOf(namespace, counting),
    isDeep: false,
  } as const;
  return host.startsWith("*.") && isDeep(owner, [...living, ...dying])
    ? { ...owner, isDeep: true }
    : owner;
}

/** Whether names with more labels below a wildcard are its owner's, too (`sharing/host_guards.ts`). */
function isDeep(owner: HostOwner, claimants: readonly HostClaimant[]): boolean {
  // Of a claim that holds without its objects, it is not known that none is an HTTPRoute.
  return owner.because === "assigned" || claimants.length === 0 ||
    claimants.some(({ identity: { ref } }) =>
      ref.kind === HTTP_ROUTES.kind && standingOf(owner, ref.namespace) !== "refused"
    );
}

/** Namespaces that Ingresses of `namespace` share the host with, sorted. */
function guestsOf(namespace: string, counting: readonly HostClaimant[]): readonly string[] {
  const guests = new Set<string>();
  for (const { identity, sharesWith } of counting) {
    if (sharesWith.length === 0 || identity.ref.namespace !== namespace) continue;
    for (const guest of sharesWith) if (guest !== namespace) guests.add(guest);
  }
  return guests.size === 0 ? NO_NAMES : [...guests].sort();
}

function isContested(
  living: readonly HostClaimant[],
  dying: readonly HostClaimant[],
  names: readonly string[],
  { namespace, sharers, guests }: HostOwner,
): boolean {
  return names.length > 1 || names[0] !== namespace || sharers.length + guests.length > 0 ||
    (living.length > 0 && dying.some(({ identity }) => identity.ref.namespace !== namespace));
}

function isSameOwner(a: HostOwner, b: HostOwner): boolean {
  return a.namespace === b.namespace && a.because === b.because && a.since === b.since &&
    isSameList(a.sharers, b.sharers) && isSameList(a.guests, b.guests) && a.isDeep === b.isDeep;
}
