/**
 * Replays a transcript's case through a running proxy, over real sockets. In: a case, and where its
 * bytes are cut in two. Out: what the client got and the backend saw, and how that differs from what
 * the case expects.
 */
import { CidrList } from "../../shared/net/cidr.ts";
import type { LogFields } from "../../shared/log.ts";
import type { Route, Snapshot } from "../../shared/snapshot/types.ts";
import { DEFAULT_LIMITS, type Limits } from "../../proxy/http/limits.ts";
import { ProxyServer } from "../../proxy/server.ts";
import { refusingPort } from "../support/backend.ts";
import { afterLoopTime, withinLoopTime } from "../support/loop_time.ts";
import { messageText, type WireMessage } from "../support/wire_message.ts";
import { WireBackend, WireClient } from "../support/wire_peer.ts";
import { SOME_DATE, SOME_ID, SOME_MARK, SOME_PORT, writeNotation } from "./notation.ts";
import type { Case, ExpectedAnswer, ExpectedRequest } from "./transcript.ts";

/** Where the two sides' bytes are cut; 0 is nowhere. */
export interface Split {
  /** In the client's bytes, all steps together. */
  readonly client: number;
  /** In the first reply's. */
  readonly reply: number;
}

export const WHOLE: Split = { client: 0, reply: 0 };

/** A replay that has not ended by then hangs, in ms of loop time. */
const PATIENCE = 8_000;

/** Asks the proxy itself, so that no backend sees it: an open connection in step answers 404. */
const STILL_THERE = "GET /still-there HTTP/1.1\r\nHost: missing.test\r\n\r\n";
/** Asks the backend once more, over whatever the case has left in the pool. */
const AFTERWARDS = "GET /afterwards HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** What a replay came to. Ids, dates and ports are made the same. */
export interface Outcome {
  readonly answers: readonly WireMessage[];
  readonly ending: string;
  readonly requests: readonly WireMessage[];
  /** What may never happen, whatever the case expects. */
  readonly faults: readonly string[];
}

/** A proxy and a backend that replay one case after another. */
export class Lane {
  readonly #backend = new WireBackend();
  readonly #server: ProxyServer;
  readonly #port: number;
  #faults: string[] = [];

  /** @param settings limits that differ from the defaults, and `trustedProxies`. */
  constructor(settings: string) {
    const { trustedProxies, ...limits } = JSON.parse(settings) as Partial<Limits> & {
      trustedProxies?: string;
    };
    for (const name of Object.keys(limits)) {
      if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
        throw new Error(`Cannot set ${name}: no such limit`);
      }
    }
    const trusted = CidrList.parse(trustedProxies ?? "");
    if (typeof trusted === "string") throw new Error(trusted);
    const note = (_message: string, fields: LogFields = {}) => {
      if (fields.code === "internal") this.#faults.push(`an error of our own: ${fields.detail}`);
    };
    this.#server = new ProxyServer({
      limits: { ...DEFAULT_LIMITS, ...limits },
      trustedProxies: trusted,
      upstreamNetworks: CidrList.empty,
      allowLoopbackUpstreams: true,
      loopMark: SOME_MARK,
      // What begins HTTP/2 is judged as HTTP/1.1 here.
      h2c: false,
      sslRedirect: false,
      sslRedirectPort: 0,
      log: { debug: note, info: note, warn: note, error: note },
    });
    this.#server.apply(snapshotOf(this.#backend.port));
    this.#port = this.#server.listen({ hostname: "127.0.0.1", port: 0 }).port;
  }

  async close(): Promise<void> {
    this.#server.close();
    await this.#backend.close();
  }

  /** Replays `test`, cut as `split` says. */
  async replay(test: Case, split: Split): Promise<Outcome> {
    this.#faults = [];
    this.#backend.begin({
      replies: test.replies,
      splitAt: split.reply,
      unrecorded: "GET /afterwards ",
    });
    const answers: WireMessage[] = [];
    const client = await WireClient.connect(this.#port);
    let late = false;
    const inTime = afterLoopTime(PATIENCE, () => {
      late = true;
      client.close();
    });
    const got = new Turnstile();
    const sending = this.#send(client, test, split.client, got);
    let ending = await this.#receive(client, test, answers, got);
    got.open();
    await sending;
    if (ending === "") ending = await this.#end(client, test, answers);
    inTime();
    client.close();
    if (late) ending = `hangs, with ${writeNotation(client.answers.rest) || "nothing"} unread`;
    // Taken before the afterthought: it must not be waited for by what the case has left undone.
    await this.#settle();
    const requests = this.#backend.requests.map((message) => this.#plain(message));
    if (test.replies !== null && !late) await this.#askAfterwards();
    this.#backend.hangUp();
    await this.#until(
      () => this.#server.idleUpstreamCount === 0,
      "an idle backend connection stays",
    );
    return {
      answers: answers.map((message) => this.#plain(message)),
      ending,
      requests,
      faults: this.#faults,
    };
  }

  async #send(client: WireClient, test: Case, splitAt: number, got: Turnstile): Promise<void> {
    let position = splitAt === 0 ? Infinity : splitAt;
    let waits = 0;
    for (const step of test.client) {
      if (step === "FIN") await client.finish();
      else if (step === "wait") await got.passed(++waits);
      else {
        if (!await client.sendSplit(step.bytes, position)) return;
        position -= step.bytes.length;
        if (position <= 0) position = Infinity;
      }
    }
  }

  /** Reads as many answers as are expected. How the connection ended, if it did, else "". */
  async #receive(
    client: WireClient,
    test: Case,
    answers: WireMessage[],
    got: Turnstile,
  ): Promise<string> {
    const hasFinished = test.client.includes("FIN");
    for (const { kind } of test.answers) {
      let message = await client.answers.message(kind);
      // What asks a half-closed client whether it still listens comes as often as it takes.
      while (hasFinished && message?.head === "HTTP/1.1 102 Processing\r\n\r\n") {
        message = await client.answers.message(kind);
      }
      if (message === null) return client.ending;
      answers.push(message);
      got.pass();
      if (!message.complete) return client.ending || "is out of step";
    }
    return "";
  }

  /** How the connection ends, once all answers that are expected have come. */
  async #end(client: WireClient, test: Case, answers: WireMessage[]): Promise<string> {
    if (test.ending === "stays") {
      if (!await client.send(STILL_THERE)) return "resets";
      const message = await client.answers.message("response");
      if (message === null) return client.ending;
      if (message.head.startsWith("HTTP/1.1 404 Not Found\r\n") && message.complete) return "stays";
      answers.push(message);
      return "is out of step";
    }
    for (;;) {
      const message = await client.answers.message("response");
      if (message === null) return client.ending;
      if (message.head === "HTTP/1.1 102 Processing\r\n\r\n") continue;
      answers.push(message);
      return "goes on";
    }
  }

  /** Waits until the proxy is done with the client and the backend. */
  async #settle(): Promise<void> {
    await this.#until(() => this.#server.connectionCount === 0, "a client connection stays");
    await this.#until(
      () => this.#backend.openCount === this.#server.idleUpstreamCount,
      "a backend connection is neither closed nor in the pool",
    );
  }

  /** Whatever the backend did, the next request is served as ever. */
  async #askAfterwards(): Promise<void> {
    const client = await WireClient.connect(this.#port);
    const inTime = afterLoopTime(PATIENCE, () => client.close());
    await client.send(AFTERWARDS);
    const message = await client.answers.message("response");
    inTime();
    client.close();
    const text = message === null ? "nothing" : messageText(this.#plain(message));
    if (!/^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\nok$/.test(text)) {
      this.#faults.push(`the next request gets ${writeNotation(text)}`);
    }
    await this.#settle();
  }

  async #until(condition: () => boolean, otherwise: string): Promise<void> {
    if (!await withinLoopTime(2_000, condition)) this.#faults.push(otherwise);
  }

  /** With ids, dates and ports made the same. */
  #plain(message: WireMessage): WireMessage {
    const id = /^X-Request-Id: ([0-9a-f]{32})\r$/m.exec(message.head)?.[1];
    const plain = (text: string) => id === undefined ? text : text.replaceAll(id, SOME_ID);
    const head = plain(message.head)
      .replace(
        /^(Date: )[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r$/m,
        (_, name) => `${name}${SOME_DATE}\r`,
      )
      .replace(`X-Forwarded-Port: ${this.#port}\r`, `X-Forwarded-Port: ${SOME_PORT}\r`);
    return { ...message, head, body: plain(message.body) };
  }
}

/** Lets a waiter pass once it has been passed often enough. */
class Turnstile {
  #count = 0;
  #waiting: { at: number; resolve: () => void } | null = null;

  pass(): void {
    this.#count++;
    if (this.#waiting !== null && this.#waiting.at <= this.#count) this.#waiting.resolve();
  }

  /** Nobody waits any more. */
  open(): void {
    this.#count = Infinity;
    this.#waiting?.resolve();
  }

  passed(at: number): Promise<void> {
    if (this.#count >= at) return Promise.resolve();
    return new Promise((resolve) => this.#waiting = { at, resolve });
  }
}

/** What of an outcome the case does not expect; empty when all is as it should be. */
export function differences(test: Case, outcome: Outcome): string[] {
  const found = [...outcome.faults];
  if (outcome.ending !== test.ending) {
    found.push(`the client's connection ${outcome.ending}, but ${test.ending} is expected`);
  }
  found.push(...compare("the client gets", outcome.answers, test.answers.map(answerMatcher)));
  found.push(...compare("the backend sees", outcome.requests, test.requests.map(requestMatcher)));
  return found;
}

/** Whether two outcomes are the same, as far as the case pins them down. */
export function sameOutcome(test: Case, one: Outcome, other: Outcome): boolean {
  return outcomeText(test, one) === outcomeText(test, other);
}

function outcomeText(test: Case, outcome: Outcome): string {
  const answers = outcome.answers.filter((_, index) => !test.answers[index]?.cut).map(messageText);
  const requests = outcome.requests.filter((_, index) => !test.requests[index]?.cut)
    .map(messageText);
  return JSON.stringify([answers, outcome.ending, requests]);
}

interface Matcher {
  readonly matches: (message: WireMessage) => boolean;
  readonly optional: boolean;
  readonly text: string;
}

function answerMatcher({ alternatives, cut, instead }: ExpectedAnswer): Matcher {
  return {
    matches: (message) =>
      alternatives.some((wanted) => matches(message, wanted, cut)) ||
      instead.some((wanted) => matches(message, wanted, false)),
    optional: cut,
    text: messageText(alternatives[0]),
  };
}

function requestMatcher({ message: wanted, cut }: ExpectedRequest): Matcher {
  return {
    matches: (message) => matches(message, wanted, cut),
    optional: cut,
    text: messageText(wanted),
  };
}

function matches(message: WireMessage, wanted: WireMessage, cut: boolean): boolean {
  if (cut) {
    return !message.complete && message.fault === "" &&
      (message.framing === "none"
        ? wanted.head.startsWith(message.head)
        : wanted.head === message.head && wanted.body.startsWith(message.body));
  }
  return messageText(message) === messageText(wanted);
}

function compare(what: string, seen: readonly WireMessage[], wanted: readonly Matcher[]): string[] {
  const found: string[] = [];
  for (let i = 0; i < Math.max(seen.length, wanted.length); i++) {
    if (i < seen.length && wanted[i]?.matches(seen[i])) continue;
    if (i >= seen.length && wanted[i].optional) continue;
    const text = i < seen.length ? writeNotation(messageText(seen[i])) : "nothing";
    const expected = i < wanted.length ? writeNotation(wanted[i].text) : "nothing";
    found.push(`${what}, as number ${i + 1}:\n${text}\nexpected:\n${expected}`);
  }
  return found;
}

/**
 * Every host leads to the backend, but for `missing.test` (404), `broken.test` (500), `empty.test`
 * (503), `closed.test` (503 for good) and `refusing.test` (a port on which nobody listens).
 */
function snapshotOf(backend: number): Snapshot {
  const route = (host: string, action: Route["action"]): Route => ({
    id: `${host} Prefix /`,
    host,
    match: { path: { type: "Prefix", value: "/" } },
    action,
    origin: { kind: "Ingress", namespace: "default", name: "wire", field: "spec" },
  });
  const upstream = (id: string, port: number): Snapshot["upstreams"][number] => ({
    id,
    protocol: "http",
    addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port }] },
  });
  return {
    format: 2,
    version: { epoch: "file", seen: {} },
    routes: [
      route("missing.test", { kind: "reply", status: 404, reason: "no such host" }),
      route("broken.test", { kind: "reply", status: 500, reason: "an inner detail" }),
      route("empty.test", { kind: "reply", status: 503, reason: "no endpoint is ready" }),
      route("closed.test", {
        kind: "reply",
        status: 503,
        reason: "an annotation is not supported",
        closed: true,
      }),
      route("refusing.test", { kind: "forward", backends: [{ upstream: "default/refusing:80" }] }),
      route("*", { kind: "forward", backends: [{ upstream: "default/web:80" }] }),
    ],
    defaultAction: null,
    upstreams: [upstream("default/refusing:80", refusingPort()), upstream("default/web:80", backend)],
    certificates: [],
    defaultCertificate: null,
  };
}
