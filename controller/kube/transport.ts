/**
 * HTTP to the API server. In: a method, a path, a body and deadlines. Out: the whole answer, or a
 * stream of its lines; whatever goes wrong on the way is an `ApiError`, never an exception.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { parseRetryAfter } from "../../shared/net/retry_after.ts";
import { VERSION } from "../../shared/version.ts";
import type { Credentials } from "./credentials.ts";
import { ABORTED, type ApiError } from "./types.ts";

export interface HttpCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds until the head has come, and for `exchange` the body as well. */
  readonly deadline: number;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  /** Milliseconds of the field Retry-After; null without one. */
  readonly retryAfter: number | null;
  readonly body: string;
  /** Of the body. */
  readonly bytes: number;
}

export interface LineStream {
  /** Called with each line, without its end. What it throws ends the stream with an error. */
  readonly onLine: (line: string) => void;
  /** Called with the head, before the first line, if the status is 200. */
  readonly onOpen?: () => void;
  /** Milliseconds without a byte after which the stream counts as dead. */
  readonly silence: number;
}

/** Bytes of one answer; a page of 500 objects is far below. */
const MAX_BODY = 256 * 1024 * 1024;

/** Bytes of one line of a watch: an object has at most 1.5 MiB in etcd. */
const MAX_LINE = 16 * 1024 * 1024;

export class Transport {
  readonly #credentials: Credentials;
  #localAddress: string | null = null;

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
  }

  /** Our own address on the way to the API server: in a pod, the pod's. Null before the first call. */
  get localAddress(): string | null {
    return this.#localAddress;
  }

  /** One call and its whole answer, whatever its status. */
  async exchange(call: HttpCall): Promise<HttpAnswer | ApiError> {
    let answer: HttpAnswer | null = null;
    const error = await this.#send(call, (response, settle) => {
      collect(response, settle, (whole) => answer = whole);
    });
    return error ?? answer!;
  }

  /**
   * A call whose answer is lines that come as they please. Resolves when it ends: with an answer
   * where the status is not 200, with null where the server closed it.
   */
  async stream(call: HttpCall, lines: LineStream): Promise<HttpAnswer | ApiError | null> {
    let answer: HttpAnswer | null = null;
    const error = await this.#send(call, (response, settle, timer) => {
      if (response.statusCode !== 200) {
        return collect(response, settle, (whole) => answer = whole);
      }
      const alive = () => timer(lines.silence, "no sign of life");
      const splitter = new LineSplitter(lines.onLine);
      alive();
      lines.onOpen?.();
      response.on("data", (chunk: Uint8Array) => {
        alive();
        try {
          splitter.push(chunk);
        } catch (error) {
          settle(unreachable(messageOf(error)));
        }
      });
      response.on("end", () => settle(null));
    });
    return error ?? answer;
  }

  /** Sends, and hands the response on. `settle` ends the call, at once and once. */
  async #send(
    call: HttpCall,
    receive: (
      response: IncomingMessage,
      settle: (error: ApiError | null) => void,
      timer: (ms: number, what: string) => void,
    ) => void,
  ): Promise<ApiError | null> {
    const { signal, deadline } = call;
    if (signal?.aborted) return aborted();
    let access;
    try {
      access = await this.#credentials.current();
    } catch (error) {
      return unreachable(`credentials cannot be read: ${messageOf(error)}`);
    }
    if (signal?.aborted) return aborted();
    const { server } = this.#credentials;
    return await new Promise((resolve) => {
      let timeout: ReturnType<typeof setTimeout> | undefined;
      let settled = false;
      const settle = (error: ApiError | null) => {
        if (settled) return;
        settled = true;
        clearTimeout(timeout);
        signal?.removeEventListener("abort", onAbort);
        // An answer that was read whole leaves its connection to the next call.
        if (error !== null) request.destroy();
        resolve(error);
      };
      const timer = (ms: number, what: string) => {
        clearTimeout(timeout);
        timeout = setTimeout(() => {
          // The other idle ones may lead to the same dead end.
          for (const idle of Object.values(access.agent.freeSockets)) {
            for (const socket of [...idle ?? []]) socket.destroy();
          }
          settle(overdue(`${what} within ${ms} ms`));
        }, ms);
      };
      const onAbort = () => settle(aborted());
      let request: ClientRequest;
      try {
        request = https.request({
          host: server.hostname.replace(/^\[(.*)\]$/, "$1"),
          port: server.port === "" ? 443 : Number(server.port),
          method: call.method,
          path: server.pathname.replace(/\/$/, "") + call.path,
          agent: access.agent,
          headers: {
            "user-agent": `pingress-controller/${VERSION}`,
            accept: "application/json",
            ...access.headers,
            ...call.headers,
            ...(call.body === undefined
              ? {}
              : { "content-length": String(new TextEncoder().encode(call.body).length) }),
          },
        });
      } catch (error) {
        // Of a token with a line break, or another character that no header has; the message has none of it.
        return resolve(unreachable(`credentials cannot be sent: ${messageOf(error)}`));
      }
      timer(deadline, "no answer");
      signal?.addEventListener("abort", onAbort);
      request.on("error", (error: Error) => settle(unreachable(messageOf(error))));
      request.on("response", (response: IncomingMessage) => {
        response.on("error", (error: Error) => settle(unreachable(messageOf(error))));
        response.on("aborted", () => settle(unreachable("the connection broke")));
        // After "end" it is too late to count; without one, the answer is not whole.
        response.on("close", () => settle(unreachable("the connection broke")));
        receive(response, settle, timer);
      });
      request.on("close", () => settle(unreachable("the connection broke")));
      // Connecting takes a while, in which a process may be paused and a signal's time run out: the
      // last question comes right before the bytes go out.
      const send = (socket: Socket) => {
        this.#localAddress = socket.localAddress ?? this.#localAddress;
        if (signal?.aborted) settle(aborted());
        else request.end(call.body);
      };
      request.once("socket", (socket: Socket) => {
        // Deno sends a request again that breaks off on a connection used before, even one that
        // was destroyed: a write that was given up would be made when another leads.
        // https://github.com/denoland/deno/issues/36786
        request.reusedSocket = false;
        if (socket.connecting) socket.once("secureConnect", () => send(socket));
        else send(socket);
      });
    });
  }
}

/** Lines out of chunks that may end anywhere, also within a character. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #rest: string[] = [];
  #length = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Throws for a line that is longer than any object can be, and what `onLine` throws. */
  push(chunk: Uint8Array): void {
    const text = this.#decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#rest.push(text.slice(start, end));
      const line = this.#rest.join("");
      this.#rest = [];
      this.#length = 0;
      start = end + 1;
      if (line.trim() !== "") this.#onLine(line);
    }
    if (start === text.length) return;
    this.#rest.push(text.slice(start));
    this.#length += text.length - start;
    if (this.#length > MAX_LINE) throw new RangeError(`a line of more than ${MAX_LINE} characters`);
  }
}

/** Hands over the whole answer, before it settles. */
function collect(
  response: IncomingMessage,
  settle: (error: ApiError | null) => void,
  take: (answer: HttpAnswer) => void,
): void {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  response.on("data", (chunk: Uint8Array) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BODY) settle(unreachable(`an answer of more than ${MAX_BODY} bytes`));
  });
  response.on("end", () => {
    take({ ...headOf(response), body: textOf(chunks), bytes });
    settle(null);
  });
}

function headOf(response: IncomingMessage): { status: number; retryAfter: number | null } {
  return {
    status: response.statusCode ?? 0,
    retryAfter: parseRetryAfter(response.headers["retry-after"] ?? null, Date.now()),
  };
}

function textOf(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") +
    decoder.decode();
}

function unreachable(message: string): ApiError {
  return { code: 0, reason: "Unreachable", message, retryAfter: null };
}

function overdue(message: string): ApiError {
  return { code: 0, reason: "Deadline", message, retryAfter: null };
}

function aborted(): ApiError {
  return { code: 0, reason: ABORTED, message: "the call was given up", retryAfter: null };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
