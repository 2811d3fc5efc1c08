import assert from "node:assert/strict";
import { isOutage, readAnswer, readEvent } from "./answer.ts";

const SECRET = "c2VjcmV0LWtleQ==";

Deno.test("watch events are parsed, including bookmarks", () => {
  const added = '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5"}}}';
  const bookmark = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6"}}}';
  for (const line of [added, bookmark]) {
    const event = readEvent(line);
    assert.ok(event.ok);
    assert.deepEqual(event.value, JSON.parse(line));
  }
});

Deno.test("an ERROR event is an error with the Status's code", () => {
  const status = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
  const event = readEvent(JSON.stringify({ type: "ERROR", object: status }));
  assert.ok(!event.ok);
  const { code, reason, message } = event.error;
  assert.deepEqual([code, reason, message], [410, "Expired", "too old"]);
});

const GARBAGE: Readonly<Record<string, string>> = {
  "no JSON": `{"type":"ADDED","object":{"data":{"tls.key":"${SECRET}`,
  "HTML": `<html>${SECRET}</html>`,
  "null": "null",
  "a number": "5",
  "no type": `{"object":{"metadata":{"name":"a","resourceVersion":"5"},"data":"${SECRET}"}}`,
  "another type": '{"type":"X","object":{"metadata":{"name":"a","resourceVersion":"5"}}}',
  "no object": '{"type":"ADDED"}',
  "no metadata": `{"type":"ADDED","object":{"data":"${SECRET}"}}`,
  "no name": '{"type":"ADDED","object":{"metadata":{"resourceVersion":"5"}}}',
  "no version": '{"type":"DELETED","object":{"metadata":{"name":"a"}}}',
  "a version of letters": '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"x"}}}',
};

for (const [what, line] of Object.entries(GARBAGE)) {
  Deno.test(`${what} is not an event, and none of its text appears in the error`, () => {
    const event = readEvent(line);
    assert.ok(!event.ok);
    assert.equal(event.error.reason, "Garbled");
    assert.ok(!JSON.stringify(event.error).includes(SECRET));
  });
}

Deno.test("an error has the Status's message, truncated, and its Retry-After", () => {
  const body = JSON.stringify({ reason: "Forbidden", message: "x".repeat(5000) });
  const answer = readAnswer({ status: 403, retryAfter: 2000, body, bytes: body.length });
  assert.ok(!answer.ok);
  assert.equal(answer.error.reason, "Forbidden");
  assert.equal(answer.error.message.length, 1024);
  assert.equal(answer.error.retryAfter, 2000);
});

Deno.test("an error without a Status shows its code and not its text", () => {
  const body = `<html>${SECRET}</html>`;
  const answer = readAnswer({ status: 502, retryAfter: null, body, bytes: body.length });
  assert.ok(!answer.ok);
  assert.equal(answer.error.reason, "Status502");
  assert.equal(answer.error.message, "the API server answered 502");
});

Deno.test("a success response without an object is an error", () => {
  for (const body of ["", "null", `"${SECRET}"`, `{"data":"${SECRET}`]) {
    const answer = readAnswer({ status: 200, retryAfter: null, body, bytes: body.length });
    assert.ok(!answer.ok);
    assert.equal(answer.error.reason, "Garbled");
    assert.ok(!answer.error.message.includes(SECRET));
  }
});

Deno.test("an outage is distinguished from a response about the requested object", () => {
  for (const code of [0, 401, 403, 429, 500, 502, 503]) {
    assert.equal(isOutage(code), true, `${code}`);
  }
  for (const code of [200, 201, 400, 404, 409, 410, 422]) {
    assert.equal(isOutage(code), false, `${code}`);
  }
});
