/**
 * What containers that do not become ready say. In: pods, times, and the ends of logs. Out: which
 * containers need a look, their state in words, and the last error of a log. Pure, but for what
 * `PodTroubles` remembers between looks: since when each pod has not been ready.
 */
import type { KubeObject } from "../controller/kube/types.ts";
import { asList, asObject, fieldOf } from "../controller/base/json.ts";
import { printable } from "../controller/outputs/workload/refusal.ts";

/** Milliseconds that a pod may take to become ready: to pull two images and to start takes less. */
const PATIENCE = 30_000;

/** A container that is not ready. */
export interface ContainerTrouble {
  readonly pod: string;
  readonly container: string;
  readonly restarts: number;
  /** `waiting: CrashLoopBackOff`. */
  readonly state: string;
  /** What it wrote last before it ended, as the kubelet kept it; "" where there is nothing. */
  readonly lastWords: string;
}

export class PodTroubles {
  /** In ms, by the pod's UID or name. */
  readonly #unreadySince = new Map<string, number>();

  /**
   * The containers that have restarted, or whose pod has not been ready for 30 s.
   * @param now in ms, of any clock that only goes forward.
   */
  look(pods: readonly KubeObject[], now: number): ContainerTrouble[] {
    return pods.flatMap((pod) => {
      const key = pod.metadata.uid ?? pod.metadata.name;
      if (isReady(pod) || pod.metadata.deletionTimestamp !== undefined) {
        this.#unreadySince.delete(key);
        return [];
      }
      const since = this.#unreadySince.get(key) ?? now;
      this.#unreadySince.set(key, since);
      const isLate = now - since >= PATIENCE;
      return containersOf(pod).filter(({ restarts }) => isLate || restarts > 0);
    });
  }
}

function isReady(pod: KubeObject): boolean {
  const conditions = asList(fieldOf(fieldOf(pod, "status"), "conditions")) ?? [];
  return conditions.some((condition) =>
    fieldOf(condition, "type") === "Ready" && fieldOf(condition, "status") === "True"
  );
}

function containersOf(pod: KubeObject): ContainerTrouble[] {
  const statuses = asList(fieldOf(fieldOf(pod, "status"), "containerStatuses")) ?? [];
  return statuses.filter((status) => fieldOf(status, "ready") !== true).map((status) => ({
    pod: pod.metadata.name,
    container: String(fieldOf(status, "name") ?? ""),
    restarts: Number(fieldOf(status, "restartCount") ?? 0),
    state: describeState(fieldOf(status, "state")),
    lastWords: [fieldOf(status, "state"), fieldOf(status, "lastState")]
      .map((state) => lastErrorLine(String(fieldOf(fieldOf(state, "terminated"), "message") ?? "")))
      .find((line) => line !== "") ?? "",
  }));
}

/** https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-states */
function describeState(state: unknown): string {
  const { waiting, running, terminated } = asObject(state) ?? {};
  if (terminated !== undefined) {
    const reason = String(fieldOf(terminated, "reason") ?? "terminated");
    return `terminated: ${reason}, exit code ${fieldOf(terminated, "exitCode") ?? "unknown"}`;
  }
  if (running !== undefined) return "running, not ready";
  return `waiting: ${printable(String(fieldOf(waiting, "reason") ?? "no reason given"))}`;
}

/** The last line of a log that tells of an error, else its last line; "" for an empty log. */
export function lastErrorLine(log: string): string {
  const lines = log.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const line = lines.findLast((line) => /\b(error|fatal|panic|cannot|failed)\b/i.test(line)) ??
    lines.at(-1) ?? "";
  return printable(line);
}

/** `  pod a, container b: waiting: CrashLoopBackOff, 2 restarts; last error: …`. */
export function troubleLine(
  { pod, container, restarts, state }: ContainerTrouble,
  error: string,
): string {
  const restarted = restarts === 0 ? "" : `, ${restarts} restart${restarts === 1 ? "" : "s"}`;
  const said = error === "" ? "; no log" : `; last error: ${error}`;
  return `  pod ${pod}, container ${container}: ${state}${restarted}${said}`;
}
