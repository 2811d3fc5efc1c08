/**
 * A strict reader of Prometheus's text format 0.0.4, and of OpenMetrics 1.0. In: what `/metrics` gave. Out:
 * the value of each series by its text (`name{label="value"}`), and exemplars; throws at whatever a
 * scraper could take amiss.
 */
import assert from "node:assert/strict";

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.+)\})? (\S+)$/s;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(,|$)/y;
const NUMBER = /^(?:-?\d+(?:\.\d+)?(?:e[+-]\d+)?|[+-]Inf|NaN)$/;

interface Family {
  readonly type: string;
  readonly series: Map<string, number>;
}

/** Of the format 0.0.4. */
export function parseExposition(text: string): Map<string, number> {
  return readLines(text, "text").values;
}

export interface OpenMetrics {
  readonly values: ReadonlyMap<string, number>;
  /** By the text of their bucket. */
  readonly exemplars: ReadonlyMap<string, ParsedExemplar>;
}

export interface ParsedExemplar {
  readonly labels: string;
  readonly value: number;
  /** In seconds since the epoch. */
  readonly time: number;
}

export function parseOpenMetrics(text: string): OpenMetrics {
  const end = "# EOF\n";
  assert.ok(text.endsWith(end), "the last line is # EOF");
  return readLines(text.slice(0, -end.length), "openmetrics");
}

const EXEMPLAR = /^(.*) # \{([^}]*)\} (\S+) (\S+)$/;
/** Most characters of an exemplar's labels. */
const MAX_EXEMPLAR = 128;

function readLines(text: string, format: "text" | "openmetrics") {
  assert.ok(text.endsWith("\n"), "the last line must end");
  const isOpen = format === "openmetrics";
  const families = new Map<string, Family>();
  const values = new Map<string, number>();
  const exemplars = new Map<string, ParsedExemplar>();
  let helped = "";
  let current = "";
  for (const line of text.slice(0, -1).split("\n")) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (comment !== null) {
      const [, kind, name, rest] = comment;
      if (kind === "HELP") {
        assert.ok(!families.has(name), `${name} comes twice`);
        assert.ok(!(isOpen ? /\\(?![\\n"])/ : /\\(?![\\n])/).test(rest), `bad escape: ${line}`);
        if (isOpen) assert.doesNotMatch(rest, /(?<!\\)"/, `a bare quote: ${line}`);
        helped = name;
      } else {
        assert.equal(name, helped, "TYPE follows its HELP");
        assert.match(rest, /^(counter|gauge|histogram)$/);
        families.set(name, { type: rest, series: new Map() });
        current = name;
      }
      continue;
    }
    const exemplar = isOpen ? EXEMPLAR.exec(line) : null;
    const sample = SAMPLE.exec(exemplar?.[1] ?? line);
    assert.ok(sample !== null, `no sample: ${line}`);
    const [, name, labelText, value] = sample;
    const family = families.get(current);
    assert.ok(family !== undefined, `before its TYPE: ${line}`);
    assert.ok(samplesOf(current, family.type, isOpen).includes(name), `${name} among ${current}`);
    assert.match(value, NUMBER, line);
    if (labelText !== undefined) checkLabels(labelText);
    const key = labelText === undefined ? name : `${name}{${labelText}}`;
    assert.ok(!values.has(key), `twice: ${key}`);
    const number = Number(value.replace("Inf", "Infinity"));
    values.set(key, number);
    family.series.set(key, number);
    if (family.type === "counter") assert.match(name, /_total$/);
    if (family.type !== "gauge") assert.ok(number >= 0, line);
    if (isOpen) assert.doesNotMatch(labelText ?? "", /\ble="\d+"/, "a bound is a float");
    if (exemplar !== null) exemplars.set(key, exemplarOf(name, labelText, exemplar));
  }
  for (const [name, { type, series }] of families) {
    assert.ok(series.size > 0, `${name} has no samples`);
    if (type === "histogram") checkHistogram(name, series);
  }
  return { values, exemplars };
}

function samplesOf(family: string, type: string, isOpen: boolean): readonly string[] {
  if (type === "histogram") return [`${family}_bucket`, `${family}_sum`, `${family}_count`];
  return [isOpen && type === "counter" ? `${family}_total` : family];
}

function exemplarOf(
  name: string,
  labelText: string | undefined,
  [line, , labels, value, time]: readonly string[],
): ParsedExemplar {
  assert.match(name, /_bucket$/, line);
  assert.match(value, NUMBER, line);
  assert.match(time, NUMBER, line);
  checkLabels(labels);
  assert.ok(labels.length - '=""'.length <= MAX_EXEMPLAR, line);
  const bound = /\ble="([^"]+)"/.exec(labelText ?? "")?.[1];
  assert.ok(
    Number(value) <= Number(bound?.replace("+Inf", "Infinity")),
    `not of its bucket: ${line}`,
  );
  return { labels, value: Number(value), time: Number(time) };
}

function checkLabels(text: string): void {
  const names = new Set<string>();
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const at = LABEL.lastIndex;
    const label = LABEL.exec(text);
    assert.ok(label !== null, `bad labels from ${at} on: ${text}`);
    assert.ok(!names.has(label[1]), `label ${label[1]} comes twice: ${text}`);
    assert.ok(label[3] === "" || LABEL.lastIndex < text.length, `a last comma: ${text}`);
    names.add(label[1]);
  }
}

/** Buckets of each label set grow to the count. */
function checkHistogram(name: string, series: ReadonlyMap<string, number>): void {
  const last = new Map<string, { le: number; count: number }>();
  for (const [key, count] of series) {
    const bucket = /^\w+_bucket\{(?:(.*),)?le="([^"]+)"\}$/.exec(key);
    if (bucket === null) continue;
    const [, labels = "", bound] = bucket;
    const le = bound === "+Inf" ? Infinity : Number(bound);
    const before = last.get(labels) ?? { le: -Infinity, count: 0 };
    assert.ok(le > before.le && count >= before.count, `buckets out of order: ${key}`);
    last.set(labels, { le, count });
  }
  assert.ok(last.size > 0, `${name} has no buckets`);
  for (const [labels, { le, count }] of last) {
    const suffix = labels === "" ? "" : `{${labels}}`;
    assert.equal(le, Infinity, `${name}${suffix} has no +Inf`);
    assert.equal(series.get(`${name}_count${suffix}`), count);
    assert.ok(series.has(`${name}_sum${suffix}`));
  }
}
