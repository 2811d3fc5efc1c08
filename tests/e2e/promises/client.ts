/**
 * One request at a time, for who waits until something is served. In: where to, and what. Out: the
 * status and body, or how it failed.
 */
import { Connection } from "../load/connection.ts";

export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

export interface Question {
  readonly host: string;
  readonly path: string;
}

/** For one answer, in ms. */
const PATIENCE = 10_000;

/** A client that keeps its connection for as long as it can. */
export class Client {
  readonly #address: string;
  readonly #port: number;
  #connection: Connection | null = null;

  constructor({ address, port }: { readonly address: string; readonly port: number }) {
    this.#address = address;
    this.#port = port;
  }

  /** Rejects with a `RequestFailure`. */
  async ask({ host, path }: Question): Promise<Answer> {
    const control = new AbortController();
    const timer = setTimeout(() => control.abort(), PATIENCE);
    try {
      this.#connection ??= await Connection.open(
        { address: this.#address, port: this.#port, tls: null },
        control.signal,
      );
      const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      const { head, body } = await this.#connection.ask(
        new TextEncoder().encode(request),
        control.signal,
      );
      if (/^connection: close\r$/im.test(head)) this.close();
      return { status: Number(head.split(" ")[1]), head, body };
    } catch (error) {
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#connection?.close();
    this.#connection = null;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** On a connection of its own. */
export async function ask(
  where: { readonly address: string; readonly port: number },
  question: Question,
): Promise<Answer> {
  using client = new Client(where);
  return await client.ask(question);
}
