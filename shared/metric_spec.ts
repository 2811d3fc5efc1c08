/** A metric as catalogues and pages have it. In: nothing. Out: a type. */
export interface MetricSpec {
  readonly type: "counter" | "gauge" | "histogram";
  /** One sentence with its full stop. */
  readonly help: string;
  /** Label and where its values come from: never a client. */
  readonly labels?: Readonly<Record<string, string>>;
}
