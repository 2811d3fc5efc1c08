/**
 * Pods of an application are killed under load. In: a scene. Out: which requests failed: only those
 * that were under way when a pod was killed, and that nobody may send twice.
 */
import type { Failure } from "../load/plan.ts";
import { Finding } from "./finding.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const REPLICAS = 4;
const RATE = 200;

/** What an answer takes, in ms, so that some are under way at any time. */
const DURATION = 100;

/** By how much the clocks of a kill and of its victims may differ, in ms. */
const SLACK = 50;

export interface Kill {
  /** Between these two a process was killed, in ms since 1970. */
  readonly from: number;
  readonly to: number;
}

/** Whether a request may fail: it was a POST under way at one of these kills. */
export function isExcused({ stream, at, after }: Failure, kills: readonly Kill[]): boolean {
  const mayBeSentTwice = !stream.startsWith("POST");
  return !mayBeSentTwice &&
    kills.some(({ from, to }) => at <= to + SLACK && at + after >= from - SLACK);
}

/** Kills a pod's process; between two looks at the clock. */
export async function crash(scene: Scene, namespace: string, pod: string): Promise<Kill> {
  const from = Date.now();
  await scene.cluster.kill(namespace, pod);
  return { from, to: Date.now() };
}

export async function applicationCrash(scene: Scene, form: Form): Promise<Finding> {
  const times = form === "long" ? 20 : 3;
  const finding = new Finding("application crash");
  await scene.within("crash", async (namespace) => {
    const host = "crash.test";
    const application = await scene.application({ namespace, replicas: REPLICAS, host });
    const streams = mixedStreams(host, RATE, { path: `/?ms=${DURATION}` });
    await using load = await scene.load({ streams });
    await load.lasts(2_000);
    const kills: Kill[] = [];
    for (let index = 0; index < times; index++) {
      const [pod] = await application.ready(REPLICAS);
      kills.push(await crash(scene, namespace, pod.metadata.name));
      // Until the kubelet and the proxies have met with it; its successor starts meanwhile.
      await load.lasts(3_000);
      await scene.replace(pod);
    }
    await application.ready(REPLICAS);
    await load.lasts(1_000);
    noteLoad(finding, await load.stop());
    finding.note("pods killed", times);
    const excused = load.failures.filter((failure) => isExcused(failure, kills));
    const others = load.failures.filter((failure) => !isExcused(failure, kills));
    finding.note("POST requests under way on killed pods that failed", excused.length);
    finding.count("other requests that failed", others.length, 0, linesOf(others));
  });
  return finding;
}
