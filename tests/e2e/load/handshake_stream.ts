/**
 * TLS handshakes at a fixed rate, each on a connection of its own with one request. In: a plan, and
 * the time now. Out: what failed, and each change of the certificate that is shown.
 */
import { Buffer } from "node:buffer";
import tls from "node:tls";
import { RequestFailure } from "./connection.ts";
import type { Latencies } from "./latencies.ts";
import { OpenLoop } from "./open_loop.ts";
import type { CertificateSeen, Failure, HandshakesPlan, LoadPlan, StreamResult } from "./plan.ts";
import { afterRunning } from "./running_timer.ts";

/** For handshake and answer, in ms. */
const PATIENCE = 10_000;

export class HandshakeStream {
  readonly loop: OpenLoop;
  readonly #plan: HandshakesPlan;
  readonly #load: LoadPlan;
  readonly #tell: (line: Failure | CertificateSeen) => void;
  /** The certificate that the last handshake showed. */
  #shown = "";

  constructor(
    plan: HandshakesPlan,
    load: LoadPlan,
    lag: Latencies,
    tell: (line: Failure | CertificateSeen) => void,
  ) {
    this.#plan = plan;
    this.#load = load;
    this.loop = new OpenLoop(plan, lag, () => this.#one());
    this.#tell = tell;
  }

  /** Waits for those that are under way. */
  async end(): Promise<StreamResult> {
    await this.loop.settled();
    return this.loop.resultWith(this.loop.begun);
  }

  async #one(): Promise<void> {
    const began = performance.now();
    const at = Date.now();
    const { name: stream, host, path } = this.#plan;
    const { address, httpsPort: port, authority: ca } = this.#load;
    const socket = tls.connect({ host: address, port, ca, servername: host });
    const stop = afterRunning(PATIENCE, () => {
      socket.destroy(new RequestFailure("timeout", "no whole answer"));
    });
    try {
      const answer = await exchange(socket, `GET ${path} HTTP/1.1\r\nHost: ${host}`, () => {
        const fingerprint = socket.getPeerCertificate().fingerprint256;
        if (fingerprint === this.#shown) return;
        this.#shown = fingerprint;
        this.#tell({ kind: "certificate", stream, began: at, at: Date.now(), fingerprint });
      });
      const line = answer.slice(0, answer.indexOf("\r\n"));
      if (!line.startsWith("HTTP/1.1 200 ")) throw new RequestFailure("status", line);
      this.loop.succeeded(performance.now() - began);
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      const { how, message: detail, status } = error;
      const after = performance.now() - began;
      this.loop.failed++;
      this.#tell({ kind: "failure", stream, how, at, after, status, detail, before: 0 });
    } finally {
      stop();
      socket.destroy();
    }
  }
}

/** Sends a request once the handshake is done, and reads until the other side ends. */
function exchange(socket: tls.TLSSocket, head: string, onSecure: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    let isSecure = false;
    let received = "";
    socket.once("secureConnect", () => {
      isSecure = true;
      onSecure();
      socket.write(`${head}\r\nConnection: close\r\n\r\n`);
    });
    socket.on("data", (part: Buffer) => received += part.toString("latin1"));
    socket.once("error", (error: Error & { code?: string }) => {
      if (error instanceof RequestFailure) return reject(error);
      const how = error.code === "ECONNREFUSED"
        ? "refused"
        : !isSecure
        ? "handshake"
        : received === ""
        ? "reset"
        : "cut";
      reject(new RequestFailure(how, `${error.code ?? ""} ${error.message}`));
    });
    socket.once("close", () => {
      if (/\r\n\r\n/.test(received)) return resolve(received);
      reject(new RequestFailure(isSecure ? "closed" : "handshake", "closed"));
    });
  });
}
