/**
 * A gateway before an API server. In: requests over TLS. Out: the API server's answers, or others
 * that a test has asked for; and a record of every request, so that tests can count calls and see
 * which writes were made.
 */
import { type ApiRequest, parseApiRequest, type Verb } from "./api_request.ts";
import type { TestCluster } from "./cluster.ts";
import type { Answer } from "./gateway_answers.ts";

/** What a request must be like; all that is given must hold. */
export interface RequestMatch {
  readonly verb?: Verb | readonly Verb[];
  readonly method?: string;
  /** Plural: `configmaps`. */
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
  /** Without the query. */
  readonly path?: RegExp;
  readonly token?: string;
}

/** A request that came. */
export interface RecordedRequest extends ApiRequest {
  readonly userAgent: string;
  /** Whose it is: the bearer token. */
  readonly token: string;
  /** What a write sent; empty for the others. */
  readonly body: string;
  /** When it came, in ms since the epoch. */
  readonly time: number;
  /** Of the answer; `null` until there is one. */
  readonly status: number | null;
  /** When the answer's head went out, in ms since the epoch. */
  readonly answered: number | null;
  /** Whether its answer still goes on, as a watch's does. */
  readonly isOpen: boolean;
}

/** Answers that are given in place of the API server's. */
export interface Injection {
  /** How many requests it has answered. */
  readonly hits: number;
  /** Answers none any more. */
  remove(): void;
}

/** Starts a gateway before a cluster's API server, on a free port of 127.0.0.1. */
export async function startGateway(
  cluster: TestCluster,
  { targetPort = cluster.port }: { readonly targetPort?: number } = {},
): Promise<ApiGateway> {
  const certificate = await cluster.authority.issue({ names: ["127.0.0.1", "localhost"] });
  return new ApiGateway(cluster, targetPort, certificate.chain, certificate.key.reveal());
}

type Recording = { -readonly [field in keyof RecordedRequest]: RecordedRequest[field] };

interface Rule {
  readonly match: RequestMatch;
  readonly answer: Answer;
  left: number;
  hits: number;
}

/** Hop-by-hop, or of a body that comes out decoded. */
const NOT_FORWARDED = ["host", "connection", "content-length", "accept-encoding", "te"];
const NOT_RETURNED = ["connection", "content-length", "content-encoding", "transfer-encoding"];

export class ApiGateway {
  /** In the order they came. */
  readonly requests: RecordedRequest[] = [];
  readonly #cluster: TestCluster;
  readonly #target: string;
  readonly #http: Deno.HttpClient;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #closing = new AbortController();
  readonly #rules: Rule[] = [];
  readonly #streams = new Map<Recording, (reason?: string) => void>();

  constructor(cluster: TestCluster, targetPort: number, cert: string, key: string) {
    this.#cluster = cluster;
    this.#target = `https://127.0.0.1:${targetPort}`;
    // One connection to the API server for each request that goes on: no limit of streams.
    this.#http = Deno.createHttpClient({ caCerts: [cluster.caPem], http2: false });
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      cert,
      key,
      signal: this.#closing.signal,
      onListen: () => {},
    }, (request) => this.#handle(request));
  }

  get port(): number {
    return this.#server.addr.port;
  }

  /** `https://127.0.0.1:PORT`. */
  get server(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** The path of a kubeconfig whose requests come through here. */
  async kubeconfigFor(token: string): Promise<string> {
    return await this.#cluster.writeFile(this.#cluster.kubeconfigFor(token, this.server));
  }

  /** What came and matches, from the `from`th request on. */
  recorded(match: RequestMatch = {}, from = 0): RecordedRequest[] {
    return this.requests.slice(from).filter((request) => matches(match, request));
  }

  /** Answers matching requests, `times` of them, by `answer`. The injection that came last wins. */
  inject(match: RequestMatch, answer: Answer, times = Infinity): Injection {
    const rule: Rule = { match, answer, left: times, hits: 0 };
    this.#rules.unshift(rule);
    return {
      get hits() {
        return rule.hits;
      },
      remove: () => void (rule.left = 0),
    };
  }

  /** Ends answers that still go on, watches that is: as a server's timeout does, or in the middle. */
  endStreams(match: RequestMatch = {}, how: "end" | "abort" = "end"): number {
    const ended = [...this.#streams].filter(([recording]) => matches(match, recording));
    for (const [, end] of ended) {
      end(how === "abort" ? "gateway: aborted by the test" : undefined);
    }
    return ended.length;
  }

  async close(): Promise<void> {
    this.endStreams();
    this.#closing.abort();
    await this.#server.finished;
    this.#http.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #handle(request: Request): Promise<Response> {
    const body = request.body === null ? "" : await request.text();
    const recording: Recording = {
      ...parseApiRequest(request.method, request.url),
      userAgent: request.headers.get("user-agent") ?? "",
      token: request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "",
      body,
      time: Date.now(),
      status: null,
      answered: null,
      isOpen: true,
    };
    this.requests.push(recording);
    const rule = this.#rules.find(({ match, left }) => left > 0 && matches(match, recording));
    const forward = () => this.#forward(request, recording, body);
    let response: Response;
    if (rule === undefined) {
      response = await forward();
    } else {
      rule.left--;
      rule.hits++;
      response = await rule.answer(recording, forward);
    }
    recording.status = response.status;
    recording.answered = Date.now();
    return this.#follow(response, recording);
  }

  async #forward(request: Request, recording: ApiRequest, body: string): Promise<Response> {
    const { search } = new URL(request.url);
    const headers = new Headers(request.headers);
    for (const name of NOT_FORWARDED) headers.delete(name);
    try {
      const response = await fetch(`${this.#target}${recording.path}${search}`, {
        method: request.method,
        headers,
        body: body === "" ? undefined : body,
        client: this.#http,
        redirect: "manual",
        // Not the request's signal, which Deno.serve aborts even after a good answer.
        signal: this.#closing.signal,
      });
      const returned = new Headers(response.headers);
      for (const name of NOT_RETURNED) returned.delete(name);
      return new Response(response.body, { status: response.status, headers: returned });
    } catch (error) {
      return new Response(`The API server cannot be reached: ${error}`, { status: 502 });
    }
  }

  /** Lets the answer's bytes through, knows when they end, and can end them. */
  #follow(response: Response, recording: Recording): Response {
    if (response.body === null) {
      recording.isOpen = false;
      return response;
    }
    const reader = response.body.getReader();
    const done = () => {
      recording.isOpen = false;
      this.#streams.delete(recording);
    };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#streams.set(recording, (reason) => {
          done();
          if (reason === undefined) controller.close();
          else controller.error(reason);
          reader.cancel().catch(() => {});
        });
      },
      pull: async (controller) => {
        try {
          const { value, done: isEnd } = await reader.read();
          if (!recording.isOpen) return;
          if (value !== undefined) controller.enqueue(value);
          if (!isEnd) return;
          done();
          controller.close();
        } catch (error) {
          if (!recording.isOpen) return;
          done();
          // Deno.serve prints it: a line, and not a trace.
          controller.error(`gateway: ${error}`);
        }
      },
      cancel: (reason) => {
        done();
        return reader.cancel(reason);
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  }
}

function matches(match: RequestMatch, request: RecordedRequest): boolean {
  const { verb, path, ...exact } = match;
  return (verb === undefined || [verb].flat().includes(request.verb)) &&
    (path === undefined || path.test(request.path)) &&
    Object.entries(exact).every(([field, value]) =>
      value === undefined || request[field as keyof typeof exact] === value
    );
}
