/**
 * Minutes of mixed load while everything else happens at random. In: a scene, and how long. Out: what
 * failed that should not have, and what has become of the proxies' memory and descriptors.
 */
import { eventually } from "../../cluster/support/condition.ts";
import { Random } from "../../fuzz/random.ts";
import type { Failure } from "../load/plan.ts";
import {
  type Application,
  type ApplicationOptions,
  ingressFor,
  serviceFor,
} from "../cluster/app/application.ts";
import { NAMESPACE } from "../cluster/installation.ts";
import { isReady } from "../cluster/node_cluster.ts";
import { crash, isExcused, type Kill } from "./application_crash.ts";
import { issue } from "./certificate.ts";
import { Finding } from "./finding.ts";
import { compareMemory, Memory } from "./memory.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const REPLICAS = 3;

/** Requests a second: plain, over TLS, and those to an application that comes and goes. */
const RATES = { plain: 150, secure: 20, scaled: 10, handshakes: 3 };

const HOST = "soak.test";
const SECURE_HOST = "secure.soak.test";
const SCALED_HOST = "scaled.soak.test";

/**
 * For how long pods go on after SIGTERM, in s: until proxies know of it, also while controllers catch
 * up; and where one has no other beside it, until three probes of its readiness have failed.
 */
const LINGER = 5;

/** Ingresses that are created and deleted at a time. */
const CHURN = 20;

/** WebSockets may end so: the other side has gone, and said so. */
const GOING_AWAY = 1001;

/** By how much an end may come after the kill that caused it, in ms. */
const SLACK = 2_000;

/** The part of the time after which memory is compared, as heaps come to their size before. */
const WARM_UP = 0.4;

/** What happens at random, and how often it has. */
class Weather {
  readonly kills: Kill[] = [];
  /** Times in which nobody could say that a pod had gone. */
  readonly outages: Kill[] = [];
  readonly counts = new Map<string, number>();
  readonly #scene: Scene;
  readonly #namespace: string;
  readonly #steady: Application;
  readonly #scaled: Application;

  constructor(scene: Scene, namespace: string, steady: Application, scaled: Application) {
    this.#scene = scene;
    this.#namespace = namespace;
    this.#steady = steady;
    this.#scaled = scaled;
  }

  readonly events: readonly (readonly [string, () => Promise<void>])[] = [
    ["application rollouts", () => this.#steady.rollOut()],
    ["application crashes", () => this.#crash()],
    ["scalings to 0 and back", () => this.#scale()],
    ["certificates", () => this.#certificate()],
    ["Ingresses that came and went", () => this.#churn()],
    ["controllers killed", () => this.#killLeader()],
    ["API server restarts", () => this.#restartApiServer()],
  ];

  async happen([name, event]: readonly [string, () => Promise<void>]): Promise<void> {
    await event();
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  async #crash(): Promise<void> {
    const [pod] = await this.#steady.ready(REPLICAS);
    this.kills.push(await crash(this.#scene, this.#namespace, pod.metadata.name));
    await new Promise((resume) => setTimeout(resume, 1_000));
    await this.#scene.replace(pod);
    await this.#steady.ready(REPLICAS);
  }

  async #scale(): Promise<void> {
    await this.#scaled.scale(0);
    await this.#scaled.ready(0);
    await this.#scaled.scale(1);
    await this.#scaled.ready(1);
    await this.#scene.served(SCALED_HOST);
  }

  async #certificate(): Promise<void> {
    const { secret } = await issue(this.#scene, SECURE_HOST);
    await this.#scene.cluster.apply(secret, { namespace: this.#namespace });
  }

  async #churn(): Promise<void> {
    const { cluster } = this.#scene;
    const namespace = this.#namespace;
    const names = Array.from({ length: CHURN }, (_, index) => `churn-${index}`);
    await Promise.all(
      names.map((name) =>
        cluster.create(ingressFor({ name, host: `${name}.${HOST}`, service: "app" }), namespace)
      ),
    );
    await this.#scene.served(`${names.at(-1)}.${HOST}`);
    await Promise.all(
      names.map((name) => cluster.delete("networking.k8s.io/v1", "Ingress", name, namespace)),
    );
    await this.#scene.notServed(`${names.at(-1)}.${HOST}`);
  }

  async #killLeader(): Promise<void> {
    const { pingress, cluster } = this.#scene;
    const leader = await eventually("leader", () => pingress.leader());
    await cluster.kill(NAMESPACE, leader.metadata.name);
    await this.#scene.replace(leader);
    await eventually("two controllers", async () => {
      const controllers = await pingress.controllers();
      return controllers.length === 2 && controllers.every(isReady);
    }, 120_000);
  }

  async #restartApiServer(): Promise<void> {
    const from = Date.now();
    await this.#scene.cluster.stopApiServer("SIGKILL");
    await this.#scene.cluster.startApiServer();
    // Else it takes nodes for dead whose leases it has not seen, and their pods with them.
    await this.#scene.watchAnew();
    await this.#seen();
    this.outages.push({ from, to: Date.now() });
  }

  /** Waits until endpoints find their way to the proxies: a new Service's of pods that are there. */
  async #seen(): Promise<void> {
    const { cluster } = this.#scene;
    const namespace = this.#namespace;
    const name = "canary";
    const host = `${name}.${HOST}`;
    await cluster.apply([
      serviceFor({ name, app: this.#steady.name }),
      ingressFor({ name, host, service: name }),
    ], { namespace });
    await this.#scene.served(host);
    await cluster.delete("networking.k8s.io/v1", "Ingress", name, namespace);
    await cluster.delete("v1", "Service", name, namespace);
    await this.#scene.notServed(host);
  }
}

export async function soak(scene: Scene, form: Form, seed = Date.now()): Promise<Finding> {
  const duration = form === "long" ? 600_000 : 40_000;
  const finding = new Finding("soak");
  await scene.within("soak", async (namespace) => {
    const { cluster } = scene;
    await cluster.apply((await issue(scene, SECURE_HOST)).secret, { namespace });
    const start = (options: Omit<ApplicationOptions, "namespace">) =>
      scene.application({ namespace, linger: LINGER, ...options });
    const steady = await start({ name: "app", host: HOST, replicas: REPLICAS });
    const scaled = await start({ name: "scaled", host: SCALED_HOST, replicas: 1 });
    await start({ name: "secure", host: SECURE_HOST, replicas: 1, tlsSecret: "tls" });
    const weather = new Weather(scene, namespace, steady, scaled);
    const handshakes = { name: "handshakes", host: SECURE_HOST, path: "/?id=1" };
    await using load = await scene.load({
      ...await scene.proxyService(),
      streams: [
        ...mixedStreams(HOST, RATES.plain),
        ...mixedStreams(SECURE_HOST, RATES.secure, { secure: true }),
        ...mixedStreams(SCALED_HOST, RATES.scaled).map((stream) => ({
          ...stream,
          name: `${stream.name}, scaled`,
        })),
      ],
      handshakes: [{ ...handshakes, rate: RATES.handshakes }],
      sockets: [{ name: "sockets", count: 4, interval: 500, host: HOST, path: "/socket" }],
    });
    const end = performance.now() + duration;
    if (form === "long") await weather.happen(["proxy rollouts", () => rollProxies(scene)]);
    // Each thing once, so that heaps come to their size.
    for (const event of weather.events) await weather.happen(event);
    const random = new Random(seed);
    const go = async (until: number) => {
      while (performance.now() < until) {
        await weather.happen(weather.events[random.below(weather.events.length)]);
        await load.lasts(random.below(2_000));
      }
    };
    await go(end - duration * (1 - WARM_UP));
    const before = await Memory.of(scene);
    await go(end);
    await load.lasts(3_000);
    const after = await Memory.of(scene);
    noteLoad(finding, await load.stop());
    finding.note("seed", seed);
    for (const [name, count] of weather.counts) finding.note(name, count);
    const wrong = load.failures.filter((failure) =>
      failure.stream.endsWith(", scaled")
        ? failure.status !== 503 && !isOfUnknown(failure, weather.outages)
        : !isExcused(failure, weather.kills)
    );
    finding.note(
      "failed while their pods or endpoints changed",
      load.failures.length - wrong.length,
    );
    finding.count("failed that should not", wrong.length, 0, linesOf(wrong));
    const cut = load.ends.filter(({ at, code }) =>
      code !== GOING_AWAY && !weather.kills.some(({ from, to }) => at >= from && at <= to + SLACK)
    );
    finding.note("WebSockets that ended with their pods", load.ends.length - cut.length);
    finding.count(
      "WebSockets that ended otherwise",
      cut.length,
      0,
      cut.map(({ at, code, detail }) => `${new Date(at).toISOString()} ${code} ${detail}`),
    );
    compareMemory(finding, before, after);
  });
  return finding;
}

/** Whether a pod that had ended could not be reached, at a time when nobody could say so. */
function isOfUnknown({ status, at }: Failure, outages: readonly Kill[]): boolean {
  return status === 502 && outages.some(({ from, to }) => at >= from && at <= to + SLACK);
}

async function rollProxies(scene: Scene): Promise<void> {
  await scene.restartProxies("DaemonSet");
  await scene.pingress.waitForProxies();
}
