/**
 * What was measured of the controller, for people. In: every figure. Out: a table of figures with
 * their aims, and one of calls to the API server.
 */
import { median, type Table } from "../report.ts";
import type { ChangeResult, RunResult } from "./run.ts";

const MEBIBYTE = 2 ** 20;

/** Aims, in words; nothing fails for them. */
const AIMS = {
  start: "< 10 s",
  change: "< 250 ms",
  memory: "< 400 MiB",
} as const;

/** Figures with their aims: smallest, middle and largest of so many. */
export function figures(
  { starts, changes, memoryAfterChanges, burst, served, memoryAtEnd }: RunResult,
): Table {
  const changeRows = (name: string, results: readonly ChangeResult[]) => [
    row(`${name}: until published`, AIMS.change, results.map((one) => one.published), millis),
    row(`${name}: of it, translating`, "", results.map((one) => one.counters.translating), millis),
    row(`${name}: of it, publishing`, "", results.map((one) => one.counters.publishing), millis),
    row(`${name}: CPU`, "", results.map((one) => one.cpu), millis),
  ];
  const last = starts[starts.length - 1];
  return [
    ["", "aim", "min", "median", "max", "times"],
    row("start: until /readyz", AIMS.start, starts.map((one) => one.ready), seconds),
    row("start: until published", AIMS.start, starts.map((one) => one.published), seconds),
    row("start: CPU until published", "", starts.map((one) => one.cpu), seconds),
    row("start: memory at rest", AIMS.memory, starts.map((one) => one.memory.resident), mebibytes),
    row("start: memory, peak", AIMS.memory, starts.map((one) => one.memory.peak), mebibytes),
    ...changeRows("one Ingress", changes.Ingress),
    ...changeRows("one EndpointSlice", changes.EndpointSlice),
    ...changeRows("one Secret", changes.Secret),
    row("after the changes: memory", AIMS.memory, [memoryAfterChanges.resident], mebibytes),
    row(`burst of ${burst.objects} Ingresses: changing them`, "", [burst.changing], millis),
    row("burst: from then until published", "", [burst.published], millis),
    row("burst: CPU", "", [burst.cpu], millis),
    row("burst: writes of the index", "", [burst.writes.index], String),
    row("burst: writes of parts", "", [burst.writes.parts], String),
    row("one host: until a proxy serves it", AIMS.change, served, millis),
    row("at the end: memory", AIMS.memory, [memoryAtEnd.resident], mebibytes),
    row("at the end: memory, peak", AIMS.memory, [memoryAtEnd.peak], mebibytes),
    row("published in ConfigMaps", "", [last.counters.configMapBytes], kibibytes),
    row("published in Secrets", "", [last.counters.secretBytes], kibibytes),
  ];
}

/** Calls by verb and resource: of the last start, of the mean change of each kind, of the burst. */
export function calls({ starts, changes, burst }: RunResult): Table {
  const start = starts[starts.length - 1].counters.calls;
  const columns = [
    (name: string) => String(start[name] ?? 0),
    ...[changes.Ingress, changes.EndpointSlice, changes.Secret].map((results) => (name: string) =>
      mean(results.map(({ counters }) => counters.calls[name] ?? 0)).toFixed(1)
    ),
    (name: string) => String(burst.counters.calls[name] ?? 0),
  ];
  const all = [
    start,
    burst.counters.calls,
    ...Object.values(changes).flatMap((results) => results.map(({ counters }) => counters.calls)),
  ];
  const names = [...new Set(all.flatMap(Object.keys))].sort();
  return [
    ["calls", "start", "an Ingress", "an EndpointSlice", "a Secret", "burst"],
    ...names.map((name) => [name, ...columns.map((column) => column(name))]),
  ];
}

/** Calls that failed in the whole run; 0 says that all figures are of an undisturbed controller. */
export function failedCalls({ starts, changes, burst }: RunResult): number {
  const all = [...starts, ...Object.values(changes).flat(), burst];
  return all.reduce((sum, { counters }) => sum + counters.failedCalls, 0);
}

function row(
  what: string,
  aim: string,
  values: readonly number[],
  show: (value: number) => string,
): string[] {
  const cells = values.length === 1
    ? ["", show(values[0]), ""]
    : [Math.min(...values), median(values), Math.max(...values)].map(show);
  return [what, aim, ...cells, String(values.length)];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function millis(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / MEBIBYTE).toFixed(0)} MiB`;
}

function kibibytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(0)} KiB`;
}
