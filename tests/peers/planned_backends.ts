/**
 * Endpoints that do with each attempt of a request what its header X-Plan says: `503,closes,200` is the first
 * attempt's, the second's and the third's, whichever endpoints get them. In: how many endpoints. Out: the
 * attempts of each request, which X-Id tells apart.
 */
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { headerOf, type WireMessage } from "../support/wire_message.ts";
import { textOf } from "../support/latin1.ts";

/** What an endpoint does; three digits are a status. What follows the plan is 200. */
export const STEPS = [
  "closes",
  "closes in the head",
  "is malformed",
  "is silent",
  "is silent in the body",
  "is silent in a tunnel",
] as const;

export interface Attempt {
  readonly endpoint: number;
  readonly line: string;
  readonly host: string;
  readonly body: string;
}

/** What a client gets, and the endpoints. */
export interface PlannedOutcome {
  readonly status: number;
  readonly location: string | null;
  readonly body: string;
  readonly attempts: readonly Omit<Attempt, "endpoint">[];
}

export interface PlannedRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly plan: readonly string[];
  readonly body: string;
  readonly isChunked?: boolean;
  readonly isUpgrade?: boolean;
}

export class PlannedBackends {
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #backends: readonly Backend[];

  constructor(count: number) {
    this.#backends = Array.from(
      { length: count },
      (_, endpoint) => new Backend((peer) => this.#play(peer, endpoint)),
    );
  }

  get ports(): number[] {
    return this.#backends.map(({ port }) => port);
  }

  /** So far, the earliest first. */
  attemptsOf(id: string): readonly Attempt[] {
    return this.#attempts.get(id) ?? [];
  }

  /** Sends a request on a connection of its own; `id` is of one request to one proxy. */
  async ask(port: number, id: string, request: PlannedRequest): Promise<PlannedOutcome> {
    using client = await Peer.connect(port);
    const kind = request.method === "HEAD" ? "response to HEAD" : "response";
    const answer = request.isUpgrade
      ? await tunnelled(client, requestText(id, request))
      : await client.ask(requestText(id, request), kind);
    const attempts = this.attemptsOf(id);
    return {
      status: statusOf(answer),
      location: headerOf(answer.head, "Location"),
      // That of an endpoint; errors of the proxies themselves have texts of their own.
      body: answer.body.startsWith("endpoint") ? answer.body : "",
      attempts: attempts.map(({ line, host, body }) => ({ line, host, body })),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const backend of this.#backends) await backend[Symbol.asyncDispose]();
  }

  /** Of one request: no connection is used twice, so that none is closed while a request comes. */
  async #play(peer: Peer, endpoint: number): Promise<void> {
    const asked = await peer.request();
    if (asked === null) return;
    const valueOf = (name: string) => headerOf(asked.head, name) ?? "";
    const id = valueOf("X-Id");
    const attempts = this.#attempts.get(id) ?? [];
    this.#attempts.set(id, attempts);
    const step = valueOf("X-Plan").split(",")[attempts.length] || "200";
    const [line] = asked.head.split("\r\n");
    attempts.push({ endpoint, line, host: valueOf("Host"), body: asked.body });
    if (step === "closes") return;
    if (step === "closes in the head") await peer.send("HTTP/1.1 200 OK\r\nContent-Le");
    else if (step === "is malformed") await peer.send("HTTP/1.1 200 OK\r\nX-A: \0\r\n\r\n");
    else if (step === "is silent") await peer.ended();
    else if (step === "is silent in the body") {
      await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nendpoint");
      await peer.ended();
    } else if (step === "is silent in a tunnel") {
      await peer.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\nConnection: upgrade\r\n\r\n",
      );
      await peer.ended();
    } else await peer.send(responseOf(step, asked.head.startsWith("HEAD")));
  }
}

/** The response, once the tunnel behind it has ended. */
async function tunnelled(client: Peer, text: string): Promise<Pick<WireMessage, "head" | "body">> {
  await client.send(text);
  let head = "";
  for (let part = await client.read(); part !== null; part = await client.read()) {
    head += textOf(part);
  }
  return { head, body: "" };
}

function responseOf(status: string, isHead: boolean): string {
  const hasBody = status !== "204" && status !== "304";
  const body = hasBody ? `endpoint ${status}` : "";
  const length = hasBody ? `Content-Length: ${body.length}\r\n` : "";
  const location = status.startsWith("3") ? "Location: https://else.test/\r\n" : "";
  return `HTTP/1.1 ${status} Some\r\n${length}${location}Connection: close\r\n\r\n${
    isHead ? "" : body
  }`;
}

function requestText(id: string, request: PlannedRequest): string {
  const { method, target, host, plan, body, isChunked, isUpgrade } = request;
  const length = body === "" && ["GET", "HEAD", "OPTIONS", "DELETE"].includes(method)
    ? ""
    : `Content-Length: ${body.length}\r\n`;
  const [framing, framed] = isChunked
    ? [
      "Transfer-Encoding: chunked\r\n",
      `${body === "" ? "" : `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n`,
    ]
    : [length, body];
  return `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nX-Id: ${id}\r\n` +
    `X-Plan: ${plan.join(",")}\r\n${framing}` +
    `${isUpgrade ? "Connection: upgrade\r\nUpgrade: test" : "Connection: close"}\r\n\r\n${framed}`;
}
