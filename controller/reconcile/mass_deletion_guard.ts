/**
 * What would go at once. In: what is published, and what is to take its place. Out: a clause that
 * says what is lost if that is much, or null. Pure.
 *
 * An API server that returns an empty or short list once looks like a mass deletion. So before most
 * routes are removed from the proxies, everything is listed again; a confirmed deletion is applied.
 */
import type { Route, Snapshot, Upstream } from "../../shared/snapshot/types.ts";

/** In percent of what there was, and in number; what is below either is a change like others. */
const SHARE = 50;
const COUNT = 10;

export function largeLoss(before: Snapshot, after: Snapshot): string | null {
  const leading = new Set(after.routes.filter(leads).map(({ id }) => id));
  const upstreams = new Map(after.upstreams.map((upstream) => [upstream.id, upstream]));
  const hosts = new Set(after.certificates.flatMap((certificate) => certificate.hosts));
  const losses = [
    describe(
      "routes to backends",
      count(before.routes, leads),
      count(before.routes, (route) => leads(route) && !leading.has(route.id)),
    ),
    describe(
      "backends with endpoints",
      count(before.upstreams, hasEndpoints),
      count(before.upstreams, (upstream) => {
        const now = upstreams.get(upstream.id);
        return hasEndpoints(upstream) && now !== undefined && !hasEndpoints(now);
      }),
    ),
    describe(
      "certificates",
      before.certificates.length,
      count(
        before.certificates,
        (one) => one.hosts.length > 0 && !one.hosts.some((host) => hosts.has(host)),
      ),
    ),
  ].filter((loss) => loss !== null);
  return losses.length === 0 ? null : losses.join(", ");
}

function describe(what: string, total: number, lost: number): string | null {
  const isMuch = lost > 0 && (lost === total || (lost >= COUNT && lost * 100 > total * SHARE));
  return isMuch ? `${lost} of ${total} ${what}` : null;
}

function leads({ action }: Route): boolean {
  return action.kind === "forward";
}

function hasEndpoints({ addresses }: Upstream): boolean {
  return addresses.kind === "endpoints" && addresses.endpoints.length > 0;
}

function count<T>(list: readonly T[], matches: (one: T) => boolean): number {
  return list.reduce((sum, one) => sum + Number(matches(one)), 0);
}
