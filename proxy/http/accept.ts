/**
 * Which of two forms a response of our own takes. In: the values of a request's Accept field. Out: whether
 * the client prefers JSON, or OpenMetrics, to plain text (RFC 9110 §12.5.1).
 *
 * A client chooses these bytes, and HPACK lets it repeat 28 KiB of them for 38: only the first 512
 * are read, once. A library that counted the quotes of 28 KiB took 1.1 s for one request.
 */

/** Bytes that are read. Browsers send up to 200. */
export const ACCEPT_BYTES = 512;

/** The media ranges that decide, and how specific each is of its form. */
const RANGES: Readonly<Record<string, { readonly json: boolean; readonly specificity: number }>> = {
  "application/json": { json: true, specificity: 2 },
  "application/*": { json: true, specificity: 1 },
  "text/plain": { json: false, specificity: 2 },
  "text/*": { json: false, specificity: 1 },
  "*/*": { json: false, specificity: 0 },
};

/** §12.4.2. */
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * Whether a client that sends these lines of Accept gets JSON: it names JSON, and plain text with no
 * greater weight. False where one of the ranges that decide has a parameter or a malformed weight.
 */
export function prefersJson(lines: Iterable<string>): boolean {
  const json = { specificity: -1, weight: 0 };
  const text = { specificity: -1, weight: 0 };
  for (const element of firstElements(lines)) {
    const [name, ...parameters] = element.split(";").map((part) => part.trim().toLowerCase());
    const range = Object.hasOwn(RANGES, name) ? RANGES[name] : undefined;
    if (range === undefined) continue;
    const weight = weightOf(parameters);
    if (weight === null) return false;
    const form = range.json ? json : text;
    if (range.specificity < form.specificity) continue;
    form.weight = range.specificity > form.specificity ? weight : Math.max(form.weight, weight);
    form.specificity = range.specificity;
  }
  return json.weight > 0 && json.weight >= text.weight;
}

const OPENMETRICS = "application/openmetrics-text";
const OPENMETRICS_VERSION = /^version=(?:1\.0\.0|"1\.0\.0")$/;

/**
 * Whether a scraper that sends these lines of Accept gets OpenMetrics 1.0: it names that, and plain text
 * with no greater weight. Ranges with a malformed weight do not count.
 */
export function prefersOpenMetrics(lines: Iterable<string>): boolean {
  let open = 0;
  let text = 0;
  for (const element of firstElements(lines)) {
    const [name, ...parameters] = element.split(";").map((part) => part.trim().toLowerCase());
    if (name !== OPENMETRICS && name !== "text/plain") continue;
    const weight = weightOf(parameters.filter((parameter) => parameter.startsWith("q="))) ?? 0;
    if (name === "text/plain") text = Math.max(text, weight);
    else if (
      parameters.every((parameter) =>
        !parameter.startsWith("version=") || OPENMETRICS_VERSION.test(parameter)
      )
    ) open = Math.max(open, weight);
  }
  return open > 0 && open >= text;
}

/** Elements of the list, those that the limit cuts left out. */
function* firstElements(lines: Iterable<string>): Generator<string> {
  let left = ACCEPT_BYTES;
  for (const line of lines) {
    const elements = line.slice(0, left).split(",");
    if (line.length > left) elements.pop();
    yield* elements;
    left -= line.length;
    if (left <= 0) return;
  }
}

/** 1 without parameters; null where they are anything but one weight. */
function weightOf(parameters: readonly string[]): number | null {
  if (parameters.length === 0) return 1;
  const weight = parameters.length === 1 ? WEIGHT.exec(parameters[0]) : null;
  return weight === null ? null : Number(weight[1]);
}
