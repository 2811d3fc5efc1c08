/**
 * The formats of `/metrics`. In: metrics with their samples. Out: lines, a piece at a time, since the
 * routes of a large cluster fill megabytes and this may run beside traffic.
 *
 * prom-client was considered: it keeps an object a series and renders all of them at once, where
 * these numbers stand in shared memory and are summed while they are written.
 *
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 * https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
import type { MetricSpec } from "../../shared/metric_spec.ts";
import { type MetricName, METRICS } from "./catalogue.ts";
import { type Exemplar, type SlotExemplars, TRACE_ID_LABEL } from "./exemplars.ts";

/** Exemplars need OpenMetrics, whose bounds of buckets are written otherwise: `le="1.0"`. */
export type Format = "text" | "openmetrics";

/** Of a response in each. */
export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

export type Labels = Readonly<Record<string, string>>;

/** As they stand between braces: a scrape has the same ones of a series in some twenty lines. */
export function labelsText(labels: Labels): string {
  return Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`).join();
}

/** One line. `value` may be text of digits, where a number would lose some. */
export function sample(name: MetricName, labels: string, value: number | string): string {
  return labels === "" ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
}

/** Writes metrics in one format. */
export class Exposition {
  readonly format: Format;
  readonly #isOpen: boolean;

  constructor(format: Format) {
    this.format = format;
    this.#isOpen = format === "openmetrics";
  }

  get hasExemplars(): boolean {
    return this.#isOpen;
  }

  /** The `# HELP` and `# TYPE` lines, which come once before a metric's samples. */
  head(name: MetricName): string {
    const { help, type }: MetricSpec = METRICS[name];
    const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
    if (!this.#isOpen) return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
    // A family of counters is named without the end that its samples have.
    const family = type === "counter" ? name.replace(/_total$/, "") : name;
    return `# HELP ${family} ${escaped.replaceAll('"', '\\"')}\n# TYPE ${family} ${type}\n`;
  }

  /** A whole metric, or nothing where it has no samples. */
  metric(
    name: MetricName,
    samples: Iterable<readonly [Labels, number | string]>,
  ): string {
    let lines = "";
    for (const [labels, value] of samples) lines += sample(name, labelsText(labels), value);
    return lines === "" ? "" : this.head(name) + lines;
  }

  /** A metric of one sample without labels. */
  single(name: MetricName, value: number): string {
    return this.metric(name, [[{}, value]]);
  }

  /** @param bounds upper ones, but for the infinite one. */
  histogram(name: MetricName, bounds: readonly number[]): HistogramWriter {
    return new HistogramWriter(name, bounds.map((bound) => this.#bound(bound)));
  }

  /** Behind all metrics. */
  get end(): string {
    return this.#isOpen ? "# EOF\n" : "";
  }

  #bound(bound: number): string {
    return this.#isOpen && Number.isInteger(bound) ? `${bound}.0` : String(bound);
  }
}

/** Writes the samples of one histogram. */
export class HistogramWriter {
  readonly #name: MetricName;
  /** Ends of the lines of buckets, up to the value. */
  readonly #bounds: readonly string[];

  /** @param bounds as in the label `le`, but for the infinite one. */
  constructor(name: MetricName, bounds: readonly string[]) {
    this.#name = name;
    this.#bounds = [...bounds, "+Inf"].map((bound) => `,le="${bound}"} `);
  }

  /**
   * Those of one label set.
   *
   * @param counts by bucket, the last one is beyond all bounds.
   * @param exemplars by bucket; only where the format has them.
   */
  lines(
    labels: string,
    counts: ArrayLike<number>,
    sum: number,
    exemplars: SlotExemplars = NO_EXEMPLARS,
  ): string {
    const name = this.#name;
    const head = `${name}_bucket{${labels}`;
    let text = "";
    let total = 0;
    for (let bucket = 0; bucket < counts.length; bucket++) {
      total += counts[bucket];
      text += head + this.#bounds[bucket] + total;
      const exemplar = exemplars[bucket];
      text += exemplar === undefined || counts[bucket] === 0 ? "\n" : exemplarText(exemplar);
    }
    return `${text}${name}_sum{${labels}} ${sum}\n${name}_count{${labels}} ${total}\n`;
  }
}

const NO_EXEMPLARS: SlotExemplars = [];

function exemplarText({ traceId, seconds, endedAt }: Exemplar): string {
  return ` # {${TRACE_ID_LABEL}="${traceId}"} ${seconds} ${endedAt / 1000}\n`;
}

/** Half of a pair of surrogates has no UTF-8: two texts that differ in one would be the same label. */
function escapeLabel(text: string): string {
  const whole = text.toWellFormed();
  return /[\\"\n]/.test(whole)
    ? whole.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
    : whole;
}

/** How much of a scrape is made in one turn of the event loop: characters, and time in ms. */
const TURN_SIZE = 256 * 1024;
const TURN_TIME = 2;

/**
 * A stream of `pieces` that leaves the event loop to traffic between turns. Makes no more than its
 * reader takes.
 *
 * @param aborted called where the reader leaves before the end.
 */
export function streamPieces(
  pieces: Iterator<string>,
  aborted: () => void = () => {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const { text, done } = turn(pieces);
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (done) return controller.close();
        await new Promise((resume) => setTimeout(resume, 0));
        if (text !== "") return;
      }
    },
    cancel: aborted,
  });
}

function turn(pieces: Iterator<string>): { text: string; done: boolean } {
  const end = performance.now() + TURN_TIME;
  let text = "";
  do {
    const next = pieces.next();
    if (next.done) return { text, done: true };
    text += next.value;
  } while (text.length < TURN_SIZE && performance.now() < end);
  return { text, done: false };
}
