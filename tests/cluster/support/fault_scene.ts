/**
 * A controller whose way to the API server breaks. In: what stands on that way. Out: a scene, and for
 * the time of a fault: what the controller said, whether it was healthy, and how often it called.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { LogLine } from "../../support/proxy_process.ts";
import { type ApiGateway, startGateway } from "./api_gateway.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually, PATIENCE } from "./condition.ts";
import { ControllerScene } from "./controller_scene.ts";
import { FAST_ELECTION } from "./elections.ts";
import { type FaultProxy, startFaultProxy } from "./fault_proxy.ts";

/** Whether everything is to be tested at its full length. */
export const IS_FULL = Deno.env.get("PINGRESS_FULL") === "1";

/** How long a fault lasts, in ms. */
export const FAULT = IS_FULL ? 60_000 : 6_000;

/**
 * How long a fault may keep a change back once it is over, in ms: pauses grow with it, to 45 s at
 * most.
 */
export const RECOVERY = IS_FULL ? 60_000 : PATIENCE;

export interface FaultSceneOptions {
  readonly args?: readonly string[];
  /** Of a kubeconfig; default: the administrator's. */
  readonly token?: string | { readonly tokenFile: string };
  /** Whether the gateway is left out, so that connections end as the API server ends them. */
  readonly direct?: boolean;
  /** Of the controller's process. */
  readonly env?: Readonly<Record<string, string>>;
}

export class FaultScene {
  private constructor(
    readonly scene: ControllerScene,
    readonly network: FaultProxy,
    /** Null where the way is direct. */
    readonly gateway: ApiGateway | null,
  ) {}

  /** A controller that has published one route, `shop`, behind network and gateway. */
  static async start(
    cluster: TestCluster,
    { args = FAST_ELECTION, token = cluster.adminToken, direct = false, env = {} }:
      FaultSceneOptions = {},
  ): Promise<FaultScene> {
    const gateway = direct ? null : await startGateway(cluster);
    const network = await startFaultProxy(gateway?.port ?? cluster.port);
    const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(token, network.server));
    const scene = await ControllerScene.prepare(cluster, { kubeconfig, args, env });
    const faults = new FaultScene(scene, network, gateway);
    try {
      await scene.service("web");
      await scene.ingress("shop");
      await scene.startController();
      await scene.eventuallyRouted("shop.example.com");
      // A line might not come: a call that took too long may have changed it all the same.
      await eventually(
        "workload",
        () => cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", scene.system),
      );
      return faults;
    } catch (error) {
      await faults[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Begins to look on. */
  observe(firstLine = this.scene.controller.lines.length): FaultWatch {
    return new FaultWatch(this, firstLine);
  }

  /** Waits until the route of an Ingress is published; ms since `from`. */
  async published(name: string, from = performance.now()): Promise<number> {
    await this.scene.eventuallyPublished(
      `route of ${name}`,
      ({ routes }) => routes.some(({ host }) => host === `${name}.example.com`),
      RECOVERY,
    );
    return Math.round(performance.now() - from);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A gateway that waits for a proxy that stands still would wait for ever.
    this.network.stall(false);
    await this.scene[Symbol.asyncDispose]();
    await this.network.close();
    await this.gateway?.close();
  }
}

export interface FaultReport {
  /** What `/healthz` answered, each time it was asked. */
  readonly health: readonly number[];
  /** Warnings and errors of the time. */
  readonly complaints: readonly LogLine[];
  /** Those that were said more than once about the same. */
  readonly repeated: readonly string[];
  /** Calls of the time by verb, resource and namespace. */
  readonly calls: ReadonlyMap<string, number>;
  readonly total: number;
  readonly milliseconds: number;
}

/** Looks on while something is broken. */
export class FaultWatch {
  readonly #faults: FaultScene;
  readonly #firstLine: number;
  readonly #firstRequest: number;
  readonly #started = performance.now();
  readonly #health: number[] = [];
  readonly #stop = new AbortController();
  readonly #asking: Promise<void>;
  readonly #callsBefore: Promise<ReadonlyMap<string, number>>;

  /** @param firstLine of the log that counts. */
  constructor(faults: FaultScene, firstLine: number) {
    this.#faults = faults;
    this.#firstLine = firstLine;
    this.#firstRequest = faults.gateway?.requests.length ?? 0;
    this.#callsBefore = callsOf(faults.scene);
    this.#asking = this.#ask();
  }

  async end(): Promise<FaultReport> {
    this.#stop.abort();
    await this.#asking;
    const { scene, gateway } = this.#faults;
    const complaints = scene.controller.lines.slice(this.#firstLine)
      .filter(isComplaint);
    const calls = gateway === null
      ? difference(await this.#callsBefore, await callsOf(scene))
      : countBy(gateway.requests.slice(this.#firstRequest), ({ verb, resource, namespace, name }) =>
        [verb, resource, namespace, verb === "get" ? name : ""].filter((part) =>
          part !== ""
        )
          .join(" "));
    return {
      health: this.#health,
      complaints,
      repeated: [...countBy(complaints, subjectOf)].filter(([, count]) => count > 1)
        .map(([text, count]) => `${count} × ${text}`),
      calls,
      total: [...calls.values()].reduce((sum, count) => sum + count, 0),
      milliseconds: performance.now() - this.#started,
    };
  }

  async #ask(): Promise<void> {
    const { controller } = this.#faults.scene;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const status = await controller.admin("/healthz").then(({ status }) => status, () => 0);
      this.#health.push(status);
      await sleep(250, undefined, { signal }).catch(() => {});
    }
  }
}

export function isComplaint({ level }: LogLine): boolean {
  return level === "warn" || level === "error";
}

/**
 * What holds of every fault: a restart would not help and is not asked for, the log says what is wrong
 * and says it once, and nobody is called in a loop.
 */
export function assertBorne(report: FaultReport, { isSilent = false } = {}): void {
  const { health, complaints, repeated, calls, milliseconds } = report;
  assert.ok(health.length > 0);
  assert.deepEqual(health.filter((status) => status !== 200), [], "/healthz");
  if (!isSilent) assert.notDeepEqual(complaints, [], "nothing was said");
  assert.deepEqual(repeated, [], "said again and again");
  // Pauses of 1, 2, 4 s …; each pause may end in a list and a watch.
  const tries = 3 + Math.log2(1 + milliseconds / 1000) + milliseconds / 30_000;
  // The lease is asked for at every retry period, of 400 ms at least, twice after a failure.
  const ofLease = 4 + 3 * milliseconds / 400;
  const busy = [...calls].filter(([call, count]) =>
    count > (call.includes("leases") ? ofLease : 2 * tries)
  );
  assert.deepEqual(busy, [], `calls within ${milliseconds} ms`);
}

/** Waits until the controller leads. */
export async function leadsAgain(scene: ControllerScene): Promise<void> {
  await eventually(
    "leader",
    async () => await scene.controller.metric("pingress_controller_leader") === 1,
    RECOVERY,
  );
}

/** What a line is about: a kind, a job, a lease, or a right that is missing. */
function subjectOf(
  { message, resource, namespace, job, lease, missing, role }: LogLine,
): string {
  return JSON.stringify({ message, resource, namespace, job, lease, missing, role });
}

/** Of the controller's own count, by verb and resource. */
async function callsOf(scene: ControllerScene): Promise<ReadonlyMap<string, number>> {
  const { text } = await scene.controller.admin("/metrics");
  const calls = new Map<string, number>();
  for (
    const [, labels, count] of text.matchAll(
      /^pingress_controller_api_requests_total\{(.*)\} (\d+)$/gm,
    )
  ) {
    const { verb, resource } = Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
    const key = `${verb} ${resource}`;
    calls.set(key, (calls.get(key) ?? 0) + Number(count));
  }
  return calls;
}

function difference(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  return new Map(Array.from(after, ([key, count]) => [key, count - (before.get(key) ?? 0)]));
}

function countBy<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of list) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return counts;
}
