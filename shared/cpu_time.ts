/**
 * CPU time, in seconds. In: nothing. Out: what the system has counted since the start. The one place that
 * has `node:process`, which also reads environment and arguments: it takes nothing else of it.
 */
import { cpuUsage, threadCpuUsage } from "node:process";

/** Of all threads of this process. */
export function processCpuTime(): number {
  return secondsOf(cpuUsage());
}

/** Of this thread. */
export function threadCpuTime(): number {
  return secondsOf(threadCpuUsage());
}

/** In microseconds. */
function secondsOf({ user, system }: { readonly user: number; readonly system: number }): number {
  return (user + system) / 1e6;
}
