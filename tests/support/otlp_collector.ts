/**
 * A collector of OTLP over HTTP in this process. In: requests on a real socket. Out: the spans that came, as
 * the collector of a test is told to respond.
 */
import type { AddressInfo } from "node:net";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly flags: number;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  /** By key. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** What a request gets; `index` counts them from 0. */
export type Respond = (response: ServerResponse, index: number) => void;

const accept: Respond = (response) => {
  response.setHeader("Content-Type", "application/json");
  response.end("{}");
};

export class OtlpCollector {
  /** Of all requests that were responded to as accepted. */
  readonly spans: CollectedSpan[] = [];
  /** Of each request, its attributes of the resource by key. */
  readonly resources: Readonly<Record<string, string>>[] = [];
  requests = 0;
  readonly #server: Server;
  readonly #respond: Respond;

  private constructor(respond: Respond) {
    this.#respond = respond;
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  static async start(respond: Respond = accept): Promise<OtlpCollector> {
    const collector = new OtlpCollector(respond);
    await new Promise<void>((resolve) => collector.#server.listen(0, "127.0.0.1", resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1/traces`;
  }

  /** Of a proxy that exports a span of each request to it. */
  get flags(): readonly string[] {
    return ["--trace-ratio=1", `--otlp-endpoint=${this.url}`];
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Of this kind: 2 for requests, 3 for attempts. */
  ofKind(kind: number): CollectedSpan[] {
    return this.spans.filter((span) => span.kind === kind);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const index = this.requests++;
    const parts: Uint8Array[] = [];
    for await (const part of request) parts.push(part);
    const text = new TextDecoder().decode(
      new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer()),
    );
    this.#respond(response, index);
    if (response.statusCode === 200) this.#read(request, text);
  }

  #read({ method, url, headers }: IncomingMessage, text: string): void {
    if (method !== "POST" || url !== "/v1/traces") throw new Error(`${method} ${url}`);
    if (headers["content-type"] !== "application/json") throw new Error("no JSON");
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
      this.resources.push(valuesOf(resource.attributes));
      for (const { spans } of scopeSpans) {
        for (const span of spans) {
          this.spans.push({ ...span, attributes: valuesOf(span.attributes) });
        }
      }
    }
  }
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string };
}

function valuesOf(attributes: readonly Attribute[]): Record<string, string> {
  const keys = attributes.map(({ key }) => key);
  if (new Set(keys).size !== keys.length) throw new Error(`twice: ${keys.join(", ")}`);
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? ""]),
  );
}
