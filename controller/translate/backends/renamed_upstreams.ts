/**
 * Upstreams under another id than that of their Service. In: what was found of a Service. Out: the same
 * with that id, the very same object while it is.
 */
import type { Finding, Reached } from "./backend_plan.ts";
import { reached } from "./backend_plan.ts";

export class RenamedUpstreams {
  readonly #known = new WeakMap<Finding, Map<string, Reached>>();

  /** Without endpoints, requests that depend on it get 500. */
  of(finding: Finding, id: string): Finding {
    if (finding.upstream === null || finding.upstream.id === id) return finding;
    let known = this.#known.get(finding);
    if (known === undefined) this.#known.set(finding, known = new Map());
    let renamed = known.get(id);
    if (renamed === undefined) {
      const { upstream, fault, note } = finding;
      const own = fault === null ? null : { ...fault, status: 500 as const };
      known.set(id, renamed = reached({ ...upstream, id }, own, note));
    }
    return renamed;
  }
}
