/** A metric as catalogues and pages have it. In: nothing. Out: its type, and those that every program has. */
export interface MetricSpec {
  readonly type: "counter" | "gauge" | "histogram";
  /** One sentence with its full stop. */
  readonly help: string;
  /** Label and where its values come from: never a client. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** What every program of Pingress says of its process. */
export const PROCESS_METRICS = {
  pingress_build_info: {
    type: "gauge",
    help: "Always 1; the labels are the running versions.",
    labels: { version: "Version of Pingress", deno: "Version of Deno" },
  },
  process_start_time_seconds: {
    type: "gauge",
    help: "Start time of the process, in seconds since the Unix epoch.",
  },
  process_cpu_seconds_total: {
    type: "counter",
    help: "CPU time of the process.",
  },
  process_resident_memory_bytes: {
    type: "gauge",
    help: "Resident memory of the process.",
  },
} as const satisfies Readonly<Record<string, MetricSpec>>;
