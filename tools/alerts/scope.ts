/**
 * Whose metrics the alerts of a file read. In: the namespace of an installation, or none. Out: selectors,
 * expressions and labels for that installation, or for all that a Prometheus scrapes.
 */
import { is, type Matchers, series, type SeriesName } from "../promql.ts";

export class Scope {
  /** Null for all installations. */
  readonly #namespace: string | null;

  constructor(namespace: string | null) {
    this.#namespace = namespace;
  }

  /**
   * What alerts and recorded series carry, so that those of several installations differ: their label
   * `namespace` may be that of a route.
   */
  get labels(): Readonly<Record<string, string>> {
    return this.#namespace === null ? {} : { installation: this.#namespace };
  }

  /** A metric whose label `namespace` is that of its target. */
  series<S extends SeriesName>(name: S, matchers?: Matchers<S>): string {
    if (this.#namespace === null) return series(name, matchers);
    return series(name, { ...matchers, namespace: is(this.#namespace) } as Matchers<S>);
  }

  /**
   * Those of this installation's proxies, of a metric with the namespace of routes or Services. A proxy that
   * ended within the window is one of them.
   *
   * @param rates of each target, over the window.
   */
  ofProxies(rates: string, window: string): string {
    if (this.#namespace === null) return rates;
    const proxies = `max_over_time(${this.series("pingress_workers")}[${window}])`;
    return `(${rates} and on (job, instance) ${proxies})`;
  }

  /** A series that these rules have recorded. */
  recorded(name: string): string {
    return this.#namespace === null ? name : `${name}{installation="${this.#namespace}"}`;
  }
}

/** All that a Prometheus scrapes. */
export const EVERYWHERE = new Scope(null);
