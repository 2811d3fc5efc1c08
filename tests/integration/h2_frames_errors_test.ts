/**
 * Frames that violate RFC 9113: which end the connection, with which code, which reset only their
 * stream, and which are ignored (windows, §6.9; states, §5.1; push and priorities). h2spec accepts
 * several outcomes; these are ours.
 */
import assert from "node:assert/strict";
import {
  CODE,
  continuation,
  data,
  FRAME,
  frame,
  get,
  goAway,
  headers,
  join,
  literals,
  ping,
  post,
  priority,
  priorityOn,
  repeat,
  request,
  rstStream,
  SETTING,
  settings,
  u32,
  windowUpdate,
} from "../support/h2_frames.ts";
import { bytesOf } from "../support/latin1.ts";
import { codeName, type H2Peer } from "../support/h2_peer.ts";
import { H2Scene } from "../support/h2_scene.ts";

type Code = keyof typeof CODE;

const HEAD = literals(get("/hold"));
const open = headers(1, post("/hold"));

const ENDS: readonly (readonly [says: string, code: Code, parts: readonly Uint8Array[]])[] = [
  ["DATA on no stream", "PROTOCOL_ERROR", [data(0, "x")]],
  ["HEADERS on no stream", "PROTOCOL_ERROR", [headers(0, HEAD)]],
  ["PRIORITY on no stream", "PROTOCOL_ERROR", [priority(0)]],
  ["RST_STREAM on no stream", "PROTOCOL_ERROR", [rstStream(0)]],
  ["CONTINUATION on no stream", "PROTOCOL_ERROR", [continuation(0, HEAD)]],
  ["SETTINGS on a stream", "PROTOCOL_ERROR", [frame(FRAME.SETTINGS, 0, 1)]],
  ["PING on a stream", "PROTOCOL_ERROR", [frame(FRAME.PING, 0, 1, new Uint8Array(8))]],
  ["GOAWAY on a stream", "PROTOCOL_ERROR", [frame(FRAME.GOAWAY, 0, 1, new Uint8Array(8))]],
  ["DATA on an idle stream", "PROTOCOL_ERROR", [data(1, "x")]],
  ["RST_STREAM on an idle stream", "PROTOCOL_ERROR", [rstStream(1)]],
  ["WINDOW_UPDATE on an idle stream", "PROTOCOL_ERROR", [windowUpdate(1, 1)]],
  ["WINDOW_UPDATE on an even stream", "PROTOCOL_ERROR", [windowUpdate(2, 1)]],
  ["CONTINUATION without HEADERS", "PROTOCOL_ERROR", [continuation(1, HEAD)]],
  ["CONTINUATION behind a whole head", "PROTOCOL_ERROR", [headers(1, HEAD), continuation(1, HEAD)]],
  ["CONTINUATION of another stream", "PROTOCOL_ERROR", [
    headers(1, HEAD, { endHeaders: false }),
    continuation(3, HEAD),
  ]],
  ["DATA within a head", "PROTOCOL_ERROR", [headers(1, HEAD, { endHeaders: false }), data(1, "x")]],
  ["PING within a head", "PROTOCOL_ERROR", [headers(1, HEAD, { endHeaders: false }), ping()]],
  ["an unknown frame within a head", "PROTOCOL_ERROR", [
    headers(1, HEAD, { endHeaders: false }),
    frame(0xfa, 0, 1),
  ]],
  ["HEADERS within a head", "PROTOCOL_ERROR", [
    headers(1, HEAD, { endHeaders: false }),
    headers(3, HEAD),
  ]],
  ["PUSH_PROMISE", "PROTOCOL_ERROR", [open, frame(FRAME.PUSH_PROMISE, 4, 1, join(u32(2), HEAD))]],
  ["a stream with an even id", "PROTOCOL_ERROR", [headers(2, HEAD, { end: true })]],
  ["a stream with an id below the last", "PROTOCOL_ERROR", [
    headers(5, HEAD, { end: true }),
    headers(3, HEAD, { end: true }),
  ]],
  ["PING of seven bytes", "FRAME_SIZE_ERROR", [frame(FRAME.PING, 0, 0, new Uint8Array(7))]],
  ["PING of nine bytes", "FRAME_SIZE_ERROR", [frame(FRAME.PING, 0, 0, new Uint8Array(9))]],
  ["SETTINGS of five bytes", "FRAME_SIZE_ERROR", [frame(FRAME.SETTINGS, 0, 0, new Uint8Array(5))]],
  ["an acknowledgement of SETTINGS with bytes", "FRAME_SIZE_ERROR", [
    frame(FRAME.SETTINGS, 1, 0, new Uint8Array(6)),
  ]],
  ["RST_STREAM of three bytes", "FRAME_SIZE_ERROR", [
    open,
    frame(FRAME.RST_STREAM, 0, 1, new Uint8Array(3)),
  ]],
  ["WINDOW_UPDATE of three bytes", "FRAME_SIZE_ERROR", [
    frame(FRAME.WINDOW_UPDATE, 0, 0, new Uint8Array(3)),
  ]],
  ["GOAWAY of seven bytes", "FRAME_SIZE_ERROR", [frame(FRAME.GOAWAY, 0, 0, new Uint8Array(7))]],
  ["HEADERS above the frame size", "FRAME_SIZE_ERROR", [
    frame(FRAME.HEADERS, 4, 1, new Uint8Array(16_385)),
  ]],
  ["SETTINGS above the frame size", "FRAME_SIZE_ERROR", [
    frame(FRAME.SETTINGS, 0, 0, new Uint8Array(16_386)),
  ]],
  ["an unknown frame above the frame size", "FRAME_SIZE_ERROR", [
    frame(0xfa, 0, 0, new Uint8Array(16_385)),
  ]],
  ["a frame of 16 MiB, by its header", "FRAME_SIZE_ERROR", [
    frame(FRAME.DATA, 0, 1, new Uint8Array(100), 0xffffff),
  ]],
  ["HEADERS with more padding than bytes", "PROTOCOL_ERROR", [
    frame(FRAME.HEADERS, 4 | 8, 1, join(Uint8Array.of(200), HEAD.subarray(0, 20))),
  ]],
  ["DATA with as much padding as bytes", "PROTOCOL_ERROR", [
    open,
    frame(FRAME.DATA, 8, 1, Uint8Array.of(4, 0, 0, 0)),
  ]],
  ["padded DATA without a length of padding", "FRAME_SIZE_ERROR", [open, frame(FRAME.DATA, 8, 1)]],
  ["HEADERS without the bytes of its priority", "FRAME_SIZE_ERROR", [
    frame(FRAME.HEADERS, 4 | 0x20, 1, new Uint8Array(4)),
  ]],
  ["ENABLE_PUSH of 2", "PROTOCOL_ERROR", [settings([[SETTING.ENABLE_PUSH, 2]])]],
  ["MAX_FRAME_SIZE of 100", "PROTOCOL_ERROR", [settings([[SETTING.MAX_FRAME_SIZE, 100]])]],
  ["MAX_FRAME_SIZE of 16 MiB", "PROTOCOL_ERROR", [settings([[SETTING.MAX_FRAME_SIZE, 1 << 24]])]],
];

/** Where §6.1 and §4.2 leave room: these may be either. */
const SIZE_OR_PROTOCOL = /without a length of padding|bytes of its priority/;

for (const [says, code, parts] of ENDS) {
  Deno.test(`${says} closes the connection: ${code}`, async () => {
    await using scene = new H2Scene();
    await scene.startCanary();
    const peer = await scene.connect();
    await peer.send(...parts);
    await peer.ended();
    const name = codeName(peer.goAway?.code);
    if (SIZE_OR_PROTOCOL.test(says)) assert.match(name, /^(FRAME_SIZE|PROTOCOL)_ERROR$/);
    else assert.equal(name, code);
    assert.match(peer.goAway!.debug, /^[ -~]{4,}$/);
    assert.deepEqual(await scene.ends(), { [name.toLowerCase()]: 1 });
    await scene.settled();
    await scene.checkCanary();
  });
}

Deno.test("a client that uses even stream ids gets the reason", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(headers(2, HEAD, { end: true }));
  await peer.ended();
  assert.equal(peer.goAway?.debug, "HEADERS on a stream of an even number");
});

/** What comes behind a stream's end, and the code; the connection may end by it (§5.1). */
const CLOSED: readonly (readonly [says: string, behind: (stream: number) => Uint8Array])[] = [
  ["DATA", (stream) => data(stream, "x")],
  ["HEADERS", (stream) => headers(stream, literals([["a", "b"]]), { end: true })],
  ["a second request", (stream) => headers(stream, get("/ok"), { end: true })],
];

for (const [says, behind] of CLOSED) {
  Deno.test(`${says} after END_STREAM, before the response, is STREAM_CLOSED`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    await peer.send(headers(1, get("/hold"), { end: true }), behind(1));
    await peer.until("an end", () => peer.stream(1).over);
    assert.equal(codeName(peer.goAway?.code ?? peer.stream(1).reset), "STREAM_CLOSED");
    await scene.settled();
  });

  Deno.test(`${says} on a completed stream is not a request`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    assert.equal((await peer.ask("/ok")).body, "ok");
    await peer.send(behind(1));
    const alive = await peer.isAlive();
    if (!alive) assert.equal(codeName(peer.goAway?.code), "STREAM_CLOSED");
    assert.equal(scene.origin.hits, 1);
  });

  Deno.test(`${says} after the client's own RST_STREAM is not a request`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    await peer.send(headers(1, post("/hold")), rstStream(1), behind(1));
    const alive = await peer.isAlive();
    if (!alive) assert.equal(codeName(peer.goAway?.code), "STREAM_CLOSED");
    await scene.settled();
    assert.ok(scene.origin.hits <= 1);
  });
}

Deno.test("frames in transit to a stream that we have reset are accepted", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(
    headers(1, post("/hold", [["content-length", "1"]])),
    data(1, "too long"),
    data(1, "x".repeat(1000)),
    windowUpdate(1, 100),
    headers(1, [["x-sum", "1"]], { end: true }),
    rstStream(1),
  );
  assert.equal(codeName((await peer.answer(1)).reset), "PROTOCOL_ERROR");
  assert.equal((await peer.ask("/ok")).body, "ok");
  assert.ok(await peer.isAlive());
});

const RESETS: readonly (readonly [says: string, code: Code, (stream: number) => Uint8Array])[] = [
  ["WINDOW_UPDATE of 0", "PROTOCOL_ERROR", (stream) => windowUpdate(stream, 0)],
  ["a window above 2^31-1", "FLOW_CONTROL_ERROR", (stream) => windowUpdate(stream, 0x7fffffff)],
  [
    "PRIORITY of four bytes",
    "FRAME_SIZE_ERROR",
    (stream) => frame(FRAME.PRIORITY, 0, stream, u32(0)),
  ],
  ["PRIORITY on itself", "PROTOCOL_ERROR", (stream) => priority(stream, stream)],
];

for (const [says, code, part] of RESETS) {
  Deno.test(`${says} resets only its stream: ${code}`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    const other = peer.nextStream();
    const stream = peer.nextStream();
    await peer.send(headers(other, post("/echo")));
    await peer.send(headers(stream, get("/hold"), { end: true }), part(stream));
    assert.equal(codeName((await peer.answer(stream)).reset), code);
    await peer.send(data(other, "abc", { end: true }));
    assert.match((await peer.answer(other)).body, /\r\n\r\nabc$/);
    await scene.settled();
  });
}

Deno.test("HEADERS that depend on themselves reset their stream, and the table stays in sync", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(headers(1, get("/hold"), { end: true, priority: priorityOn(1) }));
  assert.equal(codeName((await peer.answer(1)).reset), "PROTOCOL_ERROR");
  await peer.send(headers(3, get("/ok"), { end: true }));
  assert.equal((await peer.answer(3)).body, "ok");
  assert.equal(scene.origin.hits, 1);
});

const BORNE: readonly (readonly [says: string, (peer: H2Peer) => Uint8Array])[] = [
  ["PRIORITY on an idle stream", () => priority(101)],
  ["PRIORITY on a stream that depends on one that never was", () => priority(1, 99)],
  ["PRIORITY_UPDATE", () => frame(FRAME.PRIORITY_UPDATE, 0, 0, join(u32(1), bytesOf("u=0, i")))],
  [
    "PRIORITY_UPDATE that is no structured field",
    () => frame(FRAME.PRIORITY_UPDATE, 0, 0, join(u32(1), bytesOf("\xff\xff"))),
  ],
  ["unknown settings", () => settings([[0xabcd, 0xffffffff], [0, 1]])],
  [
    "the same setting twice",
    () => settings([[SETTING.INITIAL_WINDOW_SIZE, 0], [SETTING.INITIAL_WINDOW_SIZE, 65_535]]),
  ],
  ["MAX_CONCURRENT_STREAMS of 0", () => settings([[SETTING.MAX_CONCURRENT_STREAMS, 0]])],
  ["ENABLE_PUSH of 1", () => settings([[SETTING.ENABLE_PUSH, 1]])],
  ["an acknowledgement of a PING that was not sent", () => ping(5, true)],
  ["RST_STREAM with a code that nobody knows", (peer) => {
    const stream = peer.nextStream();
    return join(headers(stream, get("/hold"), { end: true }), rstStream(stream, 0xdeadbeef));
  }],
];

for (const [says, part] of BORNE) {
  Deno.test(`${says} is accepted`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    await peer.send(part(peer));
    assert.equal((await peer.ask("/ok")).body, "ok");
    assert.ok(await peer.isAlive());
    await scene.settled();
  });
}

Deno.test("streams over the limit are refused, others continue, and closed ones make room", async () => {
  await using scene = new H2Scene({ http2Streams: 5 });
  const peer = await scene.connect();
  await peer.until("SETTINGS", () => peer.count(FRAME.SETTINGS) > 0);
  assert.equal(peer.setting(SETTING.MAX_CONCURRENT_STREAMS), 5);
  await peer.send(repeat(8, (i) => headers(1 + 2 * i, post("/echo"))));
  await peer.until("three refusals", () => peer.count(FRAME.RST_STREAM) === 3);
  for (const stream of [11, 13, 15]) {
    assert.equal(codeName(peer.stream(stream).reset), "REFUSED_STREAM");
  }
  for (const stream of [1, 3, 5, 7, 9]) {
    await peer.send(data(stream, "abc", { end: true }));
    assert.match((await peer.answer(stream)).body, /\r\n\r\nabc$/);
  }
  assert.equal(scene.origin.hits, 5);
  await peer.send(headers(17, get("/ok"), { end: true }));
  assert.equal((await peer.answer(17)).body, "ok");
});

Deno.test("a refused stream's head still updates the HPACK table", async () => {
  await using scene = new H2Scene({ http2Streams: 1 });
  const peer = await scene.connect();
  const named = join(literals(get("/echo")), bytesOf("\x40\x03x-a\x01b"));
  await peer.send(headers(1, post("/echo")), headers(3, named, { end: true }));
  assert.equal(codeName((await peer.answer(3)).reset), "REFUSED_STREAM");
  await peer.send(data(1, "", { end: true }));
  await peer.answer(1);
  await peer.send(
    headers(5, join(literals(get("/echo")), Uint8Array.of(0x80 | 62)), { end: true }),
  );
  assert.match((await peer.answer(5)).body, /x-a: b/i);
});

Deno.test("a client's GOAWAY lets open streams finish", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(headers(1, post("/echo")), goAway(0));
  await peer.send(data(1, "abc", { end: true }));
  assert.match((await peer.answer(1)).body, /\r\n\r\nabc$/);
});

Deno.test("PING is acknowledged with its own bytes, and SETTINGS before later frames", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const bytes = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 255);
  await peer.send(settings(), frame(FRAME.PING, 0, 0, bytes));
  await peer.until("PING", () => peer.count(FRAME.PING) === 1);
  const at = peer.frames.findIndex(({ type }) => type === FRAME.PING);
  assert.deepEqual([...peer.frames[at].payload], [...bytes]);
  assert.equal(peer.frames[at].flags, 1);
  const acks = peer.frames.slice(0, at).filter(({ type, flags }) => type === 4 && flags === 1);
  assert.equal(acks.length, 2);
});

Deno.test("PING is acknowledged while all windows are closed and streams wait", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect({ settings: [[SETTING.INITIAL_WINDOW_SIZE, 0]] });
  await peer.send(repeat(20, () => headers(peer.nextStream(), get("/big"), { end: true })));
  await peer.until("all heads", () => peer.count(FRAME.HEADERS) === 20);
  assert.ok(await peer.isAlive());
});

Deno.test("OPTIONS * reaches no backend", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(headers(1, request("OPTIONS", "*"), { end: true }));
  const message = await peer.answer(1);
  assert.ok(message.over);
  assert.equal(scene.origin.hits, 0);
  assert.equal((await peer.ask("/ok")).body, "ok");
});
