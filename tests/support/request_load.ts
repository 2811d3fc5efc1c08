/**
 * Load on ports of loopback. In: where requests go, and which status is right. Out: how many were answered, and
 * which were not as they had to be.
 */
import { Peer, statusOf, until } from "./backend.ts";

export interface LoadTarget extends RequestParts {
  readonly port: number;
}

/** A request that has been answered; times are those of `performance.now()`. */
export interface AnsweredRequest {
  readonly target: LoadTarget;
  /** 0 where none came. */
  readonly status: number;
  /** Before it was sent. */
  readonly begun: number;
  readonly ended: number;
}

/** Of a GET. */
export interface RequestParts {
  /** Default: `a.test`. */
  readonly host?: string;
  readonly path?: string;
  /** Whole lines of other headers. */
  readonly headers?: string;
}

/** The status of a request on a connection of its own; 0 where there is none. */
export async function statusAt(port: number, parts: RequestParts = {}): Promise<number> {
  const status = await answerAt(port, parts);
  return typeof status === "number" ? status : 0;
}

/** As `statusAt`; in place of 0 why there is none. */
export async function answerAt(port: number, parts: RequestParts = {}): Promise<number | string> {
  const begun = performance.now();
  const since = (time: number) => `after ${Math.round(performance.now() - time)} ms`;
  try {
    using client = await Peer.connect(port);
    const connected = performance.now();
    const status = statusOf(await client.ask(requestOf(parts)));
    if (status !== 0) return status;
    const { ending, received, localPort } = client;
    const how = `${ending || "is silent"} ${since(connected)} and ${received} bytes`;
    return `the connection ${how}, from port ${localPort} to ${port}`;
  } catch (error) {
    return `${error} ${since(begun)}`;
  }
}

function requestOf({ host = "a.test", path = "/", headers = "" }: RequestParts): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n`;
}

/**
 * Requests one after the other until it is stopped, on connections that are kept and on new ones. A test
 * that fails stops it too: on a port that is closed by then it would use all of a core, and on one that
 * has been taken again it would disturb another test.
 */
export class RequestLoad implements AsyncDisposable {
  requests = 0;
  readonly failures: string[] = [];
  #isOver = false;
  readonly #isRight: (request: AnsweredRequest) => boolean;
  readonly #loops: Promise<void>[];

  /** @param isRight Default: every request is answered with 200. */
  constructor(
    targets: readonly LoadTarget[],
    isRight: (request: AnsweredRequest) => boolean = ({ status }) => status === 200,
  ) {
    this.#isRight = isRight;
    this.#loops = targets.flatMap((target) => [this.#keeping(target), this.#opening(target)]);
  }

  /** Waits until so many more have been answered. */
  async more(count: number): Promise<void> {
    const before = this.requests;
    await until(`${count} more requests`, () => this.requests >= before + count);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#loops);
  }

  async #keeping(target: LoadTarget): Promise<void> {
    using client = await Peer.connect(target.port);
    const request = requestOf(target);
    while (!this.#isOver) {
      await this.#count(target, async () => statusOf(await client.ask(request)));
    }
  }

  async #opening(target: LoadTarget): Promise<void> {
    while (!this.#isOver) await this.#count(target, () => statusAt(target.port, target));
  }

  async #count(target: LoadTarget, ask: () => Promise<number>): Promise<void> {
    const begun = performance.now();
    const status = await ask();
    const request = { target, status, begun, ended: performance.now() };
    this.requests++;
    if (!this.#isRight(request)) this.failures.push(`${status} on ${target.port}`);
  }
}
