/** Alerts stay silent while everything works: over the soak of a proxy, and changes of a controller. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { clusterTest } from "../cluster/support/cluster_case.ts";
import { eventually } from "../cluster/support/condition.ts";
import { ControllerScene, rule } from "../cluster/support/controller_scene.ts";
import { startStreamedProxy } from "../cluster/support/streamed_proxy.ts";
import { AlertScene } from "./alert_scene.ts";
import { clusterTargets } from "./cluster_targets.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** A machine that is busy with other tests gives a scrape more than a second. */
const INTERVAL = "2s";
const HOLD = "10s";
const SECONDS = 30;

/** `deno task soak` for so many seconds. */
class Soak {
  #said = "";
  #hasEnded = false;
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;

  constructor(seconds: number) {
    const { tasks } = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        ...tasks.soak.command.split(" ").slice(1).toSpliced(1, 0, "--quiet"),
        `--seconds=${seconds}`,
      ],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#reading = this.#read();
  }

  get said(): string {
    return this.#said;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Of its proxy. */
  async adminPort(): Promise<number> {
    return await eventually("address of metrics", () => {
      if (this.#hasEnded) throw new Error(`the soak has ended: ${this.#said}`);
      const port = /metrics: http:\/\/127\.0\.0\.1:(\d+)/.exec(this.#said)?.[1];
      return port === undefined ? null : Number(port);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) this.#child.kill("SIGTERM");
    await this.#child.status;
    await this.#reading;
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.#said += text;
    }
    this.#hasEnded = true;
  }
}

/** Times in s, with the value as text. */
interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [at: number, value: string])[];
}

clusterTest(
  "no alert fires while the soak runs and a controller publishes changes",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--stream-name=127.0.0.1"],
    });
    await scene.service("web");
    await scene.ingress("first");
    await scene.startController();
    await using proxy = await startStreamedProxy(scene);
    const targets = await clusterTargets(scene, proxy);
    await using soak = new Soak(SECONDS);
    const alerts = await AlertScene.start("alerts over the soak", {
      interval: INTERVAL,
      hold: HOLD,
      targets: [...targets, { job: "soak", port: await soak.adminPort(), labels: { pod: "soak" } }],
    });
    if (alerts === null) return;
    await using _ = alerts;
    // Before the first scrape nothing is there, and alerts of that are pending.
    await alerts.silent();
    const start = Date.now() / 1000;
    for (let i = 0; !soak.hasEnded; i++) {
      await scene.ingress("first", { rules: [rule("first.example.com", `/${i % 10}`, "web")] });
      await scene.endpoints("web", [`10.0.0.${1 + i % 10}`]);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    assert.match(soak.said, /The soak has passed/, soak.said);
    const series = async (selector: string) =>
      (await alerts.prometheus.get<{ result: readonly Series[] }>(
        `query?query=${encodeURIComponent(`${selector}[1h]`)}`,
      )).result;
    const scrapes = await series("up");
    const soaked = scrapes.filter(({ metric }) => metric.job === "soak")
      .flatMap(({ values }) => values).filter(([, value]) => value === "1");
    assert.ok(soaked.length >= 10, `${soaked.length} scrapes`);
    // Once the soak is over there is no proxy.
    const end = Math.max(...soaked.map(([at]) => at));
    const isMeant = ([at]: readonly [number, string]) => at >= start && at <= end;
    // A scrape that a busy machine misses makes alerts of missing series pending, which is right.
    const isWhole = scrapes.every(({ values }) =>
      values.filter(isMeant).every(([, value]) => value === "1")
    );
    const states = isWhole ? ["pending", "firing"] : ["firing"];
    // So is an alert of workers that lacked CPU.
    const stalls = await alerts.prometheus.query(
      "max_over_time(pingress_worker_stalls_total[1h]) > 0",
    );
    const expected = stalls.length > 0 ? ["PingressWorkerStalled"] : [];
    if (stalls.length > 0) console.log("skipped: PingressWorkerStalled: workers lacked CPU");
    const seen = (await series("ALERTS")).filter(({ metric, values }) =>
      states.includes(metric.alertstate) && !expected.includes(metric.alertname) &&
      values.some(isMeant)
    );
    assert.deepEqual(seen.map(({ metric }) => metric), []);
  },
);
