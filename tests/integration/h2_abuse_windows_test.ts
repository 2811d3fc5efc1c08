/**
 * Clients that hold resources: windows that stay closed or open by one byte (CVE-2019-9517),
 * sockets that are not read, streams that are opened and left; and window updates that violate RFC
 * 9113 §6.9, on either side.
 */
import assert from "node:assert/strict";
import { ABUSE_TEXTS } from "../../proxy/http2/abuse.ts";
import { until } from "../support/backend.ts";
import {
  CODE,
  data,
  DEFAULT_WINDOW,
  FRAME,
  get,
  headers,
  post,
  repeat,
  rstStream,
  SETTING,
  settings,
  windowUpdate,
} from "../support/h2_frames.ts";
import { codeName, type H2Peer } from "../support/h2_peer.ts";
import { H2Scene } from "../support/h2_scene.ts";

const STREAMS = 128;
const MAX_WINDOW = 0x7fffffff;

/** As many requests for an answer without end as a connection may have. */
function askAll(peer: H2Peer, count = STREAMS): Promise<boolean> {
  return peer.send(
    repeat(count, () => headers(peer.nextStream(), get("/big"), { end: true })),
  );
}

/**
 * All have reached the backend; or the write timeout was over before, as where this process, which
 * is the client too, stood still for longer.
 */
async function allAsked(scene: H2Scene): Promise<void> {
  const { origin, proxy } = scene;
  await until("one is asked for", () => origin.hits > 0);
  await until(
    "all are asked for",
    () => origin.hits === STREAMS || proxy.proxy.server.connectionCount <= 1,
  );
}

// ── Clients that take nothing, or hardly anything ─────────────────────────────────────────────

const HASTY = { writeTimeout: 300 };

Deno.test("windows of zero: each stream is reset after the write timeout", async () => {
  await using scene = new H2Scene(HASTY);
  await scene.startCanary();
  const peer = await scene.connect({ settings: [[SETTING.INITIAL_WINDOW_SIZE, 0]] });
  await askAll(peer);
  await allAsked(scene);
  await scene.settled();
  assert.equal(peer.count(FRAME.DATA), 0);
  await scene.checkCanary();
});

Deno.test("windows of zero that open before the timeout are accepted", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect({ settings: [[SETTING.INITIAL_WINDOW_SIZE, 0]] });
  const stream = peer.nextStream();
  await peer.send(headers(stream, get("/ok"), { end: true }));
  await peer.until("a head", () => peer.stream(stream).status === 200);
  assert.equal(peer.stream(stream).bytes, 0);
  await peer.send(windowUpdate(stream, 1));
  await peer.until("a byte", () => peer.stream(stream).bytes === 1);
  await peer.send(windowUpdate(stream, 1));
  assert.equal((await peer.answer(stream)).body, "ok");
});

Deno.test("a connection window that never opens: its streams are reset", async () => {
  await using scene = new H2Scene(HASTY);
  await scene.startCanary();
  const peer = await scene.connect({ keepsWindows: true });
  await askAll(peer);
  await allAsked(scene);
  await scene.settled();
  let bytes = 0;
  for (const message of peer.streams.values()) bytes += message.bytes;
  if (scene.origin.hits === STREAMS) assert.equal(bytes, DEFAULT_WINDOW);
  else assert.ok(bytes <= DEFAULT_WINDOW);
  await scene.checkCanary();
});

Deno.test("windows that open by single bytes are a flood of WINDOW_UPDATE", async () => {
  await using scene = new H2Scene();
  await scene.startCanary();
  const peer = await scene.connect({ settings: [[SETTING.INITIAL_WINDOW_SIZE, 1]] });
  await askAll(peer, 10);
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "ENHANCE_YOUR_CALM");
  assert.equal(peer.goAway?.debug, ABUSE_TEXTS.control_frames);
  assert.deepEqual(await scene.ends(), { control_frames: 1 });
  const frames = peer.count(FRAME.DATA);
  assert.ok(frames >= 400 && frames <= 2_000, `${frames} frames of DATA`);
  console.log(`figure: 1-byte windows: cut after ${frames} frames of DATA`);
  await scene.settled();
  await scene.checkCanary();
});

Deno.test("windows that open by a byte now and then are below the minimum rate", async () => {
  await using scene = new H2Scene({ writeTimeout: 300, writeRate: 240 });
  await scene.startCanary();
  const peer = await scene.connect({
    settings: [[SETTING.INITIAL_WINDOW_SIZE, 0]],
    keepsWindows: true,
  });
  const stream = peer.nextStream();
  await peer.send(headers(stream, get("/big"), { end: true }));
  await peer.until("a head", () => peer.stream(stream).status === 200);
  while (!peer.stream(stream).over && peer.ending === "") {
    await peer.send(windowUpdate(stream, 1));
    await new Promise((resume) => setTimeout(resume, 30));
  }
  await scene.settled();
  assert.ok(peer.stream(stream).bytes < 1_000);
  await scene.checkCanary();
});

Deno.test("a client that does not read its socket is closed after the write timeout", async () => {
  await using scene = new H2Scene({ writeTimeout: 500 });
  await scene.startCanary();
  const peer = await scene.connect({
    deaf: true,
    settings: [[SETTING.INITIAL_WINDOW_SIZE, MAX_WINDOW]],
  });
  await peer.send(windowUpdate(0, MAX_WINDOW - DEFAULT_WINDOW));
  await askAll(peer);
  await allAsked(scene);
  await scene.settled();
  await scene.checkCanary();
  await until("its connection is forgotten", () => scene.proxy.proxy.server.connectionCount <= 1);
});

Deno.test("tens of thousands of abandoned streams end at their body timeout", async () => {
  await using scene = new H2Scene({ bodyTimeout: 1_000 });
  await scene.startCanary();
  const peers: H2Peer[] = [];
  for (let i = 0; i < 40; i++) {
    const peer = await scene.connect();
    peers.push(peer);
    await peer.send(repeat(500, () => headers(peer.nextStream(), post("/hold"))));
  }
  // 20,000 are asked for; those past what a connection may have are refused, until that is abuse.
  for (const peer of peers) await peer.ended();
  for (const { goAway } of peers) assert.equal(goAway?.debug, ABUSE_TEXTS.resets);
  assert.deepEqual(await scene.ends(), { resets: peers.length });
  assert.ok(scene.origin.mostHeld <= STREAMS * peers.length);
  await scene.settled();
  await scene.checkCanary();
});

Deno.test("as many abandoned streams as allowed get 408", async () => {
  await using scene = new H2Scene({ bodyTimeout: 300 });
  await scene.startCanary();
  const peer = await scene.connect();
  await peer.send(repeat(STREAMS, () => headers(peer.nextStream(), post("/hold"))));
  await until("all are asked for", () => scene.origin.hits === STREAMS);
  await scene.settled();
  // Each is answered, and then told to stop: until then it has its place.
  await peer.until("all resets", () => peer.count(FRAME.RST_STREAM) === STREAMS);
  for (const { status, reset } of peer.streams.values()) {
    assert.deepEqual([status, codeName(reset)], [408, "NO_ERROR"]);
  }
  assert.equal((await peer.ask("/ok")).body, "ok");
  await scene.checkCanary();
});

for (const leaves of ["closes", "half-closes"] as const) {
  Deno.test(`a client ${leaves} its socket with open streams: the backend's side ends`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    await peer.send(repeat(50, () => headers(peer.nextStream(), get("/hold"), { end: true })));
    await until("all are asked for", () => scene.origin.held === 50);
    if (leaves === "closes") peer.close();
    else await peer.finish();
    await scene.settled();
    await until("it is forgotten", () => scene.proxy.proxy.server.connectionCount === 0);
  });
}

// ── Windows against the rules ─────────────────────────────────────────────────────────────────

const STREAM_WINDOW = 64 * 1024;
const CONNECTION_WINDOW = 1024 * 1024;
const WINDOWS = { http2StreamWindow: STREAM_WINDOW, http2ConnectionWindow: CONNECTION_WINDOW };
const PART = 16_384;

/** A body's bytes in frames of full size, padding included. */
function dataOf(stream: number, bytes: number): Uint8Array {
  return repeat(
    Math.ceil(bytes / PART),
    (i) => data(stream, new Uint8Array(Math.min(PART, bytes - i * PART))),
  );
}

/** What the proxy has granted besides the first windows: bytes by stream. */
function granted(peer: H2Peer, stream: number): number {
  let sum = 0;
  for (const { type, stream: on, payload } of peer.frames) {
    if (type !== FRAME.WINDOW_UPDATE || on !== stream) continue;
    sum += new DataView(payload.buffer).getUint32(0);
  }
  return sum;
}

Deno.test("data buffered for a backend is bounded by the windows, which are announced at once", async () => {
  await using scene = new H2Scene(WINDOWS, true);
  const peer = await scene.connect();
  await peer.until("SETTINGS", () => peer.count(FRAME.SETTINGS) > 0);
  assert.ok(await peer.isAlive());
  assert.equal(peer.setting(SETTING.INITIAL_WINDOW_SIZE), STREAM_WINDOW);
  assert.equal(DEFAULT_WINDOW + granted(peer, 0), CONNECTION_WINDOW);
  for (let i = 0; i < CONNECTION_WINDOW / STREAM_WINDOW; i++) {
    const stream = peer.nextStream();
    await peer.send(headers(stream, post("/hold")), dataOf(stream, STREAM_WINDOW));
  }
  assert.ok(await peer.isAlive());
  // Nobody has taken a byte of them: no more room.
  assert.equal(DEFAULT_WINDOW + granted(peer, 0), CONNECTION_WINDOW);
  const stream = peer.nextStream();
  await peer.send(headers(stream, post("/hold")), data(stream, "x"));
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "FLOW_CONTROL_ERROR");
  assert.deepEqual(await scene.ends(), { flow_control_error: 1 });
});

for (
  const [says, bytes] of [
    ["a byte more than a stream's window", () => [dataOf(1, STREAM_WINDOW), data(1, "x")]],
    [
      "a frame across the window's end",
      () => [dataOf(1, STREAM_WINDOW - 10), data(1, "x".repeat(11))],
    ],
    [
      "padding across the window's end",
      () => [dataOf(1, STREAM_WINDOW - 10), data(1, "x", { padding: 9 })],
    ],
  ] as const
) {
  Deno.test(`${says} is FLOW_CONTROL_ERROR`, async () => {
    await using scene = new H2Scene(WINDOWS, true);
    const peer = await scene.connect();
    await peer.send(headers(1, post("/hold")), ...bytes());
    await peer.until("an end", () => peer.stream(1).over);
    assert.equal(codeName(peer.goAway?.code ?? peer.stream(1).reset), "FLOW_CONTROL_ERROR");
  });
}

Deno.test("padding up to the end of the window is accepted", async () => {
  await using scene = new H2Scene(WINDOWS, true);
  const peer = await scene.connect();
  await peer.send(
    headers(1, post("/hold")),
    dataOf(1, STREAM_WINDOW - 10),
    data(1, "x", { padding: 8 }),
  );
  assert.ok(await peer.isAlive());
  assert.ok(!peer.stream(1).over);
});

Deno.test("windows are restored, padding included, so that an upload can continue forever", async () => {
  await using scene = new H2Scene({ ...WINDOWS, http2StreamWindow: 16_384 });
  const peer = await scene.connect();
  await peer.until("SETTINGS", () => peer.count(FRAME.SETTINGS) > 0);
  await peer.send(headers(1, post("/sink")));
  let sent = 0;
  // Ten times both windows; a frame is 600 bytes, 512 of them data.
  while (sent < 10 * CONNECTION_WINDOW) {
    const room = () =>
      Math.min(16_384 + granted(peer, 1), DEFAULT_WINDOW + granted(peer, 0)) - sent;
    await peer.until("room", () => room() >= 600);
    assert.equal(peer.goAway, null);
    const count = Math.floor(room() / 600);
    await peer.send(repeat(count, () => data(1, new Uint8Array(512), { padding: 87 })));
    sent += count * 600;
  }
  await peer.send(data(1, "", { end: true }));
  assert.equal((await peer.answer(1)).body, String(sent / 600 * 512));
});

Deno.test("the window of a stream that is reset with an unread body returns to the connection", async () => {
  await using scene = new H2Scene({ ...WINDOWS, http2Resets: 1_000 }, true);
  const peer = await scene.connect();
  for (let i = 0; i < 64; i++) {
    const stream = peer.nextStream();
    await peer.send(headers(stream, post("/hold")), dataOf(stream, STREAM_WINDOW));
    await peer.send(rstStream(stream));
    assert.ok(await peer.isAlive());
    await peer.until(
      "room for the next",
      () => DEFAULT_WINDOW + granted(peer, 0) - (i + 1) * STREAM_WINDOW >= STREAM_WINDOW,
    );
  }
});

const OVERFLOWS: readonly (readonly [string, (peer: H2Peer) => Uint8Array[], keyof typeof CODE])[] =
  [
    [
      "a connection's window above 2^31-1",
      () => [windowUpdate(0, MAX_WINDOW - DEFAULT_WINDOW + 1)],
      "FLOW_CONTROL_ERROR",
    ],
    [
      "a connection's window above 2^31-1 in two steps",
      () => [windowUpdate(0, MAX_WINDOW - DEFAULT_WINDOW), windowUpdate(0, 1)],
      "FLOW_CONTROL_ERROR",
    ],
    ["a connection's window opened by 0", () => [windowUpdate(0, 0)], "PROTOCOL_ERROR"],
    [
      "a first window above 2^31-1",
      () => [settings([[SETTING.INITIAL_WINDOW_SIZE, MAX_WINDOW + 1]])],
      "FLOW_CONTROL_ERROR",
    ],
    [
      "a first window that takes a stream's above 2^31-1",
      () => [
        headers(1, get("/hold"), { end: true }),
        windowUpdate(1, 1),
        settings([[SETTING.INITIAL_WINDOW_SIZE, MAX_WINDOW]]),
      ],
      "FLOW_CONTROL_ERROR",
    ],
  ];

for (const [says, parts, code] of OVERFLOWS) {
  Deno.test(`${says} closes the connection: ${code}`, async () => {
    await using scene = new H2Scene();
    await scene.startCanary();
    const peer = await scene.connect();
    await peer.send(...parts(peer));
    await peer.ended();
    assert.equal(codeName(peer.goAway?.code), code);
    assert.notEqual(peer.goAway?.debug, "");
    assert.deepEqual(await scene.ends(), { [code.toLowerCase()]: 1 });
    await scene.settled();
    await scene.checkCanary();
  });
}

Deno.test("a stream window above 2^31-1 resets only that stream", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(headers(1, get("/hold"), { end: true }), windowUpdate(1, MAX_WINDOW));
  await peer.until("its reset", () => peer.stream(1).over);
  assert.equal(codeName(peer.stream(1).reset), "FLOW_CONTROL_ERROR");
  assert.equal((await peer.ask("/ok")).body, "ok");
  await scene.settled();
});

Deno.test("a negative window opens once its deficit is returned (§6.9.2)", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect({ keepsWindows: true });
  await peer.send(windowUpdate(0, 1_000_000), headers(1, get("/big"), { end: true }));
  const at = (bytes: number) => peer.until(`${bytes} bytes`, () => peer.stream(1).bytes >= bytes);
  await at(DEFAULT_WINDOW);
  await peer.send(settings([[SETTING.INITIAL_WINDOW_SIZE, 0]]));
  await peer.send(windowUpdate(1, DEFAULT_WINDOW));
  assert.ok(await peer.isAlive());
  assert.equal(peer.stream(1).bytes, DEFAULT_WINDOW);
  await peer.send(windowUpdate(1, 10));
  await at(DEFAULT_WINDOW + 10);
  await peer.send(settings([[SETTING.INITIAL_WINDOW_SIZE, 5]]));
  await at(DEFAULT_WINDOW + 15);
  assert.ok(await peer.isAlive());
  assert.equal(peer.stream(1).bytes, DEFAULT_WINDOW + 15);
});

Deno.test("a stream whose client does not read blocks no other", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect({ keepsWindows: true });
  // Ten streams with their windows used up, and room in the connection for more.
  await peer.send(windowUpdate(0, 10_000_000));
  await askAll(peer, 10);
  await peer.until("all have stopped", () =>
    peer.streams.size === 10 &&
    [...peer.streams.values()].every(({ bytes }) => bytes === DEFAULT_WINDOW));
  for (let i = 0; i < 20; i++) assert.equal((await peer.ask("/ok")).body, "ok");
  // And ten uploads that nobody takes.
  assert.ok(await peer.isAlive());
});

Deno.test("uploads that no backend reads block no other stream", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const open: number[] = [];
  for (let i = 0; i < 10; i++) {
    const stream = peer.nextStream();
    open.push(stream);
    await peer.send(headers(stream, post("/hold")), dataOf(stream, 32 * 1024));
  }
  for (let i = 0; i < 20; i++) assert.equal((await peer.ask("/ok")).body, "ok");
  for (const stream of open) assert.ok(!peer.stream(stream).over);
});
