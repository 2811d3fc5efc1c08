/**
 * The text format of Prometheus, version 0.0.4. In: metrics with their samples. Out: lines, a piece
 * at a time, since the routes of a large cluster fill megabytes and this may run beside traffic.
 *
 * prom-client was considered: it keeps an object a series and renders all of them at once, where
 * these numbers stand in shared memory and are summed while they are written.
 */
import type { MetricSpec } from "../../shared/metric_spec.ts";
import { type MetricName, METRICS } from "./catalogue.ts";

export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type Labels = Readonly<Record<string, string>>;

/** The `# HELP` and `# TYPE` lines, which come once before a metric's samples. */
export function metricHead(name: MetricName): string {
  const { help, type }: MetricSpec = METRICS[name];
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
}

/** One line. `value` may be text of digits, where a number would lose some. */
export function sample(name: string, labels: Labels, value: number | string): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
}

/** A whole metric, or nothing where it has no samples. */
export function metric(
  name: MetricName,
  samples: Iterable<readonly [Labels, number | string]>,
): string {
  let lines = "";
  for (const [labels, value] of samples) lines += sample(name, labels, value);
  return lines === "" ? "" : metricHead(name) + lines;
}

/** The samples of a histogram with one label set. `counts` are by bucket, the last one is beyond. */
export function histogram(
  name: MetricName,
  labels: Labels,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): string {
  let lines = "";
  let total = 0;
  for (const [index, count] of counts.entries()) {
    total += count;
    const le = index < bounds.length ? String(bounds[index]) : "+Inf";
    lines += sample(`${name}_bucket`, { ...labels, le }, total);
  }
  return lines + sample(`${name}_sum`, labels, sum) + sample(`${name}_count`, labels, total);
}

function escapeLabel(text: string): string {
  return /[\\"\n]/.test(text)
    ? text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
    : text;
}

/** How much of a scrape is made in one turn of the event loop: characters, and time in ms. */
const TURN_SIZE = 64 * 1024;
const TURN_TIME = 2;

/** A stream of `pieces` that leaves the event loop to traffic between turns. */
export function streamPieces(pieces: Iterator<string>): ReadableStream<Uint8Array> {
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
