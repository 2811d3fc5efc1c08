/**
 * Hosts that stay on plain HTTP. In: a snapshot, and one Ingress with one of its hosts. Out: why plain HTTP to it is
 * forwarded although the Ingress says nothing against the redirect to HTTPS.
 */
import { isAcmeLocation } from "../../controller/translate/model/route_settings.ts";
import {
  certificateChooser,
  chooseRedirect,
  type RedirectChoice,
} from "../../proxy/router/explain.ts";
import type { Route, Snapshot } from "../../shared/snapshot/types.ts";

export class PlainRoutes {
  readonly #snapshot: Snapshot;
  readonly #certificateFor: ReturnType<typeof certificateChooser>;
  /** By `default/web host`. */
  readonly #routes: ReadonlyMap<string, readonly Route[]>;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#certificateFor = certificateChooser(snapshot);
    const elsewhere = new Set(
      (snapshot.filterSets ?? []).filter(({ filters }) =>
        filters.some((filter) => filter.kind === "redirect" && filter.path === undefined)
      ).map(({ id }) => id),
    );
    this.#routes = Map.groupBy(
      snapshot.routes.filter(({ action, filterSet, match: { path } }) =>
        action.kind === "forward" && !elsewhere.has(filterSet ?? "") &&
        // Redirected in neither.
        !isAcmeLocation(path.written ?? path.value)
      ),
      ({ origin: { namespace, name }, host }) => `${namespace}/${name} ${host}`,
    );
  }

  /**
   * Why plain HTTP to the host is forwarded, as a clause; null where it is not, or the Ingress says so.
   *
   * @param ingress `default/web`.
   */
  because(ingress: string, host: string): string | null {
    const certificate = this.#certificateFor(host);
    const choices = (this.#routes.get(`${ingress} ${host}`) ?? []).map((route): RedirectChoice =>
      chooseRedirect(this.#snapshot, { host, path: route.match.path.value }, route, certificate)
    );
    const plain = choices.find(({ redirects, by }) => !redirects && by !== "route");
    if (plain === undefined) return null;
    // Whoever owns the wildcard does not decide about the host.
    return plain.by === "host"
      ? "only a wildcard of another namespace has a certificate"
      : plain.because;
  }
}
