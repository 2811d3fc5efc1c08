/** Steady load on a proxy. In: its port. Out: how many requests succeeded, and what failed. */
import { setTimeout as sleep } from "node:timers/promises";

/** Clients that send requests without pause until they are stopped; every second one has a body. */
export class ClientLoad {
  answered = 0;
  /** The text of the last response with 200. */
  last = "";
  readonly failures: string[] = [];
  readonly #stop = new AbortController();
  readonly #clients: readonly Promise<void>[];

  constructor(port: number, clients: number, path = "/") {
    const url = `http://127.0.0.1:${port}${path}`;
    this.#clients = Array.from({ length: clients }, (_, i) => this.#ask(url, i % 2 === 0));
  }

  /** Finishes the requests that are under way. */
  async end(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#clients);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async #ask(url: string, isGet: boolean): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const response = await fetch(url, isGet ? {} : { method: "PUT", body: "abc" });
        const text = await response.text();
        if (response.status !== 200) {
          this.failures.push(`${response.status} ${text}`);
        } else {
          this.answered++;
          this.last = text;
        }
      } catch (error) {
        this.failures.push(String(error));
      }
      await sleep(8);
    }
  }
}
