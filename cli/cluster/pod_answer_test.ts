import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { parsePodAnswer } from "./pod_answer.ts";

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

for (
  const [name, text, isEnd, expected] of [
    ["a length", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", false, [403, "no"]],
    [
      "a length of which half has come",
      "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n{}",
      true,
      null,
    ],
    ["bytes after its length", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}{}", true, [
      200,
      "{}",
    ]],
    ["chunks", `${CHUNKED}3\r\n{"a\r\n3;x=y\r\n":1\r\n1\r\n}\r\n0\r\n\r\n`, false, [
      200,
      '{"a":1}',
    ]],
    ["chunks without the last", `${CHUNKED}2\r\n{}\r\n`, true, null],
    ["a chunk that is too short", `${CHUNKED}9\r\n{}`, true, null],
    ["a chunk without a size", `${CHUNKED}xyz\r\n{}\r\n0\r\n\r\n`, true, null],
    ["neither length nor chunks, and an end", "HTTP/1.0 200 OK\r\n\r\nok", true, [200, "ok"]],
    ["neither length nor chunks, and no end", "HTTP/1.0 200 OK\r\n\r\nok", false, null],
    ["half a head", "HTTP/1.1 200 OK\r\ncontent-le", true, null],
    ["what is no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", true, null],
    ["nothing", "", true, null],
  ] as const
) {
  Deno.test(`the answer of a pod's port with ${name}`, () => {
    const answer = parsePodAnswer(Buffer.from(text), isEnd);
    assert.deepEqual(answer === null ? null : [answer.status, answer.body], expected);
  });
}
