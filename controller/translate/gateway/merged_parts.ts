/**
 * Parts of Ingresses and of Gateway API in one snapshot. In: the lists of both, each in its order. Out: one
 * list of each kind in that order; the very same as before where both are.
 *
 * Routes of both on one host are on different listeners, so their order among each other says nothing.
 */
import type { Certificate, FilterSet, Route, Snapshot } from "../../../shared/snapshot/types.ts";
import { isSameList, LastResult } from "../../base/memo.ts";
import {
  SHARED_SOCKETS,
  type SharedHostSockets,
  type SharedSocket,
} from "../../../shared/snapshot/listener_id.ts";
import { compareText } from "../../base/text_order.ts";
import { mergeRoutes } from "../routes/route_order.ts";
import type { GatewayParts } from "./gateway_translation.ts";
import type { HostCertificates } from "./sharing/host_certificates.ts";

const NO_SETS: readonly FilterSet[] = [];

type Lists<T> = readonly [ofIngresses: readonly T[], ofGateways: readonly T[]];

export class MergedParts {
  readonly #routes = new LastResult<Lists<Route>, readonly Route[]>();
  readonly #filterSets = new LastResult<Lists<FilterSet>, readonly FilterSet[]>();
  readonly #ofIngresses = new LastResult<IngressRoutes, readonly Route[]>();
  readonly #lastCertificates = new LastResult<UsedCertificates, readonly Certificate[]>();
  /** What was made of a reply for one socket. */
  readonly #replies = new WeakMap<Route, readonly Route[]>();
  /** What was last made of a certificate. */
  readonly #certificates = new WeakMap<Certificate, UsedCertificate>();

  /** As fields of a snapshot, without empty lists but for routes. */
  of(
    routes: readonly Route[],
    { filterSets = NO_SETS, policies }: Pick<Snapshot, "filterSets" | "policies">,
    parts: GatewayParts,
  ): Pick<Snapshot, "routes" | "listeners" | "filterSets" | "policies"> {
    const sets = merged(this.#filterSets, [filterSets, parts.filterSets], mergeSets);
    return {
      routes: merged(
        this.#routes,
        [this.#withoutShared(routes, parts.sharedHosts), parts.routes],
        ([own, theirs]) => mergeRoutes(own, theirs),
      ),
      ...(parts.listeners.length === 0 ? {} : { listeners: parts.listeners }),
      ...(sets.length === 0 ? {} : { filterSets: sets }),
      ...(policies === undefined ? {} : { policies }),
    };
  }

  /**
   * Certificates with the hosts that Gateways have on shared addresses; an Ingress's stays with its hosts.
   *
   * @param certificates Each once, with the hosts of Ingresses.
   */
  certificates(
    certificates: readonly Certificate[],
    hosts: HostCertificates,
  ): readonly Certificate[] {
    if (hosts.size === 0) return certificates;
    return this.#lastCertificates.recall((last) =>
      last.hosts === hosts && isSameList(last.certificates, certificates)
    ) ?? this.#lastCertificates.keep({ certificates, hosts }, this.#assign(certificates, hosts));
  }

  #assign(certificates: readonly Certificate[], hosts: HostCertificates): readonly Certificate[] {
    const taken = new Set(certificates.flatMap((certificate) => certificate.hosts));
    const free = Array.from(hosts).filter(([host]) => !taken.has(host));
    const byId = Map.groupBy(free, ([, id]) => id);
    return certificates.map((certificate) => {
      const own = byId.get(certificate.id)?.map(([host]) => host);
      return own === undefined ? certificate : this.#usedFor(certificate, own);
    });
  }

  /** No Gateway makes a host HTTPS only, so plain HTTP to its hosts is never redirected. */
  #usedFor(certificate: Certificate, hosts: readonly string[]): Certificate {
    const known = this.#certificates.get(certificate);
    if (known !== undefined && isSameList(known.hosts, hosts)) return known.used;
    const used = {
      ...certificate,
      hosts: [...certificate.hosts, ...hosts].sort(),
      plain: [...certificate.plain ?? [], ...hosts].sort(),
    };
    this.#certificates.set(certificate, { hosts, used });
    return used;
  }

  /** Nor does a host that is assigned need a reply that it has no route, where a Gateway has it. */
  #withoutShared(routes: readonly Route[], sharedHosts: SharedHostSockets): readonly Route[] {
    if (sharedHosts.size === 0) return routes;
    return this.#ofIngresses.recall((last) =>
      last.routes === routes && last.sharedHosts === sharedHosts
    ) ?? this.#ofIngresses.keep(
      { routes, sharedHosts },
      routes.flatMap((route) => {
        const taken = route.origin.kind === NAMESPACE ? sharedHosts.get(route.host) : undefined;
        return taken === undefined ? [route] : this.#elsewhere(route, taken);
      }),
    );
  }

  /** The reply on the socket where no Gateway has its host; the very same object as before. */
  #elsewhere(reply: Route, taken: ReadonlySet<SharedSocket>): readonly Route[] {
    const [socket, ...others] = SHARED_SOCKETS.filter((each) => !taken.has(each));
    if (socket === undefined || others.length > 0) return [];
    const known = this.#replies.get(reply)?.find(({ listeners }) => listeners?.[0] === socket);
    if (known !== undefined) return [known];
    const on: Route = { ...reply, listeners: [socket] };
    this.#replies.set(reply, [...this.#replies.get(reply) ?? [], on]);
    return [on];
  }
}

/** Of replies for hosts that a Namespace object assigns. */
const NAMESPACE = "Namespace";

interface IngressRoutes {
  readonly routes: readonly Route[];
  readonly sharedHosts: SharedHostSockets;
}

interface UsedCertificates {
  readonly certificates: readonly Certificate[];
  readonly hosts: HostCertificates;
}

interface UsedCertificate {
  readonly hosts: readonly string[];
  readonly used: Certificate;
}

function merged<T>(
  last: LastResult<Lists<T>, readonly T[]>,
  lists: Lists<T>,
  merge: (lists: Lists<T>) => readonly T[],
): readonly T[] {
  if (lists[1].length === 0) return lists[0];
  return last.recall((before) => before[0] === lists[0] && before[1] === lists[1]) ??
    last.keep(lists, merge(lists));
}

/** By id, each once. */
function mergeSets([ofIngresses, ofGateways]: Lists<FilterSet>): readonly FilterSet[] {
  const byId = new Map([...ofGateways, ...ofIngresses].map((set) => [set.id, set]));
  return [...byId.values()].sort((a, b) => compareText(a.id, b.id));
}
