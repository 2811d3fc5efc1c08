import assert from "node:assert/strict";
import { fieldsOf } from "../http/fields.ts";
import { keyOf, switchingFields } from "./websocket_accept.ts";

Deno.test("a 200 for extended CONNECT becomes the 101 for the client's key (RFC 6455 §1.3)", () => {
  const request = fieldsOf([["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="]]);
  const answer = fieldsOf([
    ["sec-websocket-protocol", "chat"],
    ["sec-websocket-accept", "forged"],
    ["content-length", "5"],
  ]);
  const fields = switchingFields(answer, keyOf(request));
  const lines = Array.from(
    { length: fields.count },
    (_, i) => `${fields.name(i)}: ${fields.value(i)}`,
  );
  assert.deepEqual(lines, [
    "sec-websocket-protocol: chat",
    "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
  ]);
});

Deno.test("a handshake without a key gets a response without one", () => {
  assert.equal(switchingFields(fieldsOf([]), keyOf(fieldsOf([]))).count, 0);
});
