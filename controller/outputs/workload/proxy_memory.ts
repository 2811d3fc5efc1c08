/**
 * The memory that the proxies will have. In: the workload's options. Out: their memory limit and their
 * number of workers, by which the controller bounds what it publishes; null where no limit is known.
 */
import type { ProxyMemory } from "../../../shared/snapshot/memory.ts";
import { asList, asObject, fieldOf } from "../../base/json.ts";
import { workloadObjects } from "./objects.ts";
import { PROXY_NAME } from "./names.ts";
import type { WorkloadOptions } from "./options.ts";
import { MEMORY_LIMIT_VARIABLE } from "./proxy_args.ts";

/** `--workers=0` is one for each CPU of a node, and how many these have is not known. */
const WORKERS_OF_NODE = 8;

const UNITS: Readonly<Record<string, number>> = {
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** By the container as it will be, a user's pod template and flags included. */
export function proxyMemoryOf(options: WorkloadOptions): ProxyMemory | null {
  const container = containerOf(options);
  if (container === null) return null;
  const limits = fieldOf(fieldOf(container, "resources"), "limits");
  const ofContainer = bytesOf(fieldOf(limits, "memory"));
  const flag = flagOf(container, "memory-limit");
  const ofFlag = flag === `$(${MEMORY_LIMIT_VARIABLE})` ? ofContainer : bytesOf(flag);
  // 0 is no limit to the proxy; the kernel's stays.
  const known = [ofContainer, ofFlag].filter((bytes) => bytes !== null && bytes > 0) as number[];
  if (known.length === 0) return null;
  const workers = Number(flagOf(container, "workers"));
  return {
    limit: Math.min(...known),
    workers: Number.isSafeInteger(workers) && workers > 0 ? workers : WORKERS_OF_NODE,
  };
}

function containerOf(options: WorkloadOptions): unknown {
  for (const { kind, spec } of workloadObjects(options).apply) {
    if (kind !== "DaemonSet" && kind !== "Deployment") continue;
    const containers = asList(fieldOf(fieldOf(fieldOf(spec, "template"), "spec"), "containers"));
    return containers?.find((each) => fieldOf(each, "name") === PROXY_NAME) ?? null;
  }
  return null;
}

/** Of a flag's last place, in either form; null where it is not there. */
function flagOf(container: unknown, name: string): string | null {
  const args = asList(fieldOf(asObject(container), "args")) ?? [];
  const at = args.findLastIndex((arg) =>
    arg === `--${name}` || String(arg).startsWith(`--${name}=`)
  );
  if (at === -1) return null;
  const arg = String(args[at]);
  return arg === `--${name}` ? String(args[at + 1] ?? "") : arg.slice(name.length + 3);
}

/**
 * A quantity of Kubernetes, or a size of our flags; null for what is neither.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
function bytesOf(value: unknown): number | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const match = /^(\d{1,15}(?:\.\d{1,9})?(?:[eE]\d{1,2})?)([kMGT]|[KMGT]i)?B?$/.exec(String(value));
  return match === null ? null : Math.floor(Number(match[1]) * (UNITS[match[2] ?? ""] ?? 1));
}
