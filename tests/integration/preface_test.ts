import assert from "node:assert/strict";
import { asciiBytes, latin1 } from "../../proxy/http/fields.ts";
import { TestProxy } from "../support/test_proxy.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS = "\0\0\0\x04\0\0\0\0\0";
const SETTINGS_FRAME = 4;

/** What a connection is answered on which `pieces` are sent, each in a packet of its own. */
async function answerTo(
  port: number,
  pieces: readonly string[],
  isEnough: (answer: string) => boolean,
): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  connection.setNoDelay(true);
  for (const piece of pieces) {
    await connection.write(asciiBytes(piece));
    // The next packet leaves in another turn of the loop, so that the proxy sees each by itself.
    await new Promise((resume) => setTimeout(resume, 1));
  }
  let answer = "";
  const buffer = new Uint8Array(4096);
  while (!isEnough(answer)) {
    const count = await connection.read(buffer).catch(() => null);
    if (count === null) break;
    answer += latin1(buffer, 0, count);
  }
  return answer;
}

const isFrame = (answer: string) => answer.length >= 9;
const toTheEnd = () => false;

Deno.test("a client that starts with the preface gets HTTP/2", async (t) => {
  using proxy = new TestProxy([]);
  const whole = PREFACE + SETTINGS;
  const ways: [name: string, pieces: string[]][] = [
    ["in one packet", [whole]],
    ["a byte at a time", [...whole]],
    ["the preface alone at first", [PREFACE, SETTINGS]],
    ["cut behind its first line", [whole.slice(0, 16), whole.slice(16)]],
  ];
  for (const [name, pieces] of ways) {
    await t.step(name, async () => {
      const answer = await answerTo(proxy.port, pieces, isFrame);
      assert.equal(answer.charCodeAt(3), SETTINGS_FRAME, JSON.stringify(answer));
    });
  }
});

Deno.test("with --h2c=false the preface is a request with an unsupported version", async () => {
  using proxy = new TestProxy([], {}, { h2c: false });
  const answer = await answerTo(proxy.port, [PREFACE + SETTINGS], toTheEnd);
  assert.match(answer, /^HTTP\/1\.1 505 /);
});

Deno.test("the preface after a request is an invalid request", async () => {
  using proxy = new TestProxy([]);
  const get = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
  const answer = await answerTo(proxy.port, [get + PREFACE + SETTINGS], toTheEnd);
  assert.match(answer, /^HTTP\/1\.1 503 [^]*HTTP\/1\.1 505 /);
});

Deno.test("bytes of neither version of HTTP get no HTTP response", async () => {
  using proxy = new TestProxy([]);
  for (const line of ["INVALID CONNECTION PREFACE", "HELO mail example"]) {
    assert.equal(await answerTo(proxy.port, [`${line}\r\n\r\n`], toTheEnd), "", line);
  }
  // What was meant as HTTP/1.1 is told what is wrong with it.
  const answer = await answerTo(proxy.port, ["GET / HTTP\r\n\r\n"], toTheEnd);
  assert.match(answer, /^HTTP\/1\.1 400 /);
});
