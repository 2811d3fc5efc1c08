/**
 * Visits of a host over HTTPS, one after the other. In: how to connect. Out: how many were answered, which
 * were not, and the certificates that were shown; and that a connection of the beginning is still served.
 */
import { until } from "../../support/backend.ts";
import type { TlsClient } from "../../support/tls_proxy.ts";

/** Of so many visits, one is on the connection that is kept: a connection has a number of requests. */
const KEPT = 20;

export class HttpsVisits implements AsyncDisposable {
  answered = 0;
  readonly failures: string[] = [];
  /** Serial numbers of the certificates of new connections. */
  readonly serials = new Set<string>();
  readonly #connect: () => Promise<TlsClient>;
  readonly #kept: TlsClient;
  readonly #request: string;
  readonly #visiting: Promise<void>;
  #isOver = false;

  private constructor(connect: () => Promise<TlsClient>, kept: TlsClient, host: string) {
    this.#connect = connect;
    this.#kept = kept;
    this.#request = `GET / HTTP/1.1\r\nHost: ${host}`;
    this.#visiting = this.#visit();
  }

  static async start(connect: () => Promise<TlsClient>, host: string): Promise<HttpsVisits> {
    return new HttpsVisits(connect, await connect(), host);
  }

  /** Waits until so many more have been answered. */
  async more(count: number): Promise<void> {
    const before = this.answered;
    await until(`${count} more visits`, () => this.answered >= before + count);
  }

  /** Lets the one that is under way come to its end. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#visiting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#kept.close();
  }

  async #visit(): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      if (i % KEPT === 0) await this.#count("kept", () => this.#kept.ask(this.#request));
      await this.#count("new", async () => {
        using client = await this.#connect();
        this.serials.add(client.socket.getPeerCertificate().serialNumber);
        return await client.ask(this.#request);
      });
    }
  }

  async #count(connection: string, ask: () => Promise<string>): Promise<void> {
    const answer = await ask().catch((error) => String(error));
    if (answer.startsWith("HTTP/1.1 200 ")) this.answered++;
    else this.failures.push(`${connection}: ${answer.slice(0, 80)}`);
  }
}
