/**
 * Requests of HTTP/2 that end otherwise than they began: what of them reaches a backend of HTTP/1.1
 * is whole, or its connection serves nobody else.
 */
import assert from "node:assert/strict";
import { Backend, type Peer, reply, until } from "../support/backend.ts";
import { data, type Field, headers, post } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

/** A backend that answers each head as it comes, and knows nothing of bodies. */
class Hasty {
  /** What has come over each connection. */
  readonly received: string[] = [];
  readonly #backend = new Backend((peer, index) => this.#play(peer, index));

  get port(): number {
    return this.#backend.port;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#backend[Symbol.asyncDispose]();
  }

  async #play(peer: Peer, index: number): Promise<void> {
    this.received[index] = "";
    let answered = 0;
    for (let view = await peer.read(); view !== null; view = await peer.read()) {
      this.received[index] += new TextDecoder("latin1").decode(view);
      const heads = this.received[index].split("\r\n\r\n").length - 1;
      for (; answered < heads; answered++) await peer.send(reply("ok"));
    }
  }
}

Deno.test("a body whose trailers are too large is never announced to a backend and then omitted", async () => {
  await using backend = new Hasty();
  using proxy = new TestProxy([backend.port]);
  await using peer = await H2Peer.connect(proxy.port);
  const many = Array.from({ length: 120 }, (_, i): Field => [`x-${i}`, "v"]);
  await peer.send(
    headers(1, post("/upload", [["content-length", "200"]])),
    data(1, "x".repeat(200)),
    headers(1, many, { end: true }),
  );
  await until("an end of the upload", () => peer.streams.get(1)?.over ?? false);
  assert.equal((await peer.ask("/next")).body, "ok");
  const beside = backend.received.filter((text) => text.includes("/upload") && /\/next/.test(text));
  assert.deepEqual(beside, []);
});

for (const end of [false, true]) {
  const how = end ? ", and ends," : "";
  Deno.test(`bytes that a WebSocket client sends${how} before its response are not parsed as a request`, async () => {
    await using backend = new Hasty();
    using proxy = new TestProxy([backend.port]);
    await using peer = await H2Peer.connect(proxy.port);
    const connect: Field[] = [
      [":method", "CONNECT"],
      [":protocol", "websocket"],
      [":scheme", "http"],
      [":path", "/chat"],
      [":authority", "a.test"],
      ["sec-websocket-version", "13"],
    ];
    await peer.send(
      headers(1, connect),
      data(1, "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n", { end }),
    );
    await until("an end of the tunnel", () => peer.streams.get(1)?.over ?? false);
    assert.equal(peer.streams.get(1)!.status, 502);
    assert.match(backend.received[0], /^GET \/chat /);
    assert.doesNotMatch(backend.received.join(""), /smuggled/);
  });
}
