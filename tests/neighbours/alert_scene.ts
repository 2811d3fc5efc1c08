/**
 * A Prometheus with the alerts of Pingress. In: what it scrapes. Out: which alerts fire; each has the
 * texts and the runbook that somebody would read.
 */
import assert from "node:assert/strict";
import { waitFor } from "../cluster/support/condition.ts";
import { ALERT_GROUPS } from "../../tools/alerts/groups.ts";
import { ruleFile } from "../../tools/alerts/rule_file.ts";
import { EVERYWHERE, Scope } from "../../tools/alerts/scope.ts";
import { DEFAULT_THRESHOLDS, type ThresholdValues } from "../../tools/alerts/thresholds.ts";
import {
  type AlertLabels,
  Prometheus,
  type PrometheusOptions,
  type ShownAlert,
} from "./prometheus.ts";

/** How long expressions must hold here, in place of minutes. */
const HOLD = "2s";

export interface AlertSceneOptions extends Pick<PrometheusOptions, "targets" | "interval"> {
  /** Names of groups; default: all. */
  readonly groups?: readonly string[];
  /** Namespaces of installations that have rules of their own; default: rules for all. */
  readonly installations?: readonly string[];
  /** As an operator would set them. */
  readonly thresholds?: Partial<ThresholdValues>;
  readonly hold?: string;
}

export class AlertScene {
  private constructor(readonly prometheus: Prometheus) {}

  /** Null where Prometheus is missing: then `test` is skipped, and this says why. */
  static async start(test: string, options: AlertSceneOptions): Promise<AlertScene | null> {
    const { groups, installations, thresholds, hold = HOLD, ...rest } = options;
    const chosen = ALERT_GROUPS.filter(({ name }) => groups?.includes(name) ?? true);
    const filled = { thresholds: { ...DEFAULT_THRESHOLDS, ...thresholds }, hold };
    const scopes = installations?.map((namespace) => new Scope(namespace)) ?? [EVERYWHERE];
    const rules = scopes.map((scope) => ruleFile(chosen, { ...filled, scope }));
    const prometheus = await Prometheus.start(test, { ...rest, rules });
    if (prometheus === null) return null;
    await prometheus.scraped(options.targets?.length ?? 0);
    return new AlertScene(prometheus);
  }

  async fires(
    name: string,
    labels?: AlertLabels,
    patience?: number,
  ): Promise<ShownAlert> {
    const alert = await this.prometheus.fires(name, labels, patience);
    const { summary, description, runbook_url } = alert.annotations;
    for (const text of [summary, description]) {
      assert.match(text, /^\S.+[^ ]$/);
      assert.doesNotMatch(text, /<error|<no value>|\$\{|\{\{|NaN/);
    }
    assert.match(runbook_url, new RegExp(`#${name.toLowerCase()}$`));
    return alert;
  }

  /**
   * Waits until there is none, not even one that is pending, but for these. A scrape that a busy machine
   * misses makes alerts of missing series pending for a moment; any other stays, and this throws.
   */
  async silent(besides: readonly string[] = []): Promise<void> {
    const others = async () => {
      await this.prometheus.evaluated();
      const alerts = await this.prometheus.alerts();
      return alerts.filter(({ labels }) => !besides.includes(labels.alertname));
    };
    await waitFor(async () => (await others()).length === 0);
    assert.deepEqual(await others(), []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.prometheus[Symbol.asyncDispose]();
  }
}

/** Requests one after the other, `count` at a time, until it is disposed of. */
export class Traffic {
  #isOver = false;
  readonly #loops: Promise<void>[];

  constructor(send: () => Promise<unknown>, count = 1) {
    this.#loops = Array.from({ length: count }, async () => {
      while (!this.#isOver) {
        await send();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }
}
