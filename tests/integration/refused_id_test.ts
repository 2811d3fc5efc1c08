/** Requests that are refused: by which id both sides can speak of them. */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import { Backend, Peer } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const REFUSED = [
  "GET / HTTP/1.1\r\nX-Request-Id: edge-1\r\n",
  "POST / HTTP/1.1\r\nHost: a.test\r\nX-Request-Id: edge-1\r\nExpect: x\r\n",
  "TRACE / HTTP/1.1\r\nHost: a.test\r\nX-Request-Id: edge-1\r\n",
  "GET / HTTP/1.1\r\nHost: a.test\r\nX-Request-Id: edge-1\r\nX : y\r\n",
];

for (const isTrusted of [true, false]) {
  Deno.test(`a rejected request has ${isTrusted ? "the trusted proxy's" : "a new"} id`, async () => {
    await using backend = new Backend();
    using proxy = new TestProxy([backend.port], {}, {
      trustedProxies: isTrusted ? CidrList.parse("127.0.0.0/8") as CidrList : CidrList.empty,
    });
    for (const text of REFUSED) {
      using client = await Peer.connect(proxy.port);
      const { head, body } = await client.ask(`${text}\r\n`);
      const id = /^x-request-id: (.*)\r$/im.exec(head)?.[1];
      assert.ok(id !== undefined && body.includes(`Request id: ${id}\n`));
      assert.equal(id === "edge-1", isTrusted, text);
    }
  });
}
