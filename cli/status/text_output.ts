/** The status for people. In: rows, and the terminal's width and colours. Out: tables. Pure. */
import { printable } from "../../dev/terminal_text.ts";
import { wrapText } from "../../shared/wrapped_text.ts";
import { WARN_DAYS } from "../installation/certificates.ts";
import type { Unread } from "../cluster/unread.ts";
import type { Style } from "../terminal/style.ts";
import { type Cell, type Column, tableLines } from "../terminal/table.ts";
import { MARK_INDENT, remedyLines } from "../terminal/remedy_lines.ts";
import type { Backends, CertificateState, RowProblem, ServedRow } from "./served_rows.ts";
import type { MissingNamespace } from "./facts.ts";
import type { ControllerRow, ProxyRow, Status } from "./status.ts";

export interface TextOptions {
  readonly style: Style;
  /** Infinity where nothing is cut. */
  readonly columns: number;
  /** Lines that fit; missing where all are shown. */
  readonly rows?: number;
  /** The one whose objects are shown, which names of rows do without; null for all. */
  readonly namespace: string | null;
}

const UNKNOWN = "?";
const NONE = "–";

export function statusText(status: Status, options: TextOptions): string {
  const { proxies, controllers, unread } = status;
  const others = [
    ...(proxies.length === 0 ? [] : [proxyTable(proxies, options)]),
    ...(controllers.length === 0 ? [] : [controllerTable(controllers, options)]),
    ...unread.map((one) => unreadLines(one, options)),
  ];
  const taken = others.reduce((sum, lines) => sum + 1 + lines.length, 0);
  // The cursor takes a line of its own.
  const left = Math.max(LEAST_ROWS, (options.rows ?? Infinity) - taken - 1);
  const tables = [servedLines(status, options, left), ...others];
  return `${tables.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

/** Of the first table: title, a row, and how many more there are. */
const LEAST_ROWS = 3;

function servedLines(
  { served, listed, missingNamespace }: Status,
  options: TextOptions,
  rows: number,
): readonly string[] {
  if (served.length === 0) {
    if (missingNamespace !== null) return [missingText(missingNamespace)];
    if (!listed) return ["Ingresses and Gateways are not known, as they could not be listed"];
    const { namespace } = options;
    return wrapText(
      namespace === null
        ? "No Ingress or Gateway of Pingress in any namespace"
        : `No Ingress or Gateway of Pingress in namespace ${namespace}; -A lists those of all namespaces`,
      { indent: "", width: options.columns },
    );
  }
  if (served.length + 1 <= rows) return servedTable(served, options);
  const worst = served.toSorted((a, b) => troubleOf(b) - troubleOf(a)).slice(0, rows - 2);
  const more = `… and ${served.length - worst.length} more; -o json lists all`;
  return [...servedTable(worst, options), options.style.dim(more)];
}

function missingText({ name, meant }: MissingNamespace): string {
  const remedy = meant === null ? "-A lists those of all namespaces" : `did you mean ${meant}?`;
  return `There is no namespace ${name}; ${remedy}`;
}

/** 0 for a row without any. */
function troubleOf({ backends: { ready, total }, certificate, problems }: ServedRow): number {
  const isDown = ready !== null && ready < total;
  const isEnding = certificate !== null &&
    (certificate.missing === true || (certificate.days ?? Infinity) < WARN_DAYS);
  return (isDown ? 4 : 0) + (isEnding ? 2 : 0) + ((problems ?? []).length > 0 ? 1 : 0);
}

function unreadLines({ message, remedy }: Unread, options: TextOptions): string[] {
  const { style, columns } = options;
  const [first, ...more] = wrapText(printable(message), { indent: MARK_INDENT, width: columns });
  return [`${style.warn} ${first.trimStart()}`, ...more, ...remedyLines(remedy, options)];
}

const SERVED: readonly Column[] = [
  { title: "NAME", priority: 10, least: 16 },
  { title: "HOSTS", priority: 4, least: 12 },
  { title: "BACKENDS", priority: 8, least: null },
  { title: "CERT", priority: 6, least: null },
  { title: "PROBLEMS", priority: 7, least: 12 },
  { title: "ADDRESS", priority: 3, least: 9 },
];

function servedTable(
  rows: readonly ServedRow[],
  { style, columns, namespace: shown }: TextOptions,
): string[] {
  return tableLines(
    SERVED,
    rows.map(({ kind, namespace, name, hosts, backends, certificate, problems, addresses }) => [
      {
        text: printable(
          `${shown === null ? `${namespace}/` : ""}${name}${
            kind === "Gateway" ? " (Gateway)" : ""
          }`,
        ),
      },
      { text: withMore(hosts) },
      backendsCell(backends, style),
      certificateCell(certificate, style),
      problemsCell(problems, style),
      { text: addresses.length === 0 ? NONE : withMore(addresses) },
    ]),
    columns,
    style.dim,
  );
}

function withMore(texts: readonly string[]): string {
  const [first = NONE, ...more] = texts;
  return printable(first) + (more.length === 0 ? "" : ` +${more.length}`);
}

function backendsCell({ ready, total }: Backends, style: Style): Cell {
  const text = `${ready ?? UNKNOWN}/${total}`;
  if (ready === null || ready === total) return { text };
  return { text, paint: ready === 0 ? style.red : style.yellow };
}

function certificateCell(state: CertificateState | null, style: Style): Cell {
  if (state === null) return { text: NONE };
  if (state.missing === true) return { text: "missing", paint: style.red };
  if (state.days === null) {
    return state.missing === null ? { text: UNKNOWN } : { text: "unreadable", paint: style.red };
  }
  if (state.days < 0) return { text: "expired", paint: style.red };
  return { text: `${state.days}d`, ...(state.days < WARN_DAYS ? { paint: style.yellow } : {}) };
}

function problemsCell(problems: readonly RowProblem[] | null, style: Style): Cell {
  if (problems === null) return { text: UNKNOWN };
  if (problems.length === 0) return { text: NONE };
  const isError = problems.some((problem) => rank(problem) === 0);
  const sorted = problems.toSorted((a, b) => rank(a) - rank(b));
  return {
    text: withMore([...new Set(sorted.map(({ reason }) => reason))]),
    paint: isError ? style.red : style.yellow,
  };
}

function rank({ severity }: RowProblem): number {
  return severity === "warning" ? 1 : severity === "info" ? 2 : 0;
}

const PROXIES: readonly Column[] = [
  { title: "PROXY", priority: 10, least: 16 },
  { title: "NODE", priority: 3, least: 8 },
  { title: "READY", priority: 7, least: null },
  { title: "SYNC", priority: 9, least: 12 },
  { title: "VERSION", priority: 5, least: null },
];

function proxyTable(rows: readonly ProxyRow[], { style, columns }: TextOptions): string[] {
  return tableLines(
    PROXIES,
    rows.map(({ name, node, ready, inSync, reason, version }) => [
      { text: printable(name) },
      { text: printable(node ?? NONE) },
      yesNo(ready, style),
      inSync === null
        ? { text: UNKNOWN }
        : inSync
        ? { text: "in sync" }
        : { text: printable(`behind: ${reason ?? "no reason given"}`), paint: style.red },
      { text: printable(version ?? UNKNOWN) },
    ]),
    columns,
    style.dim,
  );
}

const CONTROLLERS: readonly Column[] = [
  { title: "CONTROLLER", priority: 10, least: 16 },
  { title: "READY", priority: 7, least: null },
  { title: "LEADS", priority: 9, least: null },
  { title: "PROXIES", priority: 4, least: null },
  { title: "VERSION", priority: 5, least: null },
];

function controllerTable(
  rows: readonly ControllerRow[],
  { style, columns }: TextOptions,
): string[] {
  const isLed = rows.some(({ leads }) => leads);
  return tableLines(
    CONTROLLERS,
    rows.map(({ name, ready, leads, proxies, version }) => [
      { text: printable(name) },
      yesNo(ready, style),
      leads
        ? { text: "yes" }
        : { text: isLed ? NONE : "nobody", ...(isLed ? {} : { paint: style.red }) },
      { text: proxies === null ? UNKNOWN : String(proxies) },
      { text: printable(version ?? UNKNOWN) },
    ]),
    columns,
    style.dim,
  );
}

function yesNo(value: boolean, style: Style): Cell {
  return value ? { text: "yes" } : { text: "no", paint: style.red };
}
