/**
 * Node's HTTP/2 client, which asks the origin behind the proxy. In: the proxy's URL, and for TLS an
 * authority's file and a name. Out: a line of JSON for each check, with what was wrong.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http2 from "node:http2";

const { constants } = http2;
const [url, ca, servername] = process.argv.slice(2);
const LARGE = 8 << 20;

const session = http2.connect(url, {
  settings: { enablePush: false, initialWindowSize: 200_000 },
  ...(ca ? { ca: readFileSync(ca), servername } : {}),
});
let pushes = 0;
let ended = null;
session.on("stream", () => pushes++);
session.on("goaway", (code) => ended = `GOAWAY ${code}`);
session.on("error", (error) => ended ??= String(error));
session.on("close", () => ended ??= "closed");

const pattern = (length) => Buffer.from(Uint8Array.from({ length }, (_, i) => i % 251));
const sumOf = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Sends `body` (bytes, or null for a request without one), and reads the whole answer. */
async function ask(head, body = null, { trailers } = {}) {
  const stream = session.request(head, {
    endStream: body === null,
    waitForTrailers: trailers !== undefined,
  });
  if (trailers !== undefined) {
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  }
  if (body !== null) stream.end(body);
  return await answerOf(stream);
}

async function answerOf(stream) {
  const interim = [];
  stream.on("headers", (head) => interim.push(head));
  let trailers = {};
  stream.on("trailers", (fields) => trailers = fields);
  const [head] = await once(stream, "response");
  const parts = [];
  for await (const part of stream) parts.push(part);
  return { head, interim, trailers, body: Buffer.concat(parts) };
}

async function what(head, body, options) {
  const answer = await ask({ ":path": "/what", ...head }, body, options);
  equal(answer.head[":status"], 200);
  return JSON.parse(answer.body);
}

const counts = async () => JSON.parse((await ask({ ":path": "/counts" })).body);

async function until(holds) {
  for (const end = Date.now() + 20_000; Date.now() < end;) {
    if (holds(await counts())) return;
    await new Promise((resume) => setTimeout(resume, 10));
  }
  throw new Error("not within 20 s");
}

function equal(actual, wanted) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${a}, not ${b}`);
}

/** The connection's preface, as it was when we had sent ours. */
async function remoteSettings() {
  if (session.remoteSettings?.enableConnectProtocol !== undefined) return session.remoteSettings;
  const [settings] = await once(session, "remoteSettings");
  return settings;
}

const checks = {
  async "the settings that are announced"() {
    const { maxConcurrentStreams, enablePush, initialWindowSize } = await remoteSettings();
    equal([maxConcurrentStreams, initialWindowSize], [128, 65_536]);
    if (enablePush === false) throw new Error("a server says nothing of ENABLE_PUSH");
  },
  async GET() {
    const { method, target, fields } = await what({ ":path": "/what?x=%20", "x-mixed": "Kept" });
    equal([method, target, fields["x-mixed"]], ["GET", "/what?x=%20", ["Kept"]]);
  },
  async HEAD() {
    const { head, body } = await ask({ ":method": "HEAD", ":path": "/bytes?n=12345&length" });
    equal([head[":status"], head["content-length"], body.length], [200, "12345", 0]);
  },
  async "POST of a known and of an unknown length"() {
    const body = pattern(300_000);
    for (const declared of [body.length, -1]) {
      const length = declared === -1 ? {} : { "content-length": declared };
      const came = await what({ ":method": "POST", ...length }, body);
      equal([came.length, came.declared, came.sum], [body.length, declared, sumOf(body)]);
    }
  },
  async "a large upload and download"() {
    const { sum } = await what({ ":method": "PUT" }, pattern(LARGE));
    equal(sum, sumOf(pattern(LARGE)));
    const { body } = await ask({ ":path": `/bytes?n=${LARGE}` });
    equal(sumOf(body), sumOf(pattern(LARGE)));
  },
  async "trailers both ways"() {
    const head = { ":method": "POST", "trailer": "x-sum" };
    const sent = { trailers: { "x-sum": "abc" } };
    const { proto, trailers } = await what(head, Buffer.from("body"), sent);
    // They end at the proxy where the backend speaks HTTP/1.1.
    equal(trailers, proto === "HTTP/2.0" ? { "x-sum": ["abc"] } : {});
    const answer = await ask({ ":path": "/trailers" });
    equal([answer.trailers["x-sum"], answer.trailers["x-late"]], ["abc", "unannounced"]);
  },
  async "Expect: 100-continue"() {
    const stream = session.request({ ":method": "POST", ":path": "/what", expect: "100-continue" });
    const answer = answerOf(stream);
    await once(stream, "continue");
    stream.end("body");
    equal(JSON.parse((await answer).body).length, 4);
  },
  async "103 before the answer"() {
    const { interim, body } = await ask({ ":path": "/early" });
    equal([interim[0]?.[":status"], String(body)], [103, "final\n"]);
  },
  async "a stream both ways"() {
    const stream = session.request({ ":method": "POST", ":path": "/echo" });
    await once(stream, "response");
    for (let i = 0; i < 50; i++) {
      stream.write(`message ${i}`);
      const [part] = await once(stream, "data");
      equal(String(part), `message ${i}`);
    }
    stream.end();
    await once(stream, "close");
    equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  },
  async "requests that are cancelled"() {
    const { cancelled } = await counts();
    const streams = Array.from({ length: 10 }, () => session.request({ ":path": "/hang" }));
    await until(({ hanging }) => hanging === 10);
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
    await until((now) => now.cancelled === cancelled + 10);
  },
  async "a PING"() {
    const sent = Buffer.from("12345678");
    const came = await new Promise((resolve, reject) => {
      session.ping(sent, (error, _time, payload) => error ? reject(error) : resolve(payload));
    });
    equal(String(came), String(sent));
  },
  async "windows that change while streams are open"() {
    const open = [1, 2, 3].map(() => ask({ ":path": "/bytes?n=2000000" }));
    for (const initialWindowSize of [1, 1_000_000, 20_000]) {
      await new Promise((resolve) => session.settings({ initialWindowSize }, resolve));
    }
    for (const answer of open) equal(sumOf((await answer).body), sumOf(pattern(2_000_000)));
  },
  async "500 requests at a time"() {
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, i) => ask({ ":path": `/bytes?n=${i * 50}` })),
    );
    for (const [i, { body }] of answers.entries()) equal(sumOf(body), sumOf(pattern(i * 50)));
  },
  "one connection, and nothing pushed"() {
    equal([pushes, ended], [0, null]);
  },
};

for (const [name, run] of Object.entries(checks)) {
  let error = "";
  try {
    await run();
  } catch (thrown) {
    error = String(thrown);
  }
  console.log(JSON.stringify({ name, error }));
}
session.close();
