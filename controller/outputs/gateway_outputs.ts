/**
 * What is written for Gateway API. In: each reconciliation, and what proxies acknowledge. Out: an address of
 * each Gateway, for the ports that all proxies have opened, and the status of everything.
 *
 *     translation ─▶ status: open ports ─▶ addresses ─▶ status: Programmed
 */
import type { Problem } from "../../shared/problem.ts";
import { translationProblems } from "../problems/gateway/condition_problems.ts";
import type { Reconciliation } from "../reconcile/reconciler.ts";
import { gatewayPlans } from "./addresses/gateway_plans.ts";
import { LastResult } from "../base/memo.ts";
import type { GatewayTranslation } from "../translate/gateway/gateway_translation.ts";
import { GatewayAddressOutput } from "./gateway_address_output.ts";
import { GatewayStatusOutput, type GatewayStatusSources } from "./gateway_status_output.ts";
import type { Output, OutputContext } from "./output.ts";

/** What other parts of the controller know. */
export type GatewaySources = Omit<GatewayStatusSources, "addressOf" | "onOpenPorts">;

export class GatewayOutputs implements Output {
  readonly #sources: GatewaySources;
  readonly #addresses: GatewayAddressOutput;
  readonly #status: GatewayStatusOutput;
  readonly #all: readonly Output[];
  readonly #problems = new LastResult<GatewayTranslation, readonly Problem[]>();
  readonly #watches: OutputContext["watches"];
  readonly #metrics: OutputContext["metrics"];
  /** Of the last translation. */
  #known: readonly Problem[] = [];
  #result: Reconciliation | null = null;

  constructor(context: OutputContext, sources: GatewaySources) {
    this.#sources = sources;
    this.#watches = context.watches;
    this.#metrics = context.metrics;
    this.#addresses = new GatewayAddressOutput(context, { onChange: () => this.changed() });
    this.#status = new GatewayStatusOutput(context, {
      ...sources,
      addressOf: (gateway) => this.#addresses.state(gateway),
      onOpenPorts: () => this.#plan(),
    });
    this.#all = [this.#addresses, this.#status];
  }

  /** Writes that wait. */
  get backlog(): number {
    return this.#addresses.backlog + this.#status.backlog;
  }

  /** Conditions that say something is not served as written, and why Gateways are not programmed. */
  problems(): readonly Problem[] {
    const translation = this.#result && this.#sources.translationOf(this.#result);
    if (translation !== null) {
      this.#known = this.#problems.recall((last) => last === translation) ??
        this.#problems.keep(translation, translationProblems(translation));
    } else if (!this.#isWatched) {
      this.#known = [];
      return [];
    }
    // While a kind is listed anew, nothing is known to be solved.
    return [...this.#known, ...this.#status.problems];
  }

  /** Whether the API server serves what Gateways need. */
  get #isWatched(): boolean {
    return this.#watches.informer("gatewayClasses").isRunning &&
      this.#watches.informer("gateways").isRunning;
  }

  observe(result: Reconciliation): void {
    this.#result = result;
    this.#status.observe(result);
  }

  poke(): void {
    this.#status.poke();
    this.#plan();
  }

  /** A proxy has acknowledged something, or has come or gone; or an address has changed. */
  changed(): void {
    this.#addresses.look();
    this.#status.changed();
  }

  forget(): void {
    for (const output of this.#all) output.forget?.();
  }

  wake(): void {
    for (const output of this.#all) output.wake?.();
  }

  measure(): void {
    this.#metrics.set("pingress_controller_gateways", this.#result?.servedGateways ?? 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((output) => output.stop()));
  }

  #plan(): void {
    const translation = this.#result && this.#sources.translationOf(this.#result);
    if (translation === null) return;
    this.#addresses.update(
      gatewayPlans(translation.gateways, (gateway) => this.#status.openPorts(gateway)),
    );
  }
}
