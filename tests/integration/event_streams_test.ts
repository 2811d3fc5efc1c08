/** Responses that come in small chunks, as events do, by HTTP/1.1 on both sides. */
import assert from "node:assert/strict";
import { Backend, Peer, signal, until } from "../support/backend.ts";
import { textOf } from "../support/latin1.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
  "Transfer-Encoding: chunked\r\n\r\n";

/** A client of a stream. */
class EventClient {
  readonly peer: Peer;
  /** What has come behind the head, with its framing. */
  text = "";

  constructor(peer: Peer) {
    this.peer = peer;
  }

  static async connect(port: number): Promise<EventClient> {
    const client = new EventClient(await Peer.connect(port));
    await client.peer.send(GET);
    while (!client.text.includes("\r\n\r\n")) await client.read();
    client.text = client.text.slice(client.text.indexOf("\r\n\r\n") + 4);
    return client;
  }

  /** False at the end of the connection. */
  async read(): Promise<boolean> {
    const view = await this.peer.read();
    if (view !== null) this.text += textOf(view);
    return view !== null;
  }

  /** The data that has come, and whether its end has. */
  get data(): { data: string; isWhole: boolean } {
    const { text } = this;
    let data = "";
    for (let at = 0; at < text.length;) {
      const line = /^([0-9a-f]+)\r\n/i.exec(text.slice(at, at + 16));
      const size = parseInt(line?.[1] ?? "", 16);
      if (size === 0) return { data, isWhole: text.slice(at) === "0\r\n\r\n" };
      assert.ok(size > 0, `no chunk at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
      at += line![0].length;
      data += text.slice(at, at + size);
      at += size;
      if (at < text.length) assert.equal(text.slice(at, at + 2), "\r\n");
      at += 2;
    }
    return { data, isWhole: false };
  }
}

const chunk = (data: string): [write: string, data: string] => [
  `${data.length.toString(16)}\r\n${data}\r\n`,
  data,
];

/** What a backend writes at a time, and the data in that. */
const STREAMS: Record<string, [write: string, data: string][]> = {
  "one chunk each": ["a", "b", "c", "d"].map(chunk),
  "two chunks at a time": [chunk("a"), ["1\r\nb\r\n2\r\ncd\r\n", "bcd"], chunk("e")],
  "chunks cut in their size, their data and their end": [
    chunk("a"),
    ["1", ""],
    ["0\r", ""],
    ["\n0123456789", "0123456789"],
    ["abcdef", "abcdef"],
    ["\r", ""],
    ["\n", ""],
    chunk("b"),
    chunk("c"),
  ],
  "one chunk and a half": [
    chunk("a"),
    chunk("b"),
    ["1\r\nc\r\n3\r\nd", "cd"],
    ["ef\r\n", "ef"],
    chunk("g"),
    chunk("h"),
  ],
  "extensions, leading zeros and upper case": [
    chunk("a"),
    ["1;x=y\r\nb\r\n", "b"],
    chunk("c"),
    ["0001\r\nd\r\n", "d"],
    chunk("e"),
    ["A\r\n0123456789\r\n", "0123456789"],
    chunk("f"),
  ],
  "extensions that are offset by the data of plain chunks alone": Array.from(
    { length: 110 },
    (): [string, string][] => [[`1;x=${"y".repeat(700)}\r\na\r\n`, "a"], chunk("b".repeat(500))],
  ).flat(),
  "chunks around the size of buffers": [
    ...[1, 1, 1_016, 1_017, 1_018, 1_019, 1_020, 1, 1, 4_088, 4_096, 5_000, 1, 1, 70_000, 1, 1, 1],
  ].map((length, index) => chunk(String.fromCharCode(97 + index).repeat(length))),
};

for (const [name, stream] of Object.entries(STREAMS)) {
  Deno.test(`events reach the client one by one, and each byte is counted: ${name}`, async () => {
    const wanted = stream.map(() => signal());
    const end = signal();
    await using backend = new Backend(async (peer) => {
      await peer.request();
      await peer.send(HEAD);
      for (const [index, [write]] of stream.entries()) {
        await wanted[index].promise;
        await peer.send(write);
      }
      await end.promise;
      await peer.send("0\r\n\r\n");
      await peer.request();
    });
    using observed = new ObservedProxy([backend.port]);
    const client = await EventClient.connect(observed.port);
    let expected = "";
    for (const [index, [, data]] of stream.entries()) {
      wanted[index].resolve();
      expected += data;
      while (client.data.data !== expected) assert.ok(await client.read());
    }
    end.resolve();
    while (!client.data.isWhole) assert.ok(await client.read());
    assert.equal(client.data.data, expected);
    client.peer.close();
    await until("the client has gone", () => observed.proxy.server.connectionCount === 0);
    const series = await observed.series();
    const key = 'pingress_response_bytes_total{namespace="test",host="*"}';
    assert.equal(series.get(key), client.peer.received);
  });
}

const MALFORMED: Record<string, string> = {
  "no digits": "\r\nb\r\n",
  "data longer than its size": "1\r\nbc\r\n",
  "a bare LF": "1\nb\r\n",
  "a blank behind the size": "1 \r\nb\r\n",
};

for (const [name, write] of Object.entries(MALFORMED)) {
  Deno.test(`a malformed chunk among events breaks the stream off: ${name}`, async () => {
    await using backend = new Backend(async (peer) => {
      await peer.request();
      await peer.send(HEAD);
      for (const text of [chunk("a")[0], chunk("a")[0], chunk("a")[0], write]) {
        await peer.send(text);
        await new Promise((resume) => setTimeout(resume, 20));
      }
      await peer.request();
    });
    using proxy = new TestProxy([backend.port]);
    const client = await EventClient.connect(proxy.port);
    while (await client.read());
    assert.deepEqual([client.data.isWhole, client.data.data.slice(0, 3)], [false, "aaa"]);
    assert.ok(proxy.codes.includes("upstream_malformed"));
    client.peer.close();
  });
}

Deno.test("each event extends the timeout of the response body, and silence ends the stream", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(HEAD);
    for (let i = 0; i < 12; i++) {
      await peer.send(chunk("a")[0]);
      await new Promise((resume) => setTimeout(resume, 150));
    }
    await peer.request();
  });
  using proxy = new TestProxy([backend.port], { responseBodyTimeout: 700 });
  const client = await EventClient.connect(proxy.port);
  while (await client.read());
  assert.deepEqual(client.data, { data: "a".repeat(12), isWhole: false });
  assert.ok(proxy.codes.includes("upstream_timeout"));
  client.peer.close();
});

Deno.test("a slow client receives every event, and its delays do not count as silence of the backend", async () => {
  const events = 40_000;
  const event = chunk("e".repeat(200))[0];
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(HEAD);
    for (let i = 0; i < events; i++) await peer.send(event);
    await peer.send("0\r\n\r\n");
    await peer.request();
  });
  using proxy = new TestProxy([backend.port], { responseBodyTimeout: 500 });
  const client = await EventClient.connect(proxy.port);
  const parts: string[] = [];
  for (let view = await client.peer.read(); view !== null; view = await client.peer.read()) {
    parts.push(textOf(view));
    // Longer than the body may be silent, and than two looks at what is written.
    if (parts.length === 20) await new Promise((resume) => setTimeout(resume, 2_500));
    if (parts.at(-1)!.endsWith("0\r\n\r\n")) break;
  }
  const data = (client.text + parts.join("")).replaceAll(/[0-9a-f]+\r\n|\r\n/g, "");
  assert.equal(data.replaceAll("e", ""), "");
  assert.equal(client.peer.received > events * 200, true);
  assert.deepEqual(proxy.codes, []);
  client.peer.close();
});

for (const pause of [0, 300]) {
  Deno.test(`a client that disconnects ${pause} ms after its last event is noticed while the stream is silent`, async () => {
    const ended = signal();
    await using backend = new Backend(async (peer) => {
      await peer.request();
      await peer.send(HEAD);
      for (let i = 0; i < 5; i++) {
        await peer.send(chunk("a")[0]);
        await new Promise((resume) => setTimeout(resume, 30));
      }
      await peer.ended();
      ended.resolve();
    });
    using proxy = new TestProxy([backend.port]);
    const client = await EventClient.connect(proxy.port);
    while (client.data.data.length < 5) assert.ok(await client.read());
    await new Promise((resume) => setTimeout(resume, pause));
    client.peer.close();
    await until("the client has gone", () => proxy.server.connectionCount === 0);
    await ended.promise;
  });
}

Deno.test("a client that has sent FIN gets its events, and one that has gone ends the stream", async () => {
  const ended = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(HEAD);
    while (await peer.send(chunk("a")[0])) await new Promise((resume) => setTimeout(resume, 50));
    ended.resolve();
  });
  using proxy = new TestProxy([backend.port]);
  const client = await EventClient.connect(proxy.port);
  while (client.data.data.length < 5) assert.ok(await client.read());
  await client.peer.finish();
  while (client.data.data.length < 40) assert.ok(await client.read());
  client.peer.close();
  await ended.promise;
  await until("the client has gone", () => proxy.server.connectionCount === 0);
});
