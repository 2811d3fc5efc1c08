/**
 * Requests of one kind at a fixed rate. In: a plan, and the time now. Out: what failed, each as it
 * does, and how fast the others were answered.
 */
import { createHash } from "node:crypto";
import { CI_PATIENCE } from "../../../tools/ci/patience.ts";
import type { WireMessage } from "../../support/wire_message.ts";
import { Connection, RequestFailure, type Target } from "./connection.ts";
import type { Latencies } from "./latencies.ts";
import { OpenLoop } from "./open_loop.ts";
import type { Failure, LoadPlan, StreamPlan, StreamResult } from "./plan.ts";
import { afterRunning } from "./running_timer.ts";

/** Time limit of a request from its begin on, in ms. */
const TIMEOUT = 10_000 * CI_PATIENCE;
const BODY_BYTES = 1_000;

/** Kept connections that nobody has used for this long are closed: before the proxy does, in ms. */
const IDLE = 20_000;

type Timer = ReturnType<typeof setTimeout>;

export class RequestStream {
  readonly loop: OpenLoop;
  readonly #plan: StreamPlan;
  readonly #target: Target;
  readonly #timeout: number;
  readonly #onFailure: (failure: Failure) => void;
  /** The one that has waited longest comes first, so that all stay in use. */
  readonly #idle: { readonly connection: Connection; readonly timer: Timer }[] = [];
  readonly #body: string;
  #opened = 0;

  constructor(
    plan: StreamPlan,
    load: LoadPlan,
    lag: Latencies,
    onFailure: (failure: Failure) => void,
  ) {
    this.#plan = plan;
    this.#target = targetFor(plan, load);
    this.#timeout = plan.timeout ?? TIMEOUT;
    this.loop = new OpenLoop(plan, lag, (late) => this.#one(late));
    this.#onFailure = onFailure;
    this.#body = "b".repeat(plan.bodyBytes ?? BODY_BYTES);
  }

  /** Opens as many kept connections as requests of a tenth of a second need; where that fails, later. */
  async open(): Promise<void> {
    if (this.#plan.connections === "new") return;
    const count = Math.max(1, Math.ceil(this.#plan.rate / 10));
    await Promise.all(Array.from({ length: count }, async () => {
      const connection = await this.#connect(AbortSignal.timeout(this.#timeout)).catch(() => null);
      if (connection !== null) this.#keep(connection);
    }));
  }

  /** Waits for the requests that are under way. */
  async end(): Promise<StreamResult> {
    await this.loop.settled();
    while (this.#idle.length > 0) this.#take()!.close();
    return this.loop.resultWith(this.#opened);
  }

  /** @param late is how long ago it was due, in ms. */
  async #one(late: number): Promise<void> {
    const began = performance.now();
    const at = Date.now();
    const id = crypto.randomUUID();
    const control = new AbortController();
    const stop = afterRunning(this.#timeout, () => control.abort());
    let connection: Connection | null = null;
    let before = 0;
    let written: number | null = null;
    try {
      connection = this.#take() ?? await this.#connect(control.signal);
      before = connection.answered;
      written = performance.now() - began;
      const body = this.#plan.method === "POST" ? `${id}${this.#body}` : "";
      const answer = await connection.ask(this.#request(id, body), control.signal);
      this.#judge(answer, id, body);
      this.loop.succeeded(performance.now() - began + late);
      if (this.#plan.connections === "new" || isLast(answer)) connection.close();
      else this.#keep(connection);
    } catch (error) {
      connection?.close();
      if (!(error instanceof RequestFailure)) throw error;
      const { how, message: detail, status } = error;
      const after = performance.now() - began;
      this.loop.failed++;
      this.#onFailure({
        kind: "failure",
        stream: this.#plan.name,
        how,
        at,
        after,
        written,
        status,
        detail,
        before,
      });
    } finally {
      stop();
    }
  }

  #request(id: string, body: string): Uint8Array {
    const { method, host, path, connections } = this.#plan;
    const more = connections === "new" ? "Connection: close\r\n" : "";
    const length = method === "POST" ? `Content-Length: ${body.length}\r\n` : "";
    const target = `${path}${path.includes("?") ? "&" : "?"}id=${id}`;
    const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}${length}\r\n`;
    return new TextEncoder().encode(head + body);
  }

  /** Throws what is wrong with an answer. */
  #judge({ head, body: got }: WireMessage, id: string, body: string): void {
    const line = head.slice(0, head.indexOf("\r\n"));
    if (!line.startsWith("HTTP/1.1 200 ")) {
      throw new RequestFailure("status", `${line} ${got.slice(0, 100).trim()}`);
    }
    const hash = body === "" ? "" : ` ${createHash("sha256").update(body).digest("hex")}`;
    const [pod] = got.split(" ", 1);
    if (got !== `${pod} ${id}${hash}`) throw new RequestFailure("body", `${line} ${got}`);
  }

  #connect(signal: AbortSignal): Promise<Connection> {
    this.#opened++;
    return Connection.open(this.#target, signal);
  }

  /** A kept connection; null where there is none. */
  #take(): Connection | null {
    const first = this.#idle.shift();
    if (first === undefined) return null;
    clearTimeout(first.timer);
    return first.connection;
  }

  #keep(connection: Connection): void {
    const forget = () => {
      const place = this.#idle.findIndex((idle) => idle.connection === connection);
      if (place === -1) return;
      clearTimeout(this.#idle.splice(place, 1)[0].timer);
      connection.close();
    };
    this.#idle.push({ connection, timer: setTimeout(forget, IDLE) });
    connection.rest(forget);
  }
}

/** Where a stream's connections go. */
export function targetFor(
  { host, secure = false }: Pick<StreamPlan, "host" | "secure">,
  { address, httpPort, httpsPort, authority }: LoadPlan,
): Target {
  if (!secure) return { address, port: httpPort, tls: null };
  if (authority === undefined) throw new Error(`${host}: secure, and no authority to trust`);
  return { address, port: httpsPort, tls: { name: host, authority } };
}

/** Whether the connection takes no request after this answer. */
function isLast({ head }: WireMessage): boolean {
  return /^connection: *close *$/im.test(head.replaceAll("\r", ""));
}
