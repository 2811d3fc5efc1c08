/**
 * The controller under measurement. In: a cluster with its objects. Out: starts, single changes and a
 * burst, each with its times, CPU time and calls; throws where something does not work.
 */
import { ControllerProcess } from "../../tests/cluster/support/controller_process.ts";
import { PROXY_NAME } from "../../controller/outputs/workload/names.ts";
import type { TestCluster } from "../../tests/cluster/support/cluster.ts";
import {
  type Change,
  CHANGED_KINDS,
  type ChangedKind,
  changeOf,
  newHost,
  newPath,
} from "./changes.ts";
import { counterDifference, type Counters, readCounters } from "./counters.ts";
import type { ControllerBenchOptions } from "./options.ts";
import { inParallel, type Population } from "./population.ts";
import { atRest, cpuTime, memoryOf, type ProcessMemory } from "./process_usage.ts";
import { PublishedWatch, type WriteCounts } from "./published_watch.ts";
import { ServingProxy } from "./serving_proxy.ts";

export const NAMESPACE = "pingress-system";
const ACCOUNT = "pingress-controller-user";

/** How long anything is waited for, in ms. */
const PATIENCE = 300_000;

/** How long the controller is given to come to rest, in ms, where nothing is paced any more. */
const REST_PATIENCE = 15_000;

/** Between two looks at what is written one by one, in ms; the controller writes ten a second. */
const LOOK = 1000;

/** One start, from the beginning of the process. Times in ms, memory in bytes. */
export interface Start {
  readonly ready: number;
  readonly published: number;
  /** CPU time until it was published. */
  readonly cpu: number;
  /** When it had come to rest. */
  readonly memory: ProcessMemory;
  readonly writes: WriteCounts;
  readonly counters: Counters;
}

/** One change. Times in ms. */
export interface ChangeResult {
  /** From the API server's answer to the change until the ConfigMap carries it. */
  readonly published: number;
  /** CPU time until the controller was at rest again. */
  readonly cpu: number;
  readonly counters: Counters;
}

export interface BurstResult {
  readonly objects: number;
  /** From the first request until the last answer. */
  readonly changing: number;
  /** From the last answer until all were published. */
  readonly published: number;
  readonly cpu: number;
  readonly writes: WriteCounts;
  readonly counters: Counters;
}

export interface RunResult {
  readonly starts: readonly Start[];
  readonly changes: Readonly<Record<ChangedKind, readonly ChangeResult[]>>;
  readonly memoryAfterChanges: ProcessMemory;
  readonly burst: BurstResult;
  /** From the API server's response to a new host until a proxy serves it, in ms. */
  readonly served: readonly number[];
  readonly memoryAtEnd: ProcessMemory;
}

/** Tells what is measured now. */
export type Progress = (text: string) => void;

export class ControllerRun {
  readonly #cluster: TestCluster;
  readonly #population: Population;
  readonly #options: ControllerBenchOptions;
  readonly #watch: PublishedWatch;
  readonly #progress: Progress;

  private constructor(
    cluster: TestCluster,
    population: Population,
    options: ControllerBenchOptions,
    watch: PublishedWatch,
    progress: Progress,
  ) {
    this.#cluster = cluster;
    this.#population = population;
    this.#options = options;
    this.#watch = watch;
    this.#progress = progress;
  }

  /** The cluster must have the namespace and the rights of `manifests/`. */
  static async measure(
    cluster: TestCluster,
    population: Population,
    options: ControllerBenchOptions,
    progress: Progress,
  ): Promise<RunResult> {
    // A connection of its own: what the changes send must not hold up what is watched.
    const watch = await PublishedWatch.open(cluster.as(cluster.adminToken), NAMESPACE);
    try {
      return await new ControllerRun(cluster, population, options, watch, progress).#measure();
    } finally {
      await watch.close();
    }
  }

  async #measure(): Promise<RunResult> {
    const starts: Start[] = [];
    for (let round = 1; round < this.#options.starts; round++) {
      const { controller, start } = await this.#start(round);
      starts.push(start);
      await controller.stop(PATIENCE);
      await this.#forgetPublished();
    }
    const { controller, start } = await this.#start(this.#options.starts);
    await using _ = controller;
    starts.push(start);
    this.#progress("waiting until all Events are written");
    await this.#allSaid(controller);
    const changes: Record<ChangedKind, ChangeResult[]> = {
      Ingress: [],
      EndpointSlice: [],
      Secret: [],
    };
    for (const kind of CHANGED_KINDS) {
      this.#progress(`${this.#options.changes} times one ${kind}`);
      for (let round = 0; round < this.#options.changes; round++) {
        const change = await changeOf(kind, this.#population, round);
        changes[kind].push(await this.#change(controller, change));
      }
    }
    const memoryAfterChanges = memoryOf(controller.pid);
    const burst = await this.#burst(controller);
    const memoryAtEnd = memoryOf(controller.pid);
    const served = await this.#served(controller);
    const code = await controller.stop(PATIENCE);
    if (code !== 0) throw new Error(`The controller ended with ${code}`);
    return { starts, changes, memoryAfterChanges, burst, served, memoryAtEnd };
  }

  async #start(round: number) {
    this.#progress(`start ${round} of ${this.#options.starts}`);
    const kubeconfig = await this.#cluster.serviceAccountKubeconfig(NAMESPACE, ACCOUNT);
    const { ingresses } = this.#population.resources;
    const hosts = ingresses.flatMap(({ spec }) => spec?.rules ?? []).map(({ host }) => host);
    const from = this.#watch.counts;
    const began = performance.now();
    const { annotationSets, controllerArg, proxyMemory } = this.#options;
    const podTemplate = await this.#cluster.writeFile(podTemplateOf(proxyMemory));
    const controller = await ControllerProcess.spawn({
      kubeconfig,
      args: [
        ...["--backend=HostPort", "--endpoint-interval=0", "--stream-name=127.0.0.1"],
        `--proxy-pod-template=${podTemplate}`,
        ...annotationSets === 0 ? [] : ["--nginx-class=pingress"],
        ...controllerArg,
      ],
    });
    try {
      const isReady = controller.ready(PATIENCE).then(() => performance.now());
      const isPublished = this.#watch.carrying(
        "the first configuration",
        (text) => hosts.every((host) => text.includes(`"${host}"`)),
        PATIENCE,
      ).then((at) => ({ at, cpu: cpuTime(controller.pid) }));
      const [ready, published] = await Promise.all([isReady, isPublished]);
      await atRest(controller.pid, REST_PATIENCE);
      const start: Start = {
        ready: ready - began,
        published: published.at - began,
        cpu: published.cpu,
        memory: memoryOf(controller.pid),
        writes: countsSince(from, this.#watch.counts),
        counters: await readCounters(controller),
      };
      return { controller, start };
    } catch (error) {
      const reason = await problemsOf(controller);
      await controller[Symbol.asyncDispose]();
      throw new Error(`${(error as Error).message}${reason}`, { cause: error });
    }
  }

  /** Waits until nothing is left of what is written at a pace: Events. */
  async #allSaid(controller: ControllerProcess): Promise<void> {
    const end = performance.now() + PATIENCE;
    for (let before = -1;;) {
      const { calls } = await readCounters(controller);
      const writes = sum(Object.keys(calls).filter(isPaced).map((name) => calls[name]));
      if (writes === before) return;
      if (performance.now() > end) throw new Error(`Events were not written within ${PATIENCE} ms`);
      before = writes;
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
  }

  /** As before the first start. */
  async #forgetPublished(): Promise<void> {
    for (const kind of ["ConfigMap", "Secret"]) {
      const published = await this.#cluster.list("v1", kind, {
        namespace: NAMESPACE,
        labelSelector: "pingress.io/published=snapshot",
      });
      for (const { metadata } of published) {
        await this.#cluster.delete("v1", kind, metadata.name, NAMESPACE);
      }
    }
  }

  async #change(controller: ControllerProcess, change: Change): Promise<ChangeResult> {
    const { pid } = controller;
    const counters = await readCounters(controller);
    await atRest(pid, REST_PATIENCE);
    const cpu = cpuTime(pid);
    await this.#patch(change);
    const answered = performance.now();
    const published = await this.#watch.carrying(
      `${change.kind} ${change.namespace}/${change.name}`,
      (text) => text.includes(change.mark),
      PATIENCE,
    );
    await atRest(pid, REST_PATIENCE);
    return {
      published: published - answered,
      cpu: cpuTime(pid) - cpu,
      counters: counterDifference(counters, await readCounters(controller)),
    };
  }

  async #burst(controller: ControllerProcess): Promise<BurstResult> {
    const { pid } = controller;
    const count = Math.min(this.#options.burst, this.#population.resources.ingresses.length);
    this.#progress(`a burst of ${count} Ingresses`);
    // Another name than those of the single changes: these Ingresses lose their new paths.
    const changes = Array.from(
      { length: count },
      (_, index) => newPath(this.#population, index, `/burst-${index}`),
    );
    const counters = await readCounters(controller);
    await atRest(pid, REST_PATIENCE);
    const cpu = cpuTime(pid);
    const from = this.#watch.counts;
    const began = performance.now();
    await inParallel(changes, (change) => this.#patch(change));
    const answered = performance.now();
    const published = await this.#watch.carrying(
      `the burst of ${count} Ingresses`,
      (text) => changes.every(({ mark }) => text.includes(mark)),
      PATIENCE,
    );
    await atRest(pid, REST_PATIENCE);
    return {
      objects: count,
      changing: answered - began,
      published: published - answered,
      cpu: cpuTime(pid) - cpu,
      writes: countsSince(from, this.#watch.counts),
      counters: counterDifference(counters, await readCounters(controller)),
    };
  }

  /** Through the stream, which does not wait for what is published. */
  async #served(controller: ControllerProcess): Promise<number[]> {
    this.#progress(`${this.#options.changes} times one host, until a proxy serves it`);
    const [first] = this.#population.resources.ingresses;
    const host = first.spec?.rules?.[0]?.host ?? "";
    await using proxy = await ServingProxy.start(
      ...[this.#cluster, NAMESPACE, controller, host, PATIENCE] as const,
    );
    const times: number[] = [];
    for (let round = 0; round < this.#options.changes; round++) {
      await atRest(controller.pid, REST_PATIENCE);
      const added = newHost(this.#population, round);
      await this.#patch(added);
      const answered = performance.now();
      times.push(await proxy.serves(added.host, PATIENCE) - answered);
    }
    return times;
  }

  async #patch({ apiVersion, kind, namespace, name, patch }: Omit<Change, "mark">): Promise<void> {
    const path = await this.#cluster.pathOf(apiVersion, kind, name, namespace);
    const type = "application/merge-patch+json";
    const { status, text } = await this.#cluster.request("PATCH", path, patch, type);
    if (status !== 200) throw new Error(`PATCH ${path}: ${status} ${text}`);
  }
}

/** @param memory In bytes. */
function podTemplateOf(memory: number): string {
  const resources = { limits: { memory: String(memory) } };
  return JSON.stringify({ spec: { containers: [{ name: PROXY_NAME, resources }] } });
}

/** What the controller reports about its objects, as the end of a sentence; empty where it cannot be read. */
async function problemsOf(controller: ControllerProcess): Promise<string> {
  try {
    const problems = Object.entries((await readCounters(controller)).problems);
    const counts = problems.map(([reason, count]) => `${count} ${reason}`);
    return counts.length === 0 ? "" : `; problems: ${counts.join(", ")}`;
  } catch {
    return "";
  }
}

/** Calls are named `verb resource`. */
function isPaced(name: string): boolean {
  return /^(create|patch|apply) (events|ingresses)/.test(name);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function countsSince(before: WriteCounts, now: WriteCounts): WriteCounts {
  return { index: now.index - before.index, parts: now.parts - before.parts };
}
