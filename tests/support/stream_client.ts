/**
 * A proxy's end of the controller's stream, as small as it can be. In: where, which token, what to
 * trust. Out: the lines that came, the content that they make, and reports as a test wants them.
 */
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { LineSplitter } from "../../shared/stream/lines.ts";
import { eventually } from "../cluster/support/condition.ts";

/** One line of the controller. */
export interface Line {
  readonly kind: string;
  readonly [field: string]: unknown;
}

export interface StreamClientOptions {
  readonly port: number;
  readonly token?: string;
  readonly caPem: string;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  readonly servername?: string;
  /** Of this end; one address has few connections that have not shown a token. */
  readonly localAddress?: string;
  /** The first report; null for none. */
  readonly hello?: Readonly<Record<string, unknown>> | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly path?: string;
  /** Whether it says of each update that it is in force. */
  readonly acknowledges?: boolean;
}

export const HELLO = { kind: "hello", proxy: "0.1.0", formats: [2], version: null, hash: null };

export class StreamClient {
  /** Without pings. */
  readonly lines: Line[] = [];
  pings = 0;
  bytes = 0;
  /** Null before the answer. */
  status: number | null = null;
  /** Of an answer that is no stream. */
  text = "";
  isEnded = false;
  error: Error | null = null;
  /** When the last line came, on the monotonic clock in ms. */
  lastAt = 0;
  readonly #request: ReturnType<typeof httpsRequest>;
  readonly #acknowledges: boolean;

  constructor(options: StreamClientOptions) {
    const { host = "127.0.0.1", port, caPem, servername = "localhost", token } = options;
    this.#acknowledges = options.acknowledges ?? true;
    this.#request = httpsRequest({
      host,
      port,
      servername,
      localAddress: options.localAddress,
      ca: caPem,
      method: options.method ?? "POST",
      path: options.path ?? "/v1/stream",
      agent: false,
      headers: {
        "content-type": "application/x-ndjson",
        "transfer-encoding": "chunked",
        "pingress-protocol": "1",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...options.headers,
      },
    });
    this.#request.on("response", (response) => this.#read(response));
    this.#request.on("error", (error) => {
      this.error = error;
      this.isEnded = true;
    });
    this.#request.on("close", () => this.isEnded = true);
    this.#request.flushHeaders();
    const { hello = HELLO } = options;
    if (hello !== null) this.report(hello);
  }

  get socket(): Socket | null {
    return this.#request.socket;
  }

  /** One object, or text as it is. */
  report(report: Readonly<Record<string, unknown>> | string): void {
    this.#request.write(typeof report === "string" ? report : `${JSON.stringify(report)}\n`);
  }

  /** The first line of this kind, from the `from`th on. */
  async line(kind: string, from = 0): Promise<Line> {
    return await this.until(
      `line ${kind}`,
      () => this.lines.slice(from).find((line) => line.kind === kind),
    );
  }

  /** The last line that carries a configuration or names one. */
  get latest(): Line | undefined {
    return this.lines.findLast(({ hash }) => hash !== undefined);
  }

  async until<T>(what: string, holds: () => T): Promise<NonNullable<T>> {
    try {
      return await eventually(what, () => Promise.resolve(holds()));
    } catch (cause) {
      const said = JSON.stringify(this.lines).slice(0, 2000);
      throw new Error(`No ${what}: status ${this.status} ${this.text} ${this.error} ${said}`, {
        cause,
      });
    }
  }

  async answered(): Promise<number> {
    return await this.until("answer", () => this.status);
  }

  async ended(): Promise<void> {
    await this.until("end", () => this.isEnded);
  }

  close(): void {
    this.#request.destroy();
    this.#request.socket?.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.ended();
  }

  #read(response: IncomingMessage): void {
    this.status = response.statusCode ?? 0;
    const splitter = new LineSplitter(64 * 1024 * 1024);
    response.on("error", () => {});
    response.on("close", () => this.isEnded = true);
    response.on("data", (chunk: Uint8Array) => {
      this.bytes += chunk.length;
      this.lastAt = performance.now();
      if (this.status !== 200) return void (this.text += new TextDecoder().decode(chunk));
      for (const text of splitter.push(chunk).lines) this.#take(JSON.parse(text));
    });
  }

  #take(line: Line): void {
    if (line.kind === "ping") return void this.pings++;
    this.lines.push(line);
    const { version, hash } = line;
    if (this.#acknowledges && hash !== undefined) this.report({ kind: "applied", version, hash });
  }
}
