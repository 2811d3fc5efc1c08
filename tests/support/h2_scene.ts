/**
 * A proxy of h2c before one backend, with honest clients beside an attacker. In: limits. Out: what
 * the attacker got, what reached the backend, and whether the others noticed.
 */
import assert from "node:assert/strict";
import type { Limits } from "../../proxy/http/limits.ts";
import { until } from "./backend.ts";
import { H2Peer, type H2PeerOptions } from "./h2_peer.ts";
import { Origin } from "./h2_origin.ts";
import { ObservedProxy } from "./observed_proxy.ts";

/** The canary has a connection of its own, and at most one request of it is under way. */
const PAUSE = 1;

/** Longer than any test, in ms. */
const HELD = 120_000;

export class H2Scene {
  readonly origin = new Origin();
  readonly proxy: ObservedProxy;
  readonly #peers: H2Peer[] = [];
  #canary: Canary | null = null;

  /** @param held no request gets as far as the backend, or any other answer. */
  constructor(limits: Partial<Limits> = {}, held = false) {
    this.proxy = new ObservedProxy(held ? [] : [this.origin.port], {
      limits: held ? { ...limits, holdTimeout: HELD } : limits,
      server: { h2c: true },
    });
  }

  async connect(options: H2PeerOptions = {}): Promise<H2Peer> {
    const peer = await H2Peer.connect(this.proxy.port, options);
    this.#peers.push(peer);
    return peer;
  }

  /** Starts an honest client, which goes on until the end; settles with its first answer. */
  async startCanary(): Promise<void> {
    this.#canary = new Canary(await this.connect());
    const { answers } = this.#canary;
    await until("the canary's first answer", () => this.#canary!.answers > answers);
  }

  /** All that the canary asked was answered as it should, and still is. */
  async checkCanary(): Promise<void> {
    const canary = this.#canary!;
    const { answers } = canary;
    await until(
      "more of the canary's answers",
      () => canary.answers > answers + 2 || canary.isDead,
    );
    await canary.stop();
    assert.deepEqual(canary.wrong, []);
  }

  /** Connections that were ended with GOAWAY, by reason. */
  async ends(): Promise<Record<string, number>> {
    const ends: Record<string, number> = {};
    for (const [series, value] of await this.proxy.series()) {
      const reason = /^pingress_http2_connections_ended_total\{reason="(\w+)"\}$/.exec(series)?.[1];
      if (reason !== undefined) ends[reason] = value;
    }
    return ends;
  }

  /** Waits until nothing of what was under way is left at the backend. */
  async settled(): Promise<void> {
    await until("the backend's requests have ended", () => this.origin.held === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#canary?.stop();
    for (const peer of this.#peers) await peer[Symbol.asyncDispose]();
    this.proxy[Symbol.dispose]();
    await this.origin[Symbol.asyncDispose]();
  }
}

/** A client that asks one thing after the other. */
export class Canary {
  answers = 0;
  /** Each answer that was not as it should be. */
  readonly wrong: string[] = [];
  /** How long each answer took, in ms. */
  readonly times: number[] = [];
  readonly #peer: H2Peer;
  readonly #running: Promise<void>;
  #stopped = false;

  constructor(peer: H2Peer) {
    this.#peer = peer;
    this.#running = this.#run();
  }

  get isDead(): boolean {
    return this.#peer.ending !== "";
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const begun = performance.now();
      try {
        const { status, body, over } = await this.#peer.ask("/canary");
        if (status === 200 && body === "ok" && over) this.answers++;
        else this.wrong.push(`${status} ${JSON.stringify(body)} ${this.#peer.ending}`);
      } catch (error) {
        this.wrong.push(String(error));
      }
      if (this.isDead) return;
      this.times.push(performance.now() - begun);
      await new Promise((resume) => setTimeout(resume, PAUSE));
    }
  }
}
