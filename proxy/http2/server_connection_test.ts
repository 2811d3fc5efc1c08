/** Streams of one client beside each other: windows, turns, writes, and bodies that wait. */
import assert from "node:assert/strict";
import {
  CODE,
  data,
  FRAME,
  get,
  headers,
  post,
  repeat,
  rstStream,
  SETTING,
  settings,
  windowUpdate,
} from "../../tests/support/h2_frames.ts";
import { answers, MemoryClient, type WrittenFrame } from "../../tests/support/h2_memory_client.ts";
import { until } from "../../tests/support/backend.ts";
import type { ProxyError } from "../errors.ts";
import { BytesBody, NO_BODY } from "../http/body.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { type Exchange, ResponseHead } from "../http/message.ts";

const bytesOf = (count: number) => new BytesBody(new Uint8Array(count).fill(0x78));

/** Stream, size and END_STREAM of each DATA frame. */
function dataOf(frames: readonly WrittenFrame[]): [number, number, boolean][] {
  return frames.filter(({ type }) => type === FRAME.DATA)
    .map(({ stream, payload, flags }) => [stream, payload.length, (flags & 1) === 1]);
}

function total(frames: readonly WrittenFrame[], stream: number): number {
  return dataOf(frames).reduce((sum, [id, size]) => id === stream ? sum + size : sum, 0);
}

function empty(status = 200): ResponseHead {
  const head = new ResponseHead();
  head.status = status;
  return head;
}

const WIDE = [[SETTING.INITIAL_WINDOW_SIZE, 1 << 30]] as const;

Deno.test("responses of one turn are sent in one write, each complete", async () => {
  using client = new MemoryClient(answers(() => bytesOf(10), 10));
  await client.greet();
  const before = client.writes;
  await client.send(...[1, 3, 5, 7].map((id) => headers(id, get("/"), { end: true })));
  assert.equal(client.writes - before, 1);
  const frames = client.frames();
  assert.deepEqual(dataOf(frames), [1, 3, 5, 7].map((id) => [id, 10, true]));
  assert.deepEqual(client.ended.map(({ status }) => status), [200, 200, 200, 200]);
});

Deno.test("a stream with a closed window blocks no other", async () => {
  using client = new MemoryClient(answers(() => bytesOf(100), 100));
  await client.greet([[SETTING.INITIAL_WINDOW_SIZE, 0]]);
  await client.send(
    headers(1, get("/"), { end: true }),
    headers(3, get("/"), { end: true }),
    windowUpdate(3, 100),
  );
  assert.deepEqual(dataOf(client.frames()), [[3, 100, true]]);
  await client.send(windowUpdate(1, 40));
  assert.deepEqual(dataOf(client.frames()), [[1, 40, false]]);
  await client.send(windowUpdate(1, 60));
  assert.deepEqual(dataOf(client.frames()), [[1, 60, true]]);
});

Deno.test("a reduced window may become negative, and opens when it is positive again (§6.9.2)", async () => {
  using client = new MemoryClient(answers(() => bytesOf(100), 100));
  await client.greet([[SETTING.INITIAL_WINDOW_SIZE, 50]]);
  await client.send(headers(1, get("/"), { end: true }));
  assert.equal(total(client.frames(), 1), 50);
  await client.send(settings([[SETTING.INITIAL_WINDOW_SIZE, 10]]));
  await client.send(windowUpdate(1, 40));
  assert.equal(total(client.frames(), 1), 0);
  await client.send(windowUpdate(1, 7));
  assert.equal(total(client.frames(), 1), 7);
  await client.send(settings([[SETTING.INITIAL_WINDOW_SIZE, 53]]));
  assert.deepEqual(dataOf(client.frames()), [[1, 43, true]]);
});

Deno.test("streams that share the connection's window take turns, one frame each", async () => {
  using client = new MemoryClient(answers(() => bytesOf(100_000), 100_000));
  await client.greet(WIDE);
  const ids = [1, 3, 5];
  await client.send(...ids.map((id) => headers(id, get("/"), { end: true })));
  client.frames();
  await client.send(windowUpdate(0, 3 * 16_384));
  assert.deepEqual(dataOf(client.frames()).map(([id]) => id).sort(), ids);
  await client.send(windowUpdate(0, 1 << 20));
  const frames = client.frames();
  for (const id of ids) assert.ok(total(frames, id) > 0);
  assert.equal(dataOf(frames).filter(([, , isEnd]) => isEnd).length, 3);
});

Deno.test("a head needs no connection window", async () => {
  using client = new MemoryClient(answers((path) => path === "/empty" ? NO_BODY : bytesOf(70_000)));
  await client.greet(WIDE);
  await client.send(headers(1, get("/"), { end: true }));
  assert.equal(total(client.frames(), 1), 65_535);
  await client.send(headers(3, get("/empty"), { end: true }));
  const frames = client.frames();
  assert.deepEqual(frames.map(({ type, stream }) => [type, stream]), [[FRAME.HEADERS, 3]]);
});

Deno.test("a client that does not read uses little memory, even with heads only", async () => {
  let pulled = 0;
  const endless = {
    done: false,
    trailers: null,
    read: () => {
      pulled += 10_000;
      return new Uint8Array(10_000);
    },
  };
  using client = new MemoryClient(answers((path) => path === "/empty" ? NO_BODY : endless));
  await client.greet(WIDE);
  await client.send(windowUpdate(0, 1 << 30));
  client.hold();
  await client.send(headers(1, get("/"), { end: true }));
  assert.ok(pulled < 256 * 1024, `${pulled} bytes pulled`);
  const ids = Array.from({ length: 20 }, (_, i) => 3 + 2 * i);
  await client.send(...ids.map((id) => headers(id, get("/empty"), { end: true })));
  const before = client.ended.length;
  assert.equal(before, 0);
  await client.send(rstStream(1));
  await client.release();
  assert.deepEqual(client.ended.map(({ status, error }) => [status, error]).length, 21);
  assert.equal(client.frames().filter(({ type }) => type === FRAME.HEADERS).length, 21);
});

Deno.test("a client that got the response to a late body gets no second one", async () => {
  const thrown: unknown[] = [];
  const big = answers(() => bytesOf(1 << 20));
  using client = new MemoryClient(async (exchange) => {
    if (exchange.request.path === "/big") {
      await big(exchange);
      return;
    }
    const reading = Promise.resolve(exchange.body.read()).catch((error) => thrown.push(error));
    await exchange.interim(empty(103));
    await Promise.resolve(exchange.respond(empty(), NO_BODY)).catch((error) => thrown.push(error));
    await reading;
  }, { bodyTimeout: 50 });
  await client.greet(WIDE);
  await client.send(windowUpdate(0, 1 << 30));
  client.hold();
  await client.send(headers(1, get("/big"), { end: true }));
  await client.send(headers(3, post("/")));
  await until("the deadline", () => thrown.length > 0);
  await client.release();
  const heads = client.frames().filter(({ type, stream }) =>
    type === FRAME.HEADERS && stream === 3
  );
  assert.equal(heads.length, 1);
  assert.deepEqual(
    thrown.map((error) => (error as ProxyError).code),
    Array(2).fill("body_timeout"),
  );
  const late = client.ended.find(({ method }) => method === "POST")!;
  assert.deepEqual([late.status, late.error], [408, "body_timeout"]);
});

Deno.test("an upload is not late while others that are not read hold the connection's window", async () => {
  const window = 65_535;
  using client = new MemoryClient(async (exchange) => {
    if (exchange.request.path === "/stuck") await new Promise(() => {});
    while (await exchange.body.read() !== null);
    await exchange.respond(empty(), NO_BODY);
  }, { http2StreamWindow: window, http2ConnectionWindow: window, http2PingTimeout: 0 });
  await client.greet();
  await client.send(headers(1, post("/stuck")), headers(3, post("/read")));
  await client.send(
    repeat(4, (i) => data(1, new Uint8Array(Math.min(16_384, window - i * 16_384)))),
  );
  client.frames();
  const { bodyTimeout } = DEFAULT_LIMITS;
  const late = performance.now() + 2 * bodyTimeout;
  client.connection.check(late);
  await client.idle();
  assert.deepEqual(client.frames().filter(({ stream }) => stream === 3), []);
  await client.send(rstStream(1));
  // The client may send again, and has all of its time from then on.
  client.connection.check(late + bodyTimeout / 2);
  await client.idle();
  assert.deepEqual(client.frames().filter(({ stream }) => stream === 3), []);
  client.connection.check(late + 2 * bodyTimeout);
  await client.idle();
  const { status, error } = client.ended.at(-1)!;
  assert.deepEqual([status, error], [408, "body_timeout"]);
});

Deno.test("an internal error in an exchange resets its stream, and no other", async () => {
  const fine = answers(() => bytesOf(10), 10);
  using client = new MemoryClient(async (exchange) => {
    if (exchange.request.path === "/") {
      await fine(exchange);
      return;
    }
    await Promise.resolve();
    throw new Error("a mistake");
  });
  await client.greet();
  await client.send(
    headers(1, get("/mistake"), { end: true }),
    headers(3, get("/"), { end: true }),
  );
  const frames = client.frames();
  assert.deepEqual(
    frames.filter(({ type }) => type === FRAME.RST_STREAM).map(({ stream }) => stream),
    [1],
  );
  assert.deepEqual(dataOf(frames), [[3, 10, true]]);
  assert.equal(client.ended.length, 2);
});

Deno.test("a handler that throws at once resets its stream, and each other request is served once", async () => {
  const served: string[] = [];
  const fine = answers(() => bytesOf(10), 10);
  using client = new MemoryClient((exchange) => {
    served.push(exchange.request.path);
    if (exchange.request.path === "/mistake") throw new Error("a mistake");
    return fine(exchange);
  });
  await client.greet();
  const paths = ["/1", "/mistake", "/2"];
  await client.send(...paths.map((path, i) => headers(1 + 2 * i, get(path), { end: true })));
  assert.deepEqual(served, paths);
  const frames = client.frames();
  assert.deepEqual(
    frames.filter(({ type }) => type === FRAME.RST_STREAM).map(({ stream }) => stream),
    [3],
  );
  assert.deepEqual(dataOf(frames), [[1, 10, true], [5, 10, true]]);
  assert.deepEqual(client.ended.map(({ status }) => status), [200, 0, 200]);
});

Deno.test("requests are reported once each if the first of them closes their connection", async () => {
  const served: string[] = [];
  using client = new MemoryClient((exchange) => {
    served.push(exchange.request.path);
    client.connection.close();
  });
  await client.greet();
  const paths = ["/1", "/2", "/3"];
  await client.send(...paths.map((path, i) => headers(1 + 2 * i, get(path), { end: true })));
  assert.deepEqual(served, ["/1"]);
  assert.deepEqual(client.ended.map(({ error }) => error), ["client_gone", "client_gone", null]);
});

Deno.test("window is returned as a body is consumed, and not before", async () => {
  const waiting: Exchange[] = [];
  const handler = (exchange: Exchange) => {
    waiting.push(exchange);
    return new Promise<void>(() => {});
  };
  using client = new MemoryClient(handler);
  await client.greet();
  await client.send(headers(1, post("/")), ...Array.from({ length: 4 }, () => data(1, FULL)));
  const updates = () => client.frames().filter(({ type }) => type === FRAME.WINDOW_UPDATE);
  assert.deepEqual(updates(), []);
  const [{ body }] = waiting;
  for (let read = 0; read < 65_536;) read += (await body.read())!.length;
  body.read();
  await client.idle();
  const streams = updates().map(({ stream }) => stream);
  assert.ok(streams.includes(1), "the stream's window opens");
  await client.send(data(1, FULL));
  assert.deepEqual(client.ends, []);
});

const FULL = "x".repeat(16_384);

Deno.test("DATA past the stream's window resets that stream, and the others continue", async () => {
  using client = new MemoryClient((exchange) =>
    exchange.request.path === "/ok"
      ? exchange.respond(empty(), NO_BODY)
      : new Promise<void>((resolve) => exchange.cancellation.register(() => resolve()))
  );
  await client.greet();
  await client.send(headers(1, post("/")), ...Array.from({ length: 5 }, () => data(1, FULL)));
  const reset = client.frames().find(({ type }) => type === FRAME.RST_STREAM)!;
  assert.deepEqual([reset.stream, reset.payload[3]], [1, CODE.FLOW_CONTROL_ERROR]);
  assert.deepEqual(client.ended.map(({ error, status }) => [error, status]), [[null, 0]]);
  await client.send(headers(3, get("/ok"), { end: true }));
  assert.equal(client.frames().filter(({ type }) => type === FRAME.HEADERS).length, 1);
});

Deno.test("padding counts, and its window is returned at once", async () => {
  using client = new MemoryClient(() => new Promise<void>(() => {}));
  await client.greet();
  await client.send(headers(1, post("/")));
  const frame = data(1, "12345", { padding: 250 });
  for (let i = 0; i < 20; i++) await client.send(...Array.from({ length: 7 }, () => frame));
  const given = client.frames().filter(({ type, stream }) =>
    type === FRAME.WINDOW_UPDATE && stream === 1
  );
  assert.equal(given.length, 1);
  assert.deepEqual(client.ends, []);
});

Deno.test("a small body that arrived with its head is the exchange's payload", async () => {
  const seen: unknown[] = [];
  using client = new MemoryClient((exchange) => {
    const { payload, body, request } = exchange;
    seen.push([new TextDecoder().decode(payload!), body.done, request.contentLength]);
    return exchange.respond(empty(), NO_BODY);
  });
  await client.greet();
  await client.send(headers(1, post("/")), data(1, "ab"), data(1, "cd", { end: true }));
  assert.deepEqual(seen, [["abcd", true, 4]]);
});

Deno.test("a stream that is reset in the same read is not served, and is reported once", async () => {
  let served = 0;
  using client = new MemoryClient((exchange) => {
    served++;
    return exchange.respond(empty(), NO_BODY);
  });
  await client.greet();
  await client.send(
    headers(1, get("/"), { end: true }),
    rstStream(1),
    headers(3, get("/"), { end: true }),
  );
  assert.equal(served, 1);
  assert.deepEqual(client.ended.map(({ error }) => error), ["client_gone", null]);
});

Deno.test("an object reused for several streams mixes no data", async () => {
  const handler = async (exchange: Exchange) => {
    let text = new TextDecoder().decode(exchange.payload ?? new Uint8Array(0));
    for (let view = await exchange.body.read(); view !== null; view = await exchange.body.read()) {
      text += new TextDecoder().decode(view);
    }
    const head = empty();
    head.bodyLength = head.contentLength = text.length;
    await exchange.respond(head, new BytesBody(new TextEncoder().encode(text)));
  };
  using client = new MemoryClient(handler);
  await client.greet();
  for (let id = 1; id < 100; id += 4) {
    await client.send(headers(id, post("/")), headers(id + 2, post("/")), data(id, `a${id}`));
    await client.send(data(id + 2, `b${id}`, { end: true }), data(id, "!", { end: true }));
  }
  const bodies = client.frames().filter(({ type }) => type === FRAME.DATA)
    .map(({ stream, payload }) => `${stream} ${new TextDecoder().decode(payload)}`);
  const expected: string[] = [];
  for (let id = 1; id < 100; id += 4) expected.push(`${id} a${id}!`, `${id + 2} b${id}`);
  assert.deepEqual(bodies.sort(), expected.sort());
  assert.equal(client.ended.length, 50);
});

Deno.test("a client whose reads always end within a frame meets the deadline of each", async () => {
  using client = new MemoryClient(answers(() => NO_BODY), { requestHeadTimeout: 200 });
  await client.greet();
  let half = headers(1, get("/"), { end: true });
  await client.send(half.subarray(0, 15));
  let id = 1;
  // Longer than a head may take, and the sweeps that would notice.
  for (const end = performance.now() + 700; performance.now() < end;) {
    const next = headers(id += 2, get("/"), { end: true });
    await client.send(half.subarray(15), next.subarray(0, 15));
    half = next;
  }
  assert.deepEqual(client.ends, []);
  assert.equal(client.ended.length, (id - 1) / 2);
});

Deno.test("further parts of a head do not extend its deadline", async () => {
  using client = new MemoryClient(answers(() => NO_BODY), { requestHeadTimeout: 200 });
  await client.greet();
  const head = headers(1, get("/", [["x", "y".repeat(1_000)]]), { end: true });
  for (let at = 0; client.ends.length === 0; at++) {
    assert.ok(at < head.length, "it was waited for");
    await client.send(head.subarray(at, at + 1));
  }
  assert.deepEqual(client.ends, ["protocol_error"]);
});

Deno.test("an exchange counts heads and bodies as sent, without framing", async () => {
  using client = new MemoryClient(async (exchange) => {
    while (await exchange.body.read() !== null);
    await answers(() => bytesOf(20_000), 20_000)(exchange);
  });
  await client.greet();
  const head = headers(1, post("/"));
  await client.send(head, data(1, "x".repeat(9_000), { padding: 99 }));
  await client.send(data(1, "yz", { end: true }));
  const out = client.frames().filter(({ stream }) => stream === 1)
    .filter(({ type }) => type === FRAME.HEADERS || type === FRAME.DATA)
    .reduce((sum, { payload }) => sum + payload.length, 0);
  const [record] = client.ended;
  assert.deepEqual([record.bytesIn, record.bytesOut], [head.length - 9 + 9_002, out]);
  assert.deepEqual([record.method, record.version, record.status], ["POST", 20, 200]);
});

Deno.test("a closed connection reports the reason, and aborts exchanges in progress", async () => {
  const aborted: string[] = [];
  using client = new MemoryClient((exchange) =>
    new Promise<void>((resolve) => {
      exchange.cancellation.register(({ code, message }) => {
        aborted.push(`${code}: ${message}`);
        resolve();
      });
    })
  );
  await client.greet();
  await client.send(headers(1, get("/"), { end: true }));
  await client.send(windowUpdate(0, 0));
  const [goAway] = client.frames().filter(({ type }) => type === FRAME.GOAWAY);
  assert.equal(new TextDecoder().decode(goAway.payload.slice(8)), "WINDOW_UPDATE of 0");
  assert.deepEqual([...goAway.payload.slice(0, 8)], [0, 0, 0, 1, 0, 0, 0, CODE.PROTOCOL_ERROR]);
  assert.deepEqual(aborted, ["client_gone: PROTOCOL_ERROR: WINDOW_UPDATE of 0"]);
  assert.deepEqual(client.ends, ["protocol_error"]);
});

Deno.test("a client that stops its uploads after the response has not reset anything", async () => {
  using client = new MemoryClient(answers(() => bytesOf(3), 3), { http2Resets: 2 });
  await client.greet();
  for (let id = 1; id < 21; id += 2) {
    await client.send(headers(id, post("/")));
    await client.send(rstStream(id));
  }
  assert.deepEqual(client.ends, []);
  assert.equal(client.ended.filter(({ status }) => status === 200).length, 10);
});
