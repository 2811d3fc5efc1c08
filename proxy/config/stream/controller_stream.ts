/**
 * One stream from the controller. In: where it is, and what the proxy says first. Out: the lines
 * that come, until it ends, and why it did. One request of HTTP/1.1 whose body and answer go both
 * ways at once.
 */
import http from "node:http";
import type tls from "node:tls";
import { formatAddress } from "../../../shared/net/address.ts";
import { LineSplitter } from "../../../shared/stream/lines.ts";
import {
  MAX_UPDATE_BYTES,
  PROTOCOL_FIELD,
  STREAM_PATH,
  STREAM_PROTOCOL,
  STREAM_TYPE,
} from "../../../shared/stream/protocol.ts";
import { VERSION } from "../../../shared/version.ts";
import type { ControllerAddress } from "./controller_address.ts";
import type { Credentials } from "./credentials.ts";
import { dial } from "./dial.ts";
import { failureOf, type LinkFailure, refusalFailure, timeoutFailure } from "./failure.ts";

/** All in ms. */
export interface StreamTimes {
  /** For name, connection and handshake together. */
  readonly connect: number;
  /** From then to the head of the answer. */
  readonly head: number;
  /** Without a byte, the peer is taken for dead. */
  readonly silence: number;
}

export interface ControllerStreamOptions {
  readonly address: ControllerAddress;
  readonly credentials: Credentials;
  /** The first line of the request, with its end. */
  readonly hello: string;
  readonly times: StreamTimes;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Called before the first line. */
  readonly onOpen: (stream: ControllerStream) => void;
  readonly onLine: (line: string) => void;
  /** For tests; default `MAX_UPDATE_BYTES`. */
  readonly maxLine?: number;
}

export type Opened =
  | { readonly ok: true; readonly stream: ControllerStream }
  | { readonly ok: false; readonly failure: LinkFailure };

/** Lines that may wait for a controller that reads slowly. */
const MAX_WAITING = 256;

/**
 * Silence is counted in ticks: while this thread is busy, as with checking ten thousand certificates
 * for the first time, none goes by, and what has come meanwhile is read before the next.
 */
const TICKS = 10;

/** Bytes of a refusal that are read, and for how long, in ms. */
const MAX_REFUSAL = 4096;
const REFUSAL_PATIENCE = 500;

export class ControllerStream {
  readonly #request: http.ClientRequest;
  readonly #options: ControllerStreamOptions;
  readonly #splitter: LineSplitter;
  #waiting: string[] = [];
  #isFull = false;
  #hasEnded = false;
  /** Ticks since something came. */
  #unheard = 0;
  readonly #ticking: ReturnType<typeof setInterval>;
  readonly #ended = Promise.withResolvers<LinkFailure>();

  private constructor(
    request: http.ClientRequest,
    response: http.IncomingMessage,
    options: ControllerStreamOptions,
  ) {
    this.#request = request;
    this.#options = options;
    this.#splitter = new LineSplitter(options.maxLine ?? MAX_UPDATE_BYTES);
    request.on("drain", () => this.#drained());
    response.on("data", (chunk: Uint8Array) => this.#take(chunk));
    response.on("end", () => this.end({ ...ENDED, message: "the controller ended the stream" }));
    response.on("close", () => this.end({ ...ENDED, message: "the stream was cut" }));
    const { silence } = options.times;
    this.#ticking = setInterval(() => {
      if (++this.#unheard >= TICKS) this.end(silentFailure(silence));
    }, silence / TICKS);
  }

  /** Settles when the answer's head is there, or is known not to come. Never rejects. */
  static async open(options: ControllerStreamOptions): Promise<Opened> {
    const { address, credentials, times, signal } = options;
    const dialled = await dial({ address, ca: credentials.ca, timeout: times.connect, signal });
    if (!dialled.ok) return dialled;
    return await new Promise((resolve) => {
      const request = requestOver(dialled.socket, options);
      let stream: ControllerStream | null = null;
      const settle = (opened: Opened) => {
        clearTimeout(late);
        signal.removeEventListener("abort", abort);
        if (!opened.ok) request.destroy();
        resolve(opened);
      };
      const fail = (failure: LinkFailure) => {
        if (stream !== null) stream.end(failure);
        else settle({ ok: false, failure });
      };
      const abort = () => fail(failureOf(new Error("aborted"), address));
      const late = setTimeout(() => fail(timeoutFailure("its answer", times.head)), times.head);
      signal.addEventListener("abort", abort, { once: true });
      request.on("error", (error: Error) => fail(failureOf(error, address)));
      request.on("response", (response: http.IncomingMessage) => {
        // Heard for good: an error that nobody hears ends the process.
        response.on("error", (error: Error) => fail(failureOf(error, address)));
        if (response.statusCode === 200) {
          stream = new ControllerStream(request, response, options);
          options.onOpen(stream);
          settle({ ok: true, stream });
        } else {
          clearTimeout(late);
          refusalText(response).then((text) =>
            fail(refusalFailure(response.statusCode ?? 0, text))
          );
        }
      });
      request.write(options.hello);
      if (signal.aborted) abort();
    });
  }

  /** Settles when it has ended, with the reason. */
  get ended(): Promise<LinkFailure> {
    return this.#ended.promise;
  }

  /** Says a line, which has its end. */
  send(line: string): void {
    if (this.#hasEnded) return;
    if (!this.#isFull) {
      this.#isFull = !this.#request.write(line);
    } else if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push(line);
    } else {
      this.end({
        key: "deaf",
        message: `the controller has not read ${MAX_WAITING} reports`,
        remedy: "check that the controller has CPU and memory",
      });
    }
  }

  /** Ends it for this reason; the first one counts. No line comes after it. */
  end(failure: LinkFailure): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearInterval(this.#ticking);
    this.#waiting = [];
    this.#request.destroy();
    this.#ended.resolve(failure);
  }

  #take(chunk: Uint8Array): void {
    if (this.#hasEnded) return;
    this.#unheard = 0;
    const lines = this.#splitter.push(chunk);
    for (const line of lines.lines) {
      this.#options.onLine(line);
      if (this.#hasEnded) return;
    }
    if (!lines.ok) {
      const remedy = "run proxy and controller of versions that understand each other";
      this.end({ key: lines.reason, message: lines.reason, remedy });
    }
  }

  #drained(): void {
    this.#isFull = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const line of waiting) this.send(line);
  }
}

const ENDED = { key: "ended", remedy: "none is needed: the proxy opens another stream" };

function silentFailure(ms: number): LinkFailure {
  return {
    key: "silent",
    message: `the controller has said nothing for ${ms / 1000} s`,
    remedy: "check that its node is reachable and that it has CPU",
  };
}

function requestOver(
  socket: tls.TLSSocket,
  { address, credentials: { token } }: ControllerStreamOptions,
): http.ClientRequest {
  return http.request({
    createConnection: () => socket,
    method: "POST",
    path: STREAM_PATH,
    headers: {
      host: formatAddress(address),
      authorization: `Bearer ${token.reveal()}`,
      "content-type": STREAM_TYPE,
      "transfer-encoding": "chunked",
      "user-agent": `pingress-proxy/${VERSION}`,
      [PROTOCOL_FIELD]: STREAM_PROTOCOL,
    },
  });
}

/** The beginning of an answer that is no stream. */
function refusalText(response: http.IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const done = () => {
      clearTimeout(late);
      resolve(text);
    };
    const late = setTimeout(done, REFUSAL_PATIENCE);
    response.on("data", (chunk: Uint8Array) => {
      text += new TextDecoder().decode(chunk);
      if (text.length > MAX_REFUSAL) done();
    });
    response.on("end", done);
    response.on("close", done);
  });
}
