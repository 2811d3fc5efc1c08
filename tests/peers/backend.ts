/**
 * The backend behind both proxies. In: requests. Out: what came, by case and byte for byte, and for
 * each case the answer that the seed gives it, so that both proxies get the same.
 */
import { bytesOf } from "../support/latin1.ts";
import { Random } from "../fuzz/random.ts";
import { CASE_FIELD } from "./requests.ts";
import { randomResponse } from "./responses.ts";
import { type Content, elementsOf, type Head, valueOf, WireReader, writeAll } from "./wire.ts";

export type Received = Head & Content;

export class Backend {
  /** What came, by case; a case that came twice is there twice. */
  readonly received = new Map<number, Received[]>();
  /** What went wrong with a connection: a proxy that sends what is no HTTP. */
  readonly errors: string[] = [];
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #seed: number;
  readonly #withInterim: boolean;
  readonly #connections = new Set<Deno.TcpConn>();
  #closed = false;

  constructor(seed: number, withInterim: boolean) {
    this.#seed = seed;
    this.#withInterim = withInterim;
    this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  close(): void {
    this.#closed = true;
    this.#listener.close();
    for (const connection of this.#connections) connection.close();
  }

  async #accept(): Promise<void> {
    while (!this.#closed) {
      try {
        this.#serve(await this.#listener.accept());
      } catch {
        return; // closed
      }
    }
  }

  async #serve(connection: Deno.TcpConn): Promise<void> {
    this.#connections.add(connection);
    try {
      const reader = new WireReader(connection);
      while (await this.#exchange(connection, reader)) {
        // Another request may come: no proxy sends it before the answer.
      }
    } catch (error) {
      if (!this.#closed) this.errors.push(String(error));
    }
    if (this.#connections.delete(connection) && !this.#closed) connection.close();
  }

  /** One request and its answer; false when the connection ends. */
  async #exchange(connection: Deno.TcpConn, reader: WireReader): Promise<boolean> {
    const head = await reader.head();
    if (head === null) return false;
    if (valueOf(head.fields, "expect") !== null) {
      await writeAll(connection, bytesOf("HTTP/1.1 100 Continue\r\n\r\n"));
    }
    const content = await reader.content(head, false);
    const id = Number(valueOf(head.fields, CASE_FIELD.toLowerCase()));
    this.received.set(id, [...this.received.get(id) ?? [], { ...head, ...content }]);
    const [method] = head.line.split(" ");
    const random = new Random(this.#seed + id);
    const { interim, bytes, closes } = randomResponse(random, method, this.#withInterim);
    if (interim.length > 0) await writeAll(connection, interim);
    await writeAll(connection, bytes);
    return !closes && !elementsOf(head.fields, "connection").includes("close");
  }
}
