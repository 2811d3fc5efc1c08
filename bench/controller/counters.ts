/**
 * What the controller counts itself. In: its `/metrics`. Out: its calls to the API server, and the
 * time that its parts took.
 */
import type { ControllerProcess } from "../../tests/cluster/support/controller_process.ts";

export interface Counters {
  /** Ended calls, by `verb resource`: `list ingresses`. */
  readonly calls: Readonly<Record<string, number>>;
  /** Calls that were refused or had no answer; that something is there, or is not, is an answer. */
  readonly failedCalls: number;
  /** Time of translations, in ms. */
  readonly translating: number;
  /** Time of what was published, in ms. */
  readonly publishing: number;
  /** Bytes that are published, of ConfigMaps and of Secrets. */
  readonly configMapBytes: number;
  readonly secretBytes: number;
  /** Objects with a problem, by its reason, for example `ClusterLimitExceeded`. */
  readonly problems: Readonly<Record<string, number>>;
}

const PROBLEMS = /^pingress_config_problems\{(.*)\}$/;
const CALLS = /^pingress_controller_api_requests_total\{(.*)\}$/;

export async function readCounters(controller: ControllerProcess): Promise<Counters> {
  const { status, text } = await controller.admin("/metrics");
  if (status !== 200) throw new Error(`/metrics answered ${status}`);
  return countersOf(text);
}

/** @param text of `/metrics`. */
export function countersOf(text: string): Counters {
  const series = seriesOf(text);
  const value = (name: string) => series.get(name) ?? 0;
  const calls: Record<string, number> = {};
  const problems: Record<string, number> = {};
  let failedCalls = 0;
  for (const [name, count] of series) {
    const ofProblem = PROBLEMS.exec(name)?.[1];
    if (ofProblem !== undefined && count > 0) problems[labelsOf(ofProblem).reason] = count;
    const labels = CALLS.exec(name)?.[1];
    if (labels === undefined) continue;
    const { verb, resource, code } = labelsOf(labels);
    calls[`${verb} ${resource}`] = (calls[`${verb} ${resource}`] ?? 0) + count;
    const isAnswer = code === "404" || (code === "409" && verb === "create");
    if (!code.startsWith("2") && !isAnswer) failedCalls += count;
  }
  return {
    calls,
    failedCalls,
    translating: value("pingress_controller_reconcile_duration_seconds_sum") * 1000,
    publishing: value('pingress_controller_job_duration_seconds_sum{job="publish"}') * 1000,
    configMapBytes: value('pingress_controller_published_bytes{kind="ConfigMap"}'),
    secretBytes: value('pingress_controller_published_bytes{kind="Secret"}'),
    problems,
  };
}

/** What was counted from one time to another; bytes and problems are those of the second. */
export function counterDifference(before: Counters, after: Counters): Counters {
  const names = Object.keys(after.calls)
    .filter((name) => after.calls[name] > (before.calls[name] ?? 0));
  return {
    ...after,
    calls: Object.fromEntries(
      names.map((name) => [name, after.calls[name] - (before.calls[name] ?? 0)]),
    ),
    failedCalls: after.failedCalls - before.failedCalls,
    translating: after.translating - before.translating,
    publishing: after.publishing - before.publishing,
  };
}

/** Values by `name{label="value"}`. */
function seriesOf(text: string): Map<string, number> {
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(samples.map((line) => {
    const space = line.lastIndexOf(" ");
    return [line.slice(0, space), Number(line.slice(space + 1))];
  }));
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [
    key,
    value,
  ]));
}
