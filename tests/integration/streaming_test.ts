/** Bodies on their way: at once, whole, in their framing, and no faster than the slower side. */
import assert from "node:assert/strict";
import { Backend, Peer, reply, signal, statusOf, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { textOf } from "../support/latin1.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nHost: a.test\r\n";

Deno.test("each event of a stream arrives before the next one is written", async () => {
  let heard = 0;
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for (let i = 0; i < 20; i++) {
      await until("the event before has been heard", () => heard === i);
      await peer.send("9\r\ndata: x\n\n\r\n");
    }
    await peer.send("0\r\n\r\n");
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const answer = (await client.reader.head("response"))!;
  let text = client.reader.rest;
  while ((heard = text.split("data: x").length - 1) < 20) {
    text += textOf((await client.read())!);
  }
  assert.equal(answer.framing, "chunked");
});

for (const framing of ["Content-Length: 20", "Transfer-Encoding: chunked"]) {
  Deno.test(`each part of an upload (${framing}) arrives before the next one is sent`, async () => {
    let heard = 0;
    await using backend = new Backend(async (peer) => {
      await peer.reader.head("request");
      let body = peer.reader.rest;
      while ((heard = body.split("x").length - 1) < 20) {
        body += textOf((await peer.read())!);
      }
      await peer.send(reply("ok", "Connection: close\r\n"));
    });
    using proxy = new TestProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    await client.send(`${POST}${framing}\r\n\r\n`);
    for (let i = 0; i < 20; i++) {
      await until("the part before has been heard", () => heard === i);
      await client.send(framing.startsWith("C") ? "x" : "1\r\nx\r\n");
    }
    assert.equal((await client.answer()).body, "ok");
  });
}

Deno.test("bodies are forwarded byte for byte, in any framing and however they are split", async () => {
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null || !request.complete) return;
      const { body } = request;
      const coding = request.head.split(" ")[1];
      if (coding === "/length") await peer.send(reply(body));
      else {
        await peer.send("HTTP/1.1 200 OK\r\n");
        await peer.send(coding === "/close" ? "\r\n" : "Transfer-Encoding: chunked\r\n\r\n");
        for (let at = 0; at < body.length;) {
          const part = body.slice(at, at += 1 + Math.floor(Math.random() * 50_000));
          await peer.send(
            coding === "/close" ? part : `${part.length.toString(16)}\r\n${part}\r\n`,
          );
        }
        if (coding === "/close") return;
        await peer.send("0\r\n\r\n");
      }
    }
  });
  using proxy = new TestProxy([backend.port]);
  for (const path of ["/length", "/chunked", "/close"]) {
    using client = await Peer.connect(proxy.port);
    for (const length of [0, 1, 4_096, 16_384, 65_536, 1_000_003]) {
      const body = randomText(length);
      const chunked = length % 2 === 1;
      await client.send(
        `POST ${path} HTTP/1.1\r\nHost: a.test\r\n` +
          (chunked ? "Transfer-Encoding: chunked\r\n\r\n" : `Content-Length: ${length}\r\n\r\n`),
      );
      for (let at = 0; at < length;) {
        const part = body.slice(at, at += 1 + Math.floor(Math.random() * 100_000));
        await client.send(chunked ? `${part.length.toString(16)}\r\n${part}\r\n` : part);
      }
      if (chunked) await client.send("0\r\n\r\n");
      const answer = await client.answer();
      assert.ok(answer.complete);
      assert.ok(answer.body === body, `${length} bytes ${path} came back changed`);
    }
  }
});

Deno.test("a chunked response to an HTTP/1.0 client ends with the connection", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n",
    );
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask("GET / HTTP/1.0\r\n\r\n");
  assert.equal(answer.framing, "close");
  assert.equal(answer.body, "abcdef");
});

Deno.test("100 (Continue) is sent by the backend, and the body follows it", async () => {
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.reader.head("request");
      if (request === null) return;
      assert.match(request.head, /^expect: 100-continue\r$/im);
      await peer.send("HTTP/1.1 100 Continue\r\n\r\n");
      await peer.reader.body(request);
      await peer.send(reply(request.body));
    }
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  for (const body of ["abc", "x".repeat(100_000)]) {
    await client.send(`${POST}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`);
    assert.match((await client.reader.head("response"))!.head, /^HTTP\/1\.1 100 /);
    assert.equal((await client.ask(body)).body, body);
  }
  assert.equal(backend.accepted, 1);
});

Deno.test("trailers reach the client that accepts them, and no other", async () => {
  await using backend = new Backend(async (peer) => {
    while (await peer.request() !== null) {
      await peer.send(
        "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n" +
          "2\r\nok\r\n0\r\nX-Sum: 42\r\nContent-Length: 3\r\nSet-Cookie: a=b\r\n\r\n",
      );
    }
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const plain = await client.ask(GET);
  assert.equal(plain.trailers, "");
  const asked = await client.ask(GET.replace("\r\n\r\n", "\r\nTE: trailers\r\n\r\n"));
  assert.equal(asked.body, "ok");
  assert.equal(asked.trailers, "X-Sum: 42\r\n");
});

/** More than two connections' socket buffers hold, and far less than the body. */
const BUFFERED = 32 << 20;
const LARGE = 128 << 20;

Deno.test("a slow reader pauses the backend, and gets everything once it reads", async () => {
  let sent = 0;
  const end = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
    const part = new Uint8Array(1 << 20);
    for (; sent < LARGE; sent += part.length) await peer.send(part);
    await end.promise;
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const head = (await client.reader.head("response"))!;
  await steady(() => sent);
  assert.ok(sent < BUFFERED, `${sent} bytes were taken for a client that reads none`);
  while (client.received < head.head.length + LARGE) if (await client.read() === null) break;
  assert.equal(client.received, head.head.length + LARGE);
  end.resolve();
});

Deno.test("a slow backend pauses the client, and gets everything once it reads", async () => {
  const read = signal();
  let received = 0;
  await using backend = new Backend(async (peer) => {
    await read.promise;
    const request = (await peer.reader.head("request"))!;
    while (peer.received < request.head.length + LARGE) if (await peer.read() === null) return;
    received = peer.received - request.head.length;
    await peer.send(reply("ok"));
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(`${POST}Content-Length: ${LARGE}\r\n\r\n`);
  let sent = 0;
  const uploading = (async () => {
    const part = new Uint8Array(1 << 20);
    for (; sent < LARGE; sent += part.length) await client.send(part);
  })();
  await steady(() => sent);
  assert.ok(sent < BUFFERED, `${sent} bytes were taken for a backend that reads none`);
  read.resolve();
  await uploading;
  assert.equal(statusOf(await client.answer()), 200);
  assert.equal(received, LARGE);
});

/** Waits until `value` has not changed for a while. */
async function steady(value: () => number): Promise<void> {
  for (let before = -1; before !== value();) {
    before = value();
    await new Promise((resume) => setTimeout(resume, 150));
  }
}

function randomText(length: number): string {
  let text = "";
  while (text.length < length) text += Math.random().toString(36).slice(2);
  return text.slice(0, length);
}
