/**
 * The text format of Prometheus, version 0.0.4. In: metrics with their samples. Out: lines, a piece
 * at a time, since the routes of a large cluster fill megabytes and this may run beside traffic.
 *
 * prom-client was considered: it keeps an object a series and renders all of them at once, where
 * these numbers stand in shared memory and are summed while they are written.
 */
import type { MetricSpec } from "../../shared/metric_spec.ts";
import { type MetricName, METRICS } from "./catalogue.ts";

/**
 * The only format so far. Exemplars need OpenMetrics: whoever adds it chooses by `Accept` in
 * `admin_handlers.ts`, where this is sent.
 */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type Labels = Readonly<Record<string, string>>;

/** The `# HELP` and `# TYPE` lines, which come once before a metric's samples. */
export function metricHead(name: MetricName): string {
  const { help, type }: MetricSpec = METRICS[name];
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
}

/** As they stand between braces: a scrape has the same ones of a series in some twenty lines. */
export function labelsText(labels: Labels): string {
  return Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`).join();
}

/** One line. `value` may be text of digits, where a number would lose some. */
export function sample(name: MetricName, labels: string, value: number | string): string {
  return labels === "" ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
}

/** A whole metric, or nothing where it has no samples. */
export function metric(
  name: MetricName,
  samples: Iterable<readonly [Labels, number | string]>,
): string {
  let lines = "";
  for (const [labels, value] of samples) lines += sample(name, labelsText(labels), value);
  return lines === "" ? "" : metricHead(name) + lines;
}

/** Writes the samples of one histogram. */
export class HistogramWriter {
  readonly #name: MetricName;
  /** Ends of the lines of buckets, up to the value. */
  readonly #bounds: readonly string[];

  /** @param bounds upper ones, but for the infinite one. */
  constructor(name: MetricName, bounds: readonly number[]) {
    this.#name = name;
    this.#bounds = [...bounds.map(String), "+Inf"].map((bound) => `,le="${bound}"} `);
  }

  /** Those of one label set. `counts` are by bucket, the last one is beyond all bounds. */
  lines(labels: string, counts: ArrayLike<number>, sum: number): string {
    const name = this.#name;
    const head = `${name}_bucket{${labels}`;
    let text = "";
    let total = 0;
    for (let bucket = 0; bucket < counts.length; bucket++) {
      total += counts[bucket];
      text += head + this.#bounds[bucket] + total + "\n";
    }
    return `${text}${name}_sum{${labels}} ${sum}\n${name}_count{${labels}} ${total}\n`;
  }
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
