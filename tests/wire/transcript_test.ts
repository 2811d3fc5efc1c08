import assert from "node:assert/strict";
import { MessageReader, messageText } from "../support/wire_message.ts";
import { bytesOf, writeNotation } from "./notation.ts";
import { differences, type Outcome } from "./replay.ts";
import { readTranscript } from "./transcript.ts";

const CASE = [
  "# Title",
  "",
  "## Name",
  "",
  "```client",
  "GET /<what> HTTP/1.1\\r\\n",
  "Host: a.test\\r\\n",
  "\\r\\n",
  "```",
  "",
  "| what |",
  "| --- |",
  "| `a\\|b` |",
  "| c |",
  "",
  "```backend",
  "GET /<what> HTTP/1.1\\r\\n",
  "Host: a.test\\r\\n",
  "\\r\\n",
  "```",
  "```answer closes",
  "<404>",
  "```",
  "",
].join("\n");

Deno.test("a row of a table is a separate case", async () => {
  const { title, headings } = await readTranscript(CASE);
  assert.equal(title, "Title");
  assert.deepEqual(headings.map(({ name }) => name), ["Name"]);
  const cases = headings[0].cases;
  assert.deepEqual(cases.map(({ name }) => name), ["a|b", "c"]);
  assert.deepEqual(cases[0].client, [{ bytes: "GET /a|b HTTP/1.1\r\nHost: a.test\r\n\r\n" }]);
  assert.equal(cases[1].requests[0].message.head, "GET /c HTTP/1.1\r\nHost: a.test\r\n\r\n");
  assert.match(cases[0].answers[0].alternatives[0].head, /^HTTP\/1.1 404 Not Found\r\n/);
});

Deno.test("an invalid transcript is rejected with the case's name", async (t) => {
  const broken: [what: string, markdown: string, reason: RegExp][] = [
    ["no end is told", CASE.replace("answer closes", "answer"), /says `closes` or `stays`/],
    ["no backend block", CASE.replace("```backend", "```reply"), /no backend block/],
    ["an unknown block", CASE.replace("```backend", "```upstream"), /a block of "upstream"/],
    ["an unknown marker", CASE.replace("<404>", "<499>"), /no such error/],
    ["a block without end", CASE.replace(/```\n$/, ""), /a block without an end/],
    ["a table without rows", CASE.replace(/\| `a.*\n\| c \|\n/, ""), /a table without rows/],
    ["an escape that is none", CASE.replace("a.test\\r", "a.test\\q"), /no such escape/],
    ["half a message", CASE.replace("<404>", "HTTP/1.1 200 OK\\r\\n"), /not whole/],
    ["a heading twice", CASE + CASE.slice(CASE.indexOf("##")), /stands there twice/],
  ];
  for (const [what, markdown, reason] of broken) {
    await t.step(what, async () => {
      await assert.rejects(readTranscript(markdown), (error: Error) => {
        assert.match(String(error.cause ?? error), reason);
        return error.message.includes("Title");
      });
    });
  }
});

Deno.test("every byte can be written, and is written back", () => {
  const bytes = String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));
  assert.equal(bytesOf(writeNotation(bytes).replaceAll("<", "\\x3c")), bytes);
  assert.equal(bytesOf("a\\r\\n\nb<\\0*3>"), "a\r\nb\0\0\0");
});

Deno.test("a message is parsed with its chunks joined", async () => {
  const text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
    "3\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nrest";
  const reader = MessageReader.of(text);
  const first = await reader.message("response");
  assert.equal(first?.body, "abcde");
  assert.equal(first?.trailers, "X: y\r\n");
  assert.equal((await reader.message("response"))?.framing, "none");
  assert.equal(reader.rest, "rest");
});

Deno.test("a truncated or badly framed message is never complete", async () => {
  for (
    const text of [
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
    ]
  ) {
    const message = await MessageReader.of(text).message("response");
    assert.ok(message !== null && (!message.complete || message.fault !== ""), text);
    assert.match(messageText(message), />$/, text);
  }
});

Deno.test("any difference from the expected outcome is reported", async (t) => {
  const [test] = (await readTranscript(CASE)).headings[0].cases;
  const request = test.requests[0].message;
  const answer = test.answers[0].alternatives[0];
  const good: Outcome = { answers: [answer], ending: "closes", requests: [request], faults: [] };
  assert.deepEqual(differences(test, good), []);
  const bad: [what: string, outcome: Partial<Outcome>][] = [
    ["a fault", { faults: ["an error of our own"] }],
    ["another ending", { ending: "stays" }],
    ["no answer", { answers: [] }],
    ["two answers", { answers: [answer, answer] }],
    ["another field", { answers: [{ ...answer, head: answer.head.replace("no-store", "x") }] }],
    ["another body", { answers: [{ ...answer, body: answer.body.slice(1) }] }],
    ["half an answer", { answers: [{ ...answer, complete: false }] }],
    ["no request", { requests: [] }],
    ["two requests", { requests: [request, request] }],
    ["another request", { requests: [{ ...request, head: request.head.replace("a.", "b.") }] }],
  ];
  for (const [what, outcome] of bad) {
    await t.step(what, () => assert.equal(differences(test, { ...good, ...outcome }).length, 1));
  }
});
