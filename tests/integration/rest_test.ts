/** A connection that has rested, however small it has made itself meanwhile, serves as before. */
import assert from "node:assert/strict";
import { SWEEP_INTERVAL } from "../../proxy/io/deadlines.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

/** Sweeps enough for a connection that has nothing to do to let go of what it can. */
const REST = 4 * SWEEP_INTERVAL;

const rest = () => new Promise((resume) => setTimeout(resume, REST));

/** Answers with the head and the body that came, as its body. */
async function playTold(peer: Peer): Promise<void> {
  for (;;) {
    const request = await peer.request();
    if (request === null) return;
    await peer.send(reply(`${request.head}|${request.body}`));
  }
}

const head = (path: string, fields = "") => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`;

Deno.test("a request after an idle period is read unmodified, with nothing of the previous one", async () => {
  await using backend = new Backend(playTold);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await rest();
  for (const path of ["/first", "/second", "/third"]) {
    const mark = path.slice(1);
    const post = `POST ${path} HTTP/1.1\r\nHost: ${mark}.test\r\nX-Mark: ${mark}\r\n` +
      `Content-Length: ${mark.length}\r\n\r\n${mark}`;
    const { body } = await client.ask(post);
    assert.match(body, new RegExp(`^POST ${path} HTTP/1\\.1\r\n[^|]*X-Mark: ${mark}\r\n`));
    assert.ok(body.endsWith(`|${mark}`), "its own body");
    assert.deepEqual([...new Set(body.match(/first|second|third/g))], [mark]);
    await rest();
  }
});

Deno.test("a head after an idle period may have any size, and arrive in parts", async () => {
  await using backend = new Backend(playTold);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  for (const length of [10, 1_000, 5_000, 20_000, 10]) {
    const value = "v".repeat(length);
    const request = head(`/${length}`, `X-Long: ${value}\r\n`);
    await client.send(request.slice(0, 40));
    await rest();
    const { body } = await client.ask(request.slice(40));
    assert.ok(body.includes(`X-Long: ${value}\r\n`), `${length} bytes`);
    await rest();
  }
});

Deno.test("a client that closes an idle connection is noticed", async () => {
  await using backend = new Backend(playTold);
  using proxy = new TestProxy([backend.port]);
  {
    using client = await Peer.connect(proxy.port);
    assert.equal(statusOf(await client.ask(head("/"))), 200);
    await rest();
    assert.equal(proxy.server.connectionCount, 1);
  }
  for (let i = 0; i < 100 && proxy.server.connectionCount > 0; i++) await rest();
  assert.equal(proxy.server.connectionCount, 0);
});
