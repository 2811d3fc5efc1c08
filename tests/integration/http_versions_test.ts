/**
 * The same requests by HTTP/1.1 and by HTTP/2, to backends of either: what reaches the backend, and
 * what comes back, is the same.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { Backend, Peer } from "../support/backend.ts";
import { H2Backend, H2Peer } from "../support/h2_peer.ts";
import { http2SnapshotOf } from "../support/http2_backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import {
  answerFrames,
  answerText,
  type Arrived,
  arrivedByHttp1,
  arrivedByHttp2,
  briefly,
  CASE_FIELD,
  randomCase,
  requestFrames,
  requestText,
  valueOf,
  type VersionCase,
  withoutAdded,
} from "../support/version_cases.ts";

const CASES = 1000;
/** Requests under way at a time, by each version. */
const WIDTH = 8;

const random = new Random(9113);
const cases = Array.from({ length: CASES }, (_, id) => randomCase(random, id));

/** What became of each case: what the backend got, if anything, and what the client did. */
interface Result {
  request: Arrived | null;
  answer: Arrived | null;
}

/** The results of all cases, by the client's version. */
type Ask = (port: number, results: Result[]) => Promise<void>;

async function askByHttp1(port: number, results: Result[]): Promise<void> {
  const random = new Random(1);
  const queue = [...cases];
  await Promise.all(Array.from({ length: WIDTH }, async () => {
    let peer = await Peer.connect(port);
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      await peer.send(requestText(one, random));
      const interim: number[] = [];
      for (;;) {
        const message = await peer.reader.message(
          one.method === "HEAD" ? "response to HEAD" : "response",
        );
        assert(message !== null, `case ${one.id} gets no answer`);
        const arrived = arrivedByHttp1(message, interim);
        const status = Number(arrived.start[interim.length]);
        if (status < 200) {
          interim.push(status);
          continue;
        }
        results[one.id].answer = arrived;
        if (/^connection: close/im.test(message.head)) {
          peer.close();
          peer = await Peer.connect(port);
        }
        break;
      }
    }
    peer.close();
  }));
}

async function askByHttp2(port: number, results: Result[]): Promise<void> {
  const random = new Random(2);
  const queue = [...cases];
  await using peer = await H2Peer.connect(port);
  await Promise.all(Array.from({ length: WIDTH }, async () => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const stream = peer.nextStream();
      await peer.send(requestFrames(one, stream, random));
      results[one.id].answer = arrivedByHttp2(await peer.answer(stream));
      peer.streams.delete(stream);
    }
  }));
}

/** Where requests arrive; each case's is recorded, and answered as the case says. */
class Recorder {
  results: Result[] = [];
  readonly #random = new Random(3);

  readonly playHttp1 = async (peer: Peer): Promise<void> => {
    for (;;) {
      const message = await peer.request();
      if (message === null) return;
      const arrived = arrivedByHttp1(message);
      await peer.send(answerText(this.#record(arrived), this.#random));
    }
  };

  readonly playHttp2 = async (peer: H2Peer): Promise<void> => {
    const whole = () => [...peer.streams].find(([, message]) => message.over);
    while (peer.ending === "") {
      await peer.until("a request", () => whole() !== undefined);
      const [stream, message] = whole() ?? [0, null];
      if (message === null) return;
      peer.streams.delete(stream);
      if (message.heads.length === 0) continue;
      const one = this.#record(arrivedByHttp2(message));
      await peer.send(answerFrames(one, stream, this.#random));
    }
  };

  #record(arrived: Arrived): VersionCase {
    const one = cases[Number(valueOf(arrived.fields, CASE_FIELD))];
    assert.equal(this.results[one.id].request, null, `case ${one.id} arrives twice`);
    this.results[one.id].request = arrived;
    return one;
  }
}

async function resultsOf(ask: Ask, port: number, recorder: Recorder): Promise<Result[]> {
  const results = cases.map((): Result => ({ request: null, answer: null }));
  recorder.results = results;
  await ask(port, results);
  return results;
}

/** @param dropsTrailers those of requests end before a backend of HTTP/1.1. */
async function compare(port: number, recorder: Recorder, dropsTrailers: boolean): Promise<void> {
  const byHttp1 = await resultsOf(askByHttp1, port, recorder);
  const byHttp2 = await resultsOf(askByHttp2, port, recorder);
  let reached = 0;
  for (const one of cases) {
    const [first, second] = [byHttp1[one.id], byHttp2[one.id]];
    assert.deepEqual(first.request, second.request, `request of case ${one.id}`);
    const isOwn = first.request === null;
    const answers = [second.answer, first.answer].map((answer) =>
      withoutAdded(answer!, one, isOwn)
    );
    assert.deepEqual(answers[0], answers[1], `answer to case ${one.id}`);
    if (second.request === null) continue;
    reached++;
    check(one, second.request, answers[0], dropsTrailers);
  }
  assert(reached > CASES * 0.9 && reached < CASES, `${reached} of ${CASES} reach the backend`);
}

/** What both agree on is what was sent. */
function check(
  one: VersionCase,
  request: Arrived,
  answer: Arrived,
  dropsTrailers: boolean,
): void {
  const [method, target, host] = request.start;
  assert.deepEqual([method, host], [one.method, one.host]);
  assert.equal(String(target).replace(/^[^?]*/, ""), one.target.replace(/^[^?]*/, ""));
  assert.equal(request.body, briefly(one.request.body ?? ""));
  const cookie = one.cookies.length === 0 ? undefined : one.cookies.join("; ");
  assert.equal(valueOf(request.fields, "cookie"), cookie);
  const sent = one.request.fields.filter(([name]) => !/^x-forwarded-|^x-original-|_/.test(name));
  const came = request.fields.filter(([name]) =>
    !/^x-forwarded-|^x-real-ip|^cdn-loop$|^cookie/.test(name)
  );
  assert.deepEqual(came, sent);
  assert.deepEqual(request.trailers, dropsTrailers ? [] : one.request.trailers);
  assert.deepEqual(answer.start, [...one.interim, one.status]);
  assert.deepEqual(answer.fields, one.answer.fields);
  assert.equal(answer.body, one.method === "HEAD" ? "" : briefly(one.answer.body ?? ""));
  assert.deepEqual(answer.trailers, one.method === "HEAD" ? [] : one.answer.trailers);
}

Deno.test("an HTTP/1.1 backend and its client get the same with either version", async () => {
  const recorder = new Recorder();
  await using backend = new Backend(recorder.playHttp1);
  using proxy = new TestProxy([backend.port]);
  await compare(proxy.port, recorder, true);
});

Deno.test("an HTTP/2 backend and its client get the same with either version", async () => {
  const recorder = new Recorder();
  await using backend = new H2Backend(recorder.playHttp2);
  using proxy = new TestProxy([]);
  proxy.server.apply(http2SnapshotOf([backend.port]));
  await compare(proxy.port, recorder, false);
});
