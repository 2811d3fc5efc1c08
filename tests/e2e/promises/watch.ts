/**
 * A watch on objects of a kind. In: the path of a collection. Out: when the API server first told of
 * each object, which is the earliest that anybody else can know of it.
 */
import type { ApiClient } from "../../cluster/support/api_client.ts";

interface Event {
  readonly type: string;
  readonly object: { readonly metadata?: { readonly name?: string } };
}

export class Watch {
  readonly #told = new Map<string, number>();
  readonly #body: ReadableStreamDefaultReader<string>;
  readonly #reading: Promise<void>;
  #more = Promise.withResolvers<void>();
  #isOver = false;

  private constructor(body: ReadableStream<Uint8Array>) {
    this.#body = body.pipeThrough(new TextDecoderStream()).getReader();
    this.#reading = this.#read();
  }

  static async open(client: ApiClient, path: string): Promise<Watch> {
    const response = await client.open("GET", `${path}?watch=true`);
    if (response.status !== 200) throw new Error(`watch ${path}: ${response.status}`);
    return new Watch(response.body!);
  }

  /** By `performance.now()`. */
  async first(name: string): Promise<number> {
    for (;;) {
      const at = this.#told.get(name);
      if (at !== undefined) return at;
      if (this.#isOver) throw new Error(`the watch has ended before ${name}`);
      await this.#more.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#body.cancel().catch(() => {});
    await this.#reading;
  }

  async #read(): Promise<void> {
    let rest = "";
    try {
      for (;;) {
        const { value, done } = await this.#body.read();
        if (done) break;
        const at = performance.now();
        const lines = (rest + value).split("\n");
        rest = lines.pop()!;
        for (const line of lines) this.#take(JSON.parse(line), at);
        this.#wake();
      }
    } catch {
      // The API server has gone.
    }
    this.#isOver = true;
    this.#wake();
  }

  #take({ object }: Event, at: number): void {
    const name = object.metadata?.name;
    if (name !== undefined && !this.#told.has(name)) this.#told.set(name, at);
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}
