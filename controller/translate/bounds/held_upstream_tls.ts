/**
 * TLS to the backends of a namespace that may add nothing. In: its upstreams, and what was published. Out: the same
 * upstreams, of which those that have grown by more than there is room for have what was published of them.
 *
 * As with certificates for hosts, renewals are served: what is published may grow to the next whole step
 * (`renewalStep`), and no further. What many upstreams have in common counts once where it is published once, so that
 * they cannot each get something else of the same size in its place.
 *
 * Nothing is verified less: of published authorities, those stay that the new ones have as well.
 */
import type { Certificate, PemText, Snapshot, Upstream } from "../../../shared/snapshot/types.ts";
import { NO_PARTS } from "./cluster_sizes.ts";
import type { CommonAuthorities } from "./common_authorities.ts";
import type { Parts } from "./namespace_parts.ts";
import { renewalStep } from "./pair_sizes.ts";
import {
  isLarge,
  isShort,
  namespaceOf,
  shownPairs,
  upstreamTlsParts,
} from "./upstream_tls_sizes.ts";
import {
  type Amounts,
  amountsOf,
  isWithin,
  largerOf,
  pairSizesById,
  UpstreamTlsTally,
} from "./upstream_tls_tally.ts";

/** An upstream as it is to be published. */
export interface HeldUpstream {
  readonly upstream: Upstream;
  /** What there is no room for; none where the upstream is the one that was asked for. */
  readonly held: readonly Held[];
}

export type Held = "ca" | "clientCertificate";

/** What some upstreams ask for in place of what was published of them; `stays` is null where nothing is left of that. */
interface ChangeOf<H extends Held, T> {
  readonly held: H;
  readonly wanted: T;
  readonly stays: T | null;
  upstreams: number;
}

type CaChange = ChangeOf<"ca", PemText>;

/** Of ids. */
type PairChange = ChangeOf<"clientCertificate", string>;

type Change = CaChange | PairChange;

export class PublishedUpstreamTls {
  readonly #byId: ReadonlyMap<string, Upstream>;
  readonly #parts: ReadonlyMap<string, Parts>;
  /** Certificates that they show, by id. */
  readonly pairs: ReadonlyMap<string, Certificate>;
  readonly #authorities: CommonAuthorities;

  constructor(published: Snapshot | null, authorities: CommonAuthorities) {
    const upstreams = (published?.upstreams ?? []).filter(isLarge);
    this.#byId = new Map(upstreams.map((each) => [each.id, each]));
    this.#parts = published === null ? new Map() : upstreamTlsParts(published);
    // One that had a host until now is shown all the same.
    const certificates = (published?.certificates ?? [])
      .map(({ plain: _, ...each }) => ({ ...each, hosts: [] }));
    this.pairs = shownPairs({ upstreams, certificates });
    this.#authorities = authorities;
  }

  /**
   * In the order of `own`.
   *
   * @param own Of one namespace, at least one, in order of their ids; also those without TLS, which stand between
   * the others.
   * @param certificates Of the snapshot.
   */
  withoutGrowth(
    own: readonly Upstream[],
    certificates: readonly Certificate[],
  ): readonly HeldUpstream[] {
    const changes = this.#changesOf(own);
    const most = this.#mostOf(own);
    const tally = new UpstreamTlsTally(pairSizesById(this.pairs, certificates));
    for (const [i, { tls }] of own.entries()) {
      const { ca, clientCertificate } = changes.of[i];
      tally.addAuthorities(ca === undefined ? tls?.ca ?? null : ca.stays, 1);
      tally.addPair(
        clientCertificate === undefined ? tls?.clientCertificate ?? null : clientCertificate.stays,
        1,
      );
    }
    const accepted = new Set<Change>();
    for (const change of smallestFirst(changes.all, tally)) {
      const before = tally.amounts;
      apply(change, tally, 1);
      if (isWithin(tally.amounts, largerOf(most, before))) accepted.add(change);
      else apply(change, tally, -1);
    }
    const held = (accepted: ReadonlySet<Change>) =>
      own.map((each, i) => heldOf(each, changes.of[i], accepted));
    const nothing = held(NOTHING);
    if (accepted.size === 0) return nothing;
    // The same text of two upstreams may be too far apart for compression to leave one out.
    const result = held(accepted);
    const [now, before] = [result, nothing].map((list) => this.#amountsOf(list, certificates));
    return isWithin(now, largerOf(most, before)) ? result : nothing;
  }

  /**
   * The same, the last of them without endpoints: as many as it takes for the others to be within what was published
   * and its next step. Text between upstreams, as of more endpoints, keeps compression from leaving out what they
   * have in common, so that the same authorities come to take more.
   */
  withinPublished(
    list: readonly HeldUpstream[],
    certificates: readonly Certificate[],
  ): readonly HeldUpstream[] {
    const most = this.#mostOf(list.map(({ upstream }) => upstream));
    const withOpen = (count: number) =>
      list.map((each, i) => i < count || !isLarge(each.upstream) ? each : closed(each));
    let [enough, tooMany] = [0, list.length + 1];
    while (tooMany - enough > 1) {
      const count = Math.floor((enough + tooMany) / 2);
      if (isWithin(this.#amountsOf(withOpen(count), certificates), most)) enough = count;
      else tooMany = count;
    }
    return enough === list.length ? list : withOpen(enough);
  }

  #mostOf([{ id }]: readonly Pick<Upstream, "id">[]): Amounts {
    return mostOf(this.#parts.get(namespaceOf({ id })) ?? NO_PARTS, this.#parts.size);
  }

  #changesOf(own: readonly Upstream[]): Changes {
    const groups = new ChangeGroups();
    const of = own.map(({ id, tls }) => {
      const before = this.#byId.get(id)?.tls;
      const changes: ChangesOfOne = {};
      const { ca, clientCertificate } = tls ?? {};
      if (ca !== undefined && ca.pem !== before?.ca?.pem) {
        const stays = before?.ca === undefined ? null : this.#authorities.of(before.ca, ca);
        changes.ca = groups.ofAuthorities(ca, stays);
      }
      const shown = this.pairs.get(before?.clientCertificate ?? "")?.id ?? null;
      if (clientCertificate !== undefined && clientCertificate !== shown) {
        changes.clientCertificate = groups.ofPair(clientCertificate, shown);
      }
      return changes;
    });
    return { of, all: groups.all };
  }

  #amountsOf(list: readonly HeldUpstream[], certificates: readonly Certificate[]): Amounts {
    const [parts = NO_PARTS] = upstreamTlsParts({
      upstreams: list.map(({ upstream }) => upstream),
      certificates: withPublished(certificates, this),
    }).values();
    return amountsOf(parts);
  }
}

/** Those of a snapshot, and of the published ones that may stay. */
export function withPublished(
  certificates: readonly Certificate[],
  { pairs }: PublishedUpstreamTls,
): readonly Certificate[] {
  const own = new Set(certificates.map(({ id }) => id));
  return [...certificates, ...pairs.values().filter(({ id }) => !own.has(id))];
}

interface Changes {
  /** Of each upstream, in their order. */
  readonly of: readonly Readonly<ChangesOfOne>[];
  readonly all: readonly Change[];
}

interface ChangesOfOne {
  ca?: CaChange;
  clientCertificate?: PairChange;
}

/** Upstreams that change in the same way do so together: what they have in common has room once, or not. */
class ChangeGroups {
  readonly all: Change[] = [];
  /** By what is asked for, then by what stays. */
  readonly #authorities = new Map<string, Map<string, CaChange>>();
  readonly #pairs = new Map<string, Map<string, PairChange>>();

  ofAuthorities(wanted: PemText, stays: PemText | null): CaChange {
    const make = () => this.#add<CaChange>({ held: "ca", wanted, stays, upstreams: 0 });
    // Longer ones count for each upstream anyway.
    const change = isShort(wanted.pem) && isShort(stays?.pem ?? "")
      ? getOrMake(this.#authorities, wanted.pem, stays?.pem ?? "", make)
      : make();
    change.upstreams++;
    return change;
  }

  ofPair(wanted: string, stays: string | null): PairChange {
    const change = getOrMake(
      this.#pairs,
      wanted,
      stays ?? "",
      () => this.#add<PairChange>({ held: "clientCertificate", wanted, stays, upstreams: 0 }),
    );
    change.upstreams++;
    return change;
  }

  #add<C extends Change>(change: C): C {
    this.all.push(change);
    return change;
  }
}

function getOrMake<C>(
  groups: Map<string, Map<string, C>>,
  wanted: string,
  stays: string,
  make: () => C,
): C {
  let byStays = groups.get(wanted);
  if (byStays === undefined) groups.set(wanted, byStays = new Map());
  let change = byStays.get(stays);
  if (change === undefined) byStays.set(stays, change = make());
  return change;
}

const NOTHING: ReadonlySet<Change> = new Set();

/** The next whole step of each. */
function mostOf(published: Parts, namespaces: number): Amounts {
  const { text, packed, keys } = amountsOf(published);
  const step = renewalStep(text, namespaces);
  const next = (amount: number) => Math.ceil(amount / step) * step;
  return { text: next(text), packed: next(packed), keys: next(keys) };
}

/** What gets smaller makes room; then as many as possible have theirs. Else in the order of the upstreams. */
function smallestFirst(changes: readonly Change[], tally: UpstreamTlsTally): readonly Change[] {
  const growthOf = (change: Change): number =>
    change.held === "ca"
      ? change.upstreams * (change.wanted.pem.length - (change.stays?.pem.length ?? 0))
      : tally.sizeOfPair(change.wanted) - tally.sizeOfPair(change.stays);
  return changes.map((change) => ({ change, growth: growthOf(change) }))
    .sort((a, b) => a.growth - b.growth)
    .map(({ change }) => change);
}

function apply(change: Change, tally: UpstreamTlsTally, sign: 1 | -1): void {
  const upstreams = sign * change.upstreams;
  if (change.held === "ca") {
    tally.addAuthorities(change.wanted, upstreams);
    tally.addAuthorities(change.stays, -upstreams);
  } else {
    tally.addPair(change.wanted, upstreams);
    tally.addPair(change.stays, -upstreams);
  }
}

/** Without endpoints where nothing stays of what it asks for. */
function heldOf(
  upstream: Upstream,
  { ca, clientCertificate }: Readonly<ChangesOfOne>,
  accepted: ReadonlySet<Change>,
): HeldUpstream {
  const held = [ca, clientCertificate].filter((change) => change !== undefined)
    .filter((change) => !accepted.has(change));
  if (held.length === 0) return { upstream, held: [] };
  const names = held.map((change) => change.held);
  if (held.some(({ stays }) => stays === null)) return closed({ upstream, held: names });
  const stay = Object.fromEntries(held.map((change) => [change.held, change.stays]));
  return { upstream: { ...upstream, tls: { ...upstream.tls!, ...stay } }, held: names };
}

function closed({ upstream, held }: HeldUpstream): HeldUpstream {
  const { ca, clientCertificate, ...tls } = upstream.tls!;
  const addresses = { kind: "endpoints", endpoints: [] } as const;
  if (held.length > 0) return { upstream: { ...upstream, tls, addresses }, held };
  return {
    upstream: { ...upstream, tls, addresses },
    held: [
      ...(ca === undefined ? [] : ["ca" as const]),
      ...(clientCertificate === undefined ? [] : ["clientCertificate" as const]),
    ],
  };
}
