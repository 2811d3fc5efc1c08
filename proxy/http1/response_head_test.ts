import assert from "node:assert/strict";
import { asciiBytes } from "../http/fields.ts";
import { ResponseHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { HeadParser } from "./head_parser.ts";
import { readResponseFields, readStatusLine } from "./response_head.ts";

/** Reads the fields of an answer to `method`. */
function read(status: number, fields: string, { method = "GET", version = 11 as 10 | 11 } = {}) {
  const head = new ResponseHead();
  const bytes = asciiBytes(`${fields}\r\n`);
  const parser = new HeadParser(head.fields, bytes.length, 100);
  parser.begin(bytes, 0, false);
  assert.equal(parser.parse(bytes.length), "complete");
  head.status = status;
  const connection = { keepAlive: false, untilClose: false };
  const wrong = readResponseFields(head, version, method, connection);
  return { ...connection, wrong, bodyLength: head.bodyLength, contentLength: head.contentLength };
}

Deno.test("a body's length follows from method, status and fields", () => {
  const chunked = "Transfer-Encoding: chunked\r\n";
  const five = "Content-Length: 5\r\n";
  const cases: [
    outcome: [bodyLength: number, contentLength: number, untilClose: boolean],
    status: number,
    fields: string,
    options?: { method?: string; version?: 10 | 11 },
  ][] = [
    [[5, 5, false], 200, five],
    [[5, 5, false], 404, five, { version: 10 }],
    [[UNKNOWN_LENGTH, -1, false], 200, chunked],
    [[UNKNOWN_LENGTH, -1, true], 200, ""],
    [[UNKNOWN_LENGTH, -1, true], 500, "", { version: 10 }],
    [[0, 5, false], 200, five, { method: "HEAD" }],
    [[0, -1, false], 200, chunked, { method: "HEAD" }],
    [[0, 5, false], 304, five],
    [[0, -1, false], 204, five],
    [[0, -1, false], 204, chunked],
    [[0, -1, false], 103, five],
  ];
  for (const [outcome, status, fields, options] of cases) {
    const { wrong, bodyLength, contentLength, untilClose } = read(status, fields, options);
    const what = `${options?.method ?? "GET"} ${status} ${fields}`;
    assert.equal(wrong, null, what);
    assert.deepEqual([bodyLength, contentLength, untilClose], outcome, what);
  }
});

Deno.test("a connection is reused only if the response allows it", () => {
  const five = "Content-Length: 5\r\n";
  const stays = (fields: string, version: 10 | 11 = 11) => read(200, fields, { version }).keepAlive;
  assert.equal(stays(five), true);
  assert.equal(stays(five, 10), false);
  assert.equal(stays(`${five}Connection: keep-alive\r\n`, 10), true);
  assert.equal(stays(`${five}Connection: Close\r\n`), false);
  assert.equal(stays(`${five}Connection: keep-alive, close\r\n`), false);
  assert.equal(stays(""), false);
  assert.equal(stays("Connection: keep-alive\r\n"), false);
});

Deno.test("a status line has version, status and reason, or is rejected", () => {
  const status = (line: string) => {
    const head = new ResponseHead();
    const bytes = asciiBytes(line);
    const version = readStatusLine(bytes, 0, bytes.length, head);
    return version === 0 ? null : [version, head.status, head.reason];
  };
  assert.deepEqual(status("HTTP/1.1 200 OK"), [11, 200, "OK"]);
  assert.deepEqual(status("HTTP/1.0 404 Not here"), [10, 404, "Not here"]);
  assert.deepEqual(status("HTTP/1.1 204 "), [11, 204, ""]);
  assert.deepEqual(status("HTTP/1.1 204"), [11, 204, ""]);
  for (const line of ["", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/2.0 200 OK"]) {
    assert.equal(status(line), null, line);
  }
});
