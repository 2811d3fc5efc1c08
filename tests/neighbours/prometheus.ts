/**
 * The Prometheus server that Debian has. In: targets and rules. Out: a running one, which scrapes and
 * evaluates every second, and what it answers to queries.
 */
import { join } from "node:path";
import { stringify } from "yaml";
import { eventually } from "../cluster/support/condition.ts";
import { GuardedProcess, ProcessGuard } from "../cluster/support/guarded_process.ts";
import { isInstalled } from "../peers/debian_program.ts";

/** How long it may take to listen, in ms; two cores may be busy with other tests. */
const START = 60_000;

/** What is scraped: `/metrics` of an admin port. */
export interface ScrapeTarget {
  readonly job: string;
  /** On loopback. */
  readonly port: number;
  /** Of the target, as a PodMonitor gives `namespace` and `pod`. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface PrometheusOptions {
  readonly targets?: readonly ScrapeTarget[];
  /** Texts of rule files. */
  readonly rules?: readonly string[];
  /** Between scrapes, and between evaluations; default: `1s`. */
  readonly interval?: string;
  /** `--enable-feature=exemplar-storage`. */
  readonly flags?: readonly string[];
}

/** One of an instant vector. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ShownAlert {
  /** Pending ones become firing ones when the expression has held for as long as the rule says. */
  readonly state: "pending" | "firing";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** That an alert has, or with undefined has not. */
export type AlertLabels = Readonly<Record<string, string | undefined>>;

export class Prometheus {
  #port = 0;
  readonly #folder: string;
  readonly #guard: ProcessGuard;
  readonly #process: GuardedProcess;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#guard = new ProcessGuard(folder);
    this.#process = new GuardedProcess(this.#guard, join(folder, "prometheus.log"));
  }

  /** On a free port; null where it is missing: then `test` is skipped, and this says why. */
  static async start(test: string, options: PrometheusOptions = {}): Promise<Prometheus | null> {
    if (!await isInstalled(test, "prometheus", "prometheus")) return null;
    const server = new Prometheus(await Deno.makeTempDir({ prefix: "prometheus-" }));
    try {
      await server.#start(options);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get port(): number {
    return this.#port;
  }

  /** These, and no others, from the next moment on. */
  async scrape(targets: readonly ScrapeTarget[]): Promise<void> {
    const file = join(this.#folder, "targets.json");
    const groups = targets.map(({ job, port, labels }) => ({
      targets: [`127.0.0.1:${port}`],
      labels: { ...labels, job },
    }));
    await Deno.writeTextFile(`${file}.new`, JSON.stringify(groups));
    await Deno.rename(`${file}.new`, file);
  }

  /** An instant vector of this moment. Throws what is wrong with the expression. */
  async query(expression: string): Promise<Sample[]> {
    const { result } = await this.get<
      { result: { metric: Record<string, string>; value: [number, string] }[] }
    >(`query?query=${encodeURIComponent(expression)}`);
    return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }

  /** Data of any path below `/api/v1/`. Throws where it says that there is a mistake. */
  async get<T>(path: string): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/api/v1/${path}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text).data;
  }

  /** Of this moment, pending ones too. */
  async alerts(): Promise<readonly ShownAlert[]> {
    return (await this.get<{ alerts: ShownAlert[] }>("alerts")).alerts;
  }

  /** Waits until an alert of this name fires, with these labels among its own. Throws with what there is instead. */
  async fires(
    name: string,
    labels: AlertLabels = {},
    patience?: number,
  ): Promise<ShownAlert> {
    const isWanted = ({ state, labels: own }: ShownAlert) =>
      state === "firing" && own.alertname === name &&
      Object.entries(labels).every(([label, value]) => own[label] === value);
    try {
      const found = async () => (await this.alerts()).find(isWanted);
      return await eventually(`alert ${name}`, found, patience);
    } catch (error) {
      const shown = JSON.stringify(await this.alerts());
      throw new Error(`${(error as Error).message}; there are: ${shown}`, { cause: error });
    }
  }

  /** Waits until every rule has been evaluated with what was scraped before this call. */
  async evaluated(): Promise<void> {
    const start = Date.now();
    await eventually("evaluation of all rules", async () => {
      const { groups } = await this.get<{ groups: { lastEvaluation: string }[] }>("rules");
      return groups.every(({ lastEvaluation }) => Date.parse(lastEvaluation) > start);
    });
  }

  /** Waits until this many targets have been scraped. */
  async scraped(count: number): Promise<void> {
    await eventually(
      `scrape of ${count} targets`,
      async () => (await this.query("up == 1")).length === count,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop();
    await this.#guard.close();
  }

  async #start({ targets = [], rules = [], interval = "1s", flags = [] }: PrometheusOptions) {
    const file = (name: string) => join(this.#folder, name);
    for (const [index, text] of rules.entries()) {
      await Deno.writeTextFile(file(`rules-${index}.yaml`), text);
    }
    const configuration = {
      global: {
        scrape_interval: interval,
        scrape_timeout: interval,
        evaluation_interval: interval,
      },
      rule_files: [file("rules-*.yaml")],
      scrape_configs: [{
        job_name: "targets",
        // Labels of metrics are those of routes and Services.
        honor_labels: true,
        file_sd_configs: [{ files: [file("targets.json")], refresh_interval: interval }],
      }],
    };
    await Deno.writeTextFile(file("prometheus.yaml"), stringify(configuration));
    await this.scrape(targets);
    await this.#process.start("prometheus", [
      `--config.file=${file("prometheus.yaml")}`,
      `--storage.tsdb.path=${file("data")}`,
      "--web.listen-address=127.0.0.1:0",
      ...flags,
    ]);
    this.#port = await eventually("port of Prometheus", async () => {
      const log = await this.#process.tail(200);
      if (!this.#process.isRunning) throw new Error(`Prometheus has ended: ${log}`);
      const port = /msg="Listening on" address=127\.0\.0\.1:(\d+)/.exec(log)?.[1];
      return port === undefined ? null : Number(port);
    }, START);
    await eventually("ready Prometheus", async () => {
      const response = await fetch(`http://127.0.0.1:${this.#port}/-/ready`);
      await response.body?.cancel();
      return response.ok;
    }, START);
  }
}
