/**
 * Installations of which Prometheus scrapes nothing any more. In: a series that every one of them has.
 * Out: an expression with a sample for each namespace.
 */
import { aggregate } from "../promql.ts";

/**
 * How long an alert on it lasts. Over a weekend's night somebody sees it, and the alert on an installation
 * that was deleted on purpose ends by itself.
 */
const MEMORY = "1d";

/** Namespaces that had the series within a day, and have it no more. `absent` sees those of others. */
export function vanished(selector: string): string {
  const [then, now] = [`max_over_time(${selector}[${MEMORY}])`, selector]
    .map((expression) => aggregate("max", expression, ["namespace"]));
  return `${then} unless ${now}`;
}
