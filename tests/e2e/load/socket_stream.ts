/**
 * WebSockets that stay open. In: a plan. Out: each end of one with its code, each message that did
 * not come back, and how long the others took. One that ended is opened anew.
 */
import { WebSocket } from "ws";
import { Latencies } from "./latencies.ts";
import type { Failure, LoadPlan, SocketEnd, SocketsPlan, StreamResult } from "./plan.ts";
import { targetFor } from "./request_stream.ts";

/** How long an echo or a handshake is waited for, in ms. */
const PATIENCE = 10_000;

/** From an end to the next handshake, in ms. */
const PAUSE = 100;

export class SocketStream {
  /** Messages. */
  answered = 0;
  failed = 0;
  readonly #plan: SocketsPlan;
  readonly #load: LoadPlan;
  readonly #tell: (line: Failure | SocketEnd) => void;
  readonly #latencies = new Latencies();
  readonly #open = new Set<WebSocket>();
  readonly #stop = Promise.withResolvers<void>();
  #running: Promise<unknown> = Promise.resolve();
  #over = false;
  #opened = 0;

  constructor(plan: SocketsPlan, load: LoadPlan, tell: (line: Failure | SocketEnd) => void) {
    this.#plan = plan;
    this.#load = load;
    this.#tell = tell;
  }

  /** Settles once each has been open or has failed. */
  async open(): Promise<void> {
    const firsts = Array.from({ length: this.#plan.count }, () => Promise.withResolvers<void>());
    this.#running = Promise.all(firsts.map(async ({ resolve }) => {
      while (!this.#over) {
        await this.#one(resolve);
        await Promise.race([pause(PAUSE), this.#stop.promise]);
      }
    }));
    await Promise.all(firsts.map(({ promise }) => promise));
  }

  async end(): Promise<StreamResult> {
    this.#over = true;
    this.#stop.resolve();
    for (const socket of this.#open) socket.close(1000);
    await this.#running;
    return {
      name: this.#plan.name,
      answered: this.answered,
      failed: this.failed,
      ...this.#latencies.summary,
      opened: this.#opened,
    };
  }

  /** One socket until it ends; `settled` is called when it is open or will never be. */
  async #one(settled: () => void): Promise<void> {
    const { name: stream, host, path, secure = false } = this.#plan;
    const { address, port, tls } = targetFor({ host, secure }, this.#load);
    const began = performance.now();
    const at = Date.now();
    this.#opened++;
    const socket = new WebSocket(`${secure ? "wss" : "ws"}://${address}:${port}${path}`, {
      headers: { Host: host },
      handshakeTimeout: PATIENCE,
      ...(tls === null ? {} : { servername: tls.name, ca: tls.authority }),
    });
    this.#open.add(socket);
    let opened = 0;
    let detail = "";
    let status = 0;
    let sender: ReturnType<typeof setInterval> | undefined;
    const ended = Promise.withResolvers<void>();
    socket.on("open", () => {
      opened = performance.now();
      settled();
      sender = this.#echo(socket);
    });
    socket.on("unexpected-response", (request, response) => {
      status = response.statusCode ?? 0;
      detail = `handshake answered with ${status}`;
      request.destroy();
      ended.resolve();
    });
    socket.on("error", (error) => detail ||= error.message);
    socket.on("close", (code, reason) => {
      if (opened > 0 && !this.#over) {
        const age = performance.now() - opened;
        const said = [detail, String(reason)].filter((text) => text !== "").join(" ");
        this.#tell({ kind: "end", stream, at: Date.now(), code, detail: said, age });
      }
      ended.resolve();
    });
    await ended.promise;
    clearInterval(sender);
    this.#open.delete(socket);
    settled();
    if (opened === 0 && !this.#over) {
      this.failed++;
      const after = performance.now() - began;
      const how = status === 0 ? "connect" : "status";
      this.#tell({ kind: "failure", stream, how, at, after, status, detail, before: 0 });
    }
  }

  /** Sends a message now and then; one that is not back in time fails, and ends the socket. */
  #echo(socket: WebSocket): ReturnType<typeof setInterval> {
    let sent = 0;
    let expected: string | null = null;
    socket.on("message", (data) => {
      if (String(data) !== expected) {
        return this.#lose(socket, "body", sent, `${data} in place of ${expected}`);
      }
      expected = null;
      this.answered++;
      this.#latencies.add(performance.now() - sent);
    });
    return setInterval(() => {
      if (socket.readyState !== WebSocket.OPEN) return;
      if (expected === null) {
        sent = performance.now();
        expected = crypto.randomUUID();
        socket.send(expected);
      } else if (performance.now() - sent > PATIENCE) {
        this.#lose(socket, "timeout", sent, "no echo");
      }
    }, this.#plan.interval);
  }

  #lose(socket: WebSocket, how: "body" | "timeout", sent: number, detail: string): void {
    const after = performance.now() - sent;
    const at = Date.now() - after;
    this.failed++;
    const { name: stream } = this.#plan;
    this.#tell({ kind: "failure", stream, how, at, after, status: 0, detail, before: 0 });
    socket.terminate();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
