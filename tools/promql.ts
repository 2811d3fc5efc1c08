/**
 * Expressions of PromQL. In: metrics of the catalogues, with labels of theirs. Out: text. A metric or label
 * that the catalogues do not have does not compile, so neither dashboards nor alerts outlive one.
 */
import type { CONTROLLER_METRICS } from "../controller/metrics.ts";
import type { METRICS } from "../proxy/telemetry/catalogue.ts";

type Catalogue = typeof METRICS & typeof CONTROLLER_METRICS;
type Name = keyof Catalogue;

type HistogramName = {
  [N in Name]: Catalogue[N]["type"] extends "histogram" ? N : never;
}[Name];
type BucketName = `${HistogramName}_bucket`;

/** What can be selected: a counter or gauge by its name, a histogram by one of its parts. */
export type SeriesName =
  | Exclude<Name, HistogramName>
  | BucketName
  | `${HistogramName}_${
    | "sum"
    | "count"}`;

type MetricOf<S> = S extends Name ? S
  : S extends `${infer H extends HistogramName}_${"bucket" | "sum" | "count"}` ? H
  : never;

type LabelsOf<N> = N extends Name
  ? Catalogue[N] extends { readonly labels: infer Labels } ? keyof Labels & string : never
  : never;

/** Of the target: Prometheus adds them to what it scrapes. A metric may have its own `namespace`. */
type TargetLabel = "job" | "instance" | "pod" | "namespace";

/** Any that series may be grouped by. */
export type Label = LabelsOf<Name> | TargetLabel | "le";

/** How a label is matched: `="5xx"`. */
export interface Matcher {
  readonly operator: "=" | "!=" | "=~" | "!~";
  readonly value: string;
}

export function is(value: string): Matcher {
  return { operator: "=", value };
}

export function isNot(value: string): Matcher {
  return { operator: "!=", value };
}

/** @param value a regular expression of the whole label, in the syntax of RE2. */
export function matches(value: string): Matcher {
  return { operator: "=~", value };
}

export function matchesNot(value: string): Matcher {
  return { operator: "!~", value };
}

export type Matchers<S extends SeriesName> = {
  readonly [L in LabelsOf<MetricOf<S>> | TargetLabel]?: Matcher;
};

/** `pingress_requests_total{status="5xx"}` */
export function series<S extends SeriesName>(name: S, matchers: Matchers<S> = {}): string {
  const all = Object.entries<Matcher | undefined>(matchers).flatMap(([label, matcher]) =>
    matcher === undefined ? [] : [`${label}${matcher.operator}${JSON.stringify(matcher.value)}`]
  );
  return all.length === 0 ? name : `${name}{${all.join(", ")}}`;
}

/** Per second. @param window such as `5m`. */
export function rate(selector: string, window: string): string {
  return `rate(${selector}[${window}])`;
}

/** Over the window. @param window such as `5m`. */
export function increase(selector: string, window: string): string {
  return `increase(${selector}[${window}])`;
}

/** How often a gauge had another value within the window than before. @param window such as `5m`. */
export function changes(selector: string, window: string): string {
  return `changes(${selector}[${window}])`;
}

export type Aggregation = "sum" | "min" | "max" | "avg" | "count";

/** `sum by (host) (…)`; without labels, one value of all. */
export function aggregate(
  aggregation: Aggregation,
  expression: string,
  by: readonly Label[] = [],
): string {
  return by.length === 0
    ? `${aggregation}(${expression})`
    : `${aggregation} by (${by.join(", ")}) (${expression})`;
}

export function sum(expression: string, by: readonly Label[] = []): string {
  return aggregate("sum", expression, by);
}

/**
 * The duration below which this share of what a histogram has counted lies, in seconds.
 *
 * @param share from 0 to 1.
 * @param name of the histogram's buckets.
 */
export function quantile<S extends BucketName>(
  share: number,
  name: S,
  { matchers = {}, by = [], window }: {
    readonly matchers?: Matchers<S>;
    readonly by?: readonly Label[];
    readonly window: string;
  },
): string {
  const buckets = sum(rate(series(name, matchers), window), [...by, "le"]);
  return `histogram_quantile(${share}, ${buckets})`;
}

/**
 * The share of a part, from 0 to 1: 0 where the part has no series, and none where nothing has happened.
 *
 * @param whole by the same labels as the part.
 */
export function ratio(part: string, whole: string): string {
  return `(${part} or 0 * ${whole}) / (${whole} > 0)`;
}
