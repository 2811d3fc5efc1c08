/**
 * Clients that send many cheap frames (rapid reset, CVE-2023-44487; MadeYouReset, CVE-2025-8671;
 * PING and SETTINGS floods, CVE-2019-9512 and 9515; empty frames, CVE-2019-9518; streams over the
 * limit): where each is cut, what reaches the backend, and that other connections are not affected.
 */
import assert from "node:assert/strict";
import { until } from "../support/backend.ts";
import { ABUSE_TEXTS } from "../../proxy/http2/abuse.ts";
import {
  byPings,
  byResets,
  closedStream,
  flood,
  FLOODS,
  PINGED,
  STREAMS,
} from "../support/h2_floods.ts";
import {
  continuation,
  FRAME,
  frame,
  get,
  headers,
  join,
  ping,
  priorityOn,
  rstStream,
} from "../support/h2_frames.ts";
import { codeName } from "../support/h2_peer.ts";
import { H2Scene } from "../support/h2_scene.ts";

for (const reads of [true, false]) {
  for (const attack of FLOODS) {
    const { says, reason, limit, count, sent, before } = attack;
    Deno.test(`${says}, ${reads ? "" : "not "}reading: closed as ${reason} after ${limit}`, async () => {
      await using scene = new H2Scene({ http2Streams: STREAMS });
      await scene.startCanary();
      const peer = await scene.connect({ deaf: !reads });
      if (!reads && before === closedStream) peer.read();
      await before?.(peer);
      // Who does not read does not learn that it has been cut.
      await flood(peer, attack, reads ? sent : Math.min(sent, 10_000));
      peer.read();
      await peer.ended();
      assert.deepEqual(peer.goAway && [codeName(peer.goAway.code), peer.goAway.debug], [
        "ENHANCE_YOUR_CALM",
        ABUSE_TEXTS[reason],
      ]);
      const taken = count(peer);
      const share = count === byPings ? 4 * PINGED : 1;
      assert.ok(taken >= limit - share && taken <= 2 * limit, `cut after ${taken}`);
      assert.deepEqual(await scene.ends(), { [reason]: 1 });
      assert.ok(scene.origin.mostHeld <= STREAMS, `${scene.origin.mostHeld} at once`);
      await scene.settled();
      await scene.checkCanary();
      console.log(
        `figure: ${says}, ${reads ? "reading" : "deaf"}: ${taken} of ${sent}, ` +
          `${scene.origin.hits} reach the backend`,
      );
    });
  }
}

for (const attack of FLOODS) {
  const { says, limit, before } = attack;
  const within = Math.floor(limit * 0.8);
  Deno.test(`${within} times "${says}" are accepted`, async () => {
    await using scene = new H2Scene({ http2Streams: STREAMS });
    const peer = await scene.connect();
    await before?.(peer);
    await flood(peer, attack, within);
    assert.ok(await peer.isAlive(), `${codeName(peer.goAway?.code)} ${peer.goAway?.debug}`);
    assert.deepEqual(await scene.ends(), {});
  });
}

Deno.test("resets by the client and those it causes share one count", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const [mine] = FLOODS;
  const yours = FLOODS.find(({ says }) => says.includes("WINDOW_UPDATE of 0"))!;
  await flood(peer, mine, 60);
  assert.ok(await peer.isAlive());
  await flood(peer, yours, 2_000);
  await peer.ended();
  assert.equal(peer.goAway?.debug, ABUSE_TEXTS.resets);
  assert.ok(byResets(peer) < 100, `${byResets(peer)} more`);
});

Deno.test("reset streams count as open until the backend is done with them", async () => {
  const limits = { http2Resets: 1_000_000, http2ControlFrames: 1_000_000, http2Streams: 10 };
  await using scene = new H2Scene(limits);
  await scene.startCanary();
  const peer = await scene.connect();
  await flood(peer, FLOODS[0], 3_000);
  for (let round = 0; round < 50; round++) {
    const streams = Array.from({ length: 10 }, () => peer.nextStream());
    const { hits } = scene.origin;
    await peer.send(...streams.map((stream) => headers(stream, get("/hold"), { end: true })));
    await until(
      "one is with the backend, or all are refused",
      () => scene.origin.hits > hits || streams.every((stream) => peer.stream(stream).over),
    );
    await peer.send(...streams.map((stream) => rstStream(stream)));
  }
  assert.ok(await peer.isAlive());
  assert.ok(scene.origin.mostHeld <= 2 * 10, `${scene.origin.mostHeld} requests at once`);
  await scene.settled();
  assert.equal((await peer.ask("/after")).body, "ok");
  await scene.checkCanary();
});

Deno.test("requests that are reset once the backend has them are cut as early, and cancelled there", async () => {
  await using scene = new H2Scene();
  await scene.startCanary();
  const peer = await scene.connect();
  const batch = 50;
  for (let round = 0; round < 20 && peer.goAway === null; round++) {
    const streams = Array.from({ length: batch }, () => peer.nextStream());
    await peer.send(...streams.map((stream) => headers(stream, get("/hold"), { end: true })));
    await until("all are asked for", () => scene.origin.held >= batch || peer.goAway !== null);
    await peer.send(...streams.map((stream) => rstStream(stream)));
    await scene.settled();
  }
  await peer.ended();
  assert.equal(peer.goAway?.debug, ABUSE_TEXTS.resets);
  assert.ok(scene.origin.hits <= 6 * batch, `${scene.origin.hits} reached the backend`);
  assert.ok(scene.origin.mostHeld <= STREAMS);
  await scene.checkCanary();
  console.log(`figure: taken back from the backend: ${scene.origin.hits} reached it`);
});

Deno.test("every completed request offsets one that is not", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  for (let i = 0; i < 300; i++) {
    const stream = peer.nextStream();
    await peer.send(headers(stream, get("/hold"), { end: true }), rstStream(stream));
    assert.equal((await peer.ask("/ok")).status, 200);
  }
  assert.ok(await peer.isAlive());
});

Deno.test("requests that are cancelled after a second are not abuse, however many", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  for (let round = 0; round < 2; round++) {
    const streams = Array.from({ length: 120 }, () => peer.nextStream());
    await peer.send(...streams.map((stream) => headers(stream, get("/hold"), { end: true })));
    await until("all are asked for", () => scene.origin.held === streams.length);
    // As a deadline of gRPC's that passes.
    await new Promise((resume) => setTimeout(resume, 1_200));
    await peer.send(...streams.map((stream) => rstStream(stream)));
    await scene.settled();
  }
  assert.ok(await peer.isAlive());
  assert.equal((await peer.ask("/ok")).body, "ok");
});

Deno.test("unread acknowledgements are limited strictly, control frames loosely", async () => {
  await using scene = new H2Scene({ http2ControlFrames: 1_000_000 });
  const peer = await scene.connect({ deaf: true });
  const pings = join(...Array.from({ length: 2_000 }, (_, i) => ping(i)));
  for (let i = 0; i < 400; i++) if (!await peer.send(pings)) break;
  peer.read();
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "ENHANCE_YOUR_CALM");
  assert.equal(peer.goAway?.debug, ABUSE_TEXTS.unread_acks);
  assert.deepEqual(await scene.ends(), { unread_acks: 1 });
});

Deno.test("a PING and two WINDOW_UPDATE for each DATA frame of a download are not a flood", async () => {
  await using scene = new H2Scene({ http2ControlFrames: 10 });
  const peer = await scene.connect();
  const stream = peer.nextStream();
  await peer.send(headers(stream, get("/big"), { end: true }));
  let answered = 0;
  while (answered < 500) {
    await peer.until("DATA", () => peer.stream(stream).dataFrames > answered);
    assert.equal(peer.goAway, null);
    const { dataFrames } = peer.stream(stream);
    for (; answered < dataFrames; answered++) await peer.send(ping(answered));
  }
  assert.ok(await peer.isAlive());
  await peer.send(rstStream(stream));
});

for (
  const [says, block] of [["full", new Uint8Array(1024)], ["empty", new Uint8Array(0)]] as const
) {
  Deno.test(`a flood of ${says} CONTINUATION frames closes the connection (CVE-2024-27316)`, async () => {
    await using scene = new H2Scene();
    await scene.startCanary();
    const peer = await scene.connect();
    // A block of zeros is a field without a name, over and over: never looked at before its end.
    await peer.send(headers(1, get("/hold"), { end: true, endHeaders: false }));
    for (let i = 0; i < 20_000 && peer.goAway === null; i += 100) {
      const parts = Array.from({ length: 100 }, () => continuation(1, block, false));
      if (!await peer.send(...parts)) break;
    }
    await peer.ended();
    assert.equal(codeName(peer.goAway?.code), "ENHANCE_YOUR_CALM");
    assert.equal(peer.goAway?.debug, ABUSE_TEXTS.continuations);
    assert.deepEqual(await scene.ends(), { continuations: 1 });
    assert.equal(scene.origin.hits, 0);
    await scene.checkCanary();
  });
}

Deno.test("priorities that depend on each other have no cost", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const parts: Uint8Array[] = [];
  for (let i = 0; i < 900; i++) {
    parts.push(frame(FRAME.PRIORITY, 0, 1 + 2 * i, priorityOn(3 + 2 * i, 255, true)));
  }
  await peer.send(...parts);
  assert.equal((await peer.ask("/ok")).status, 200);
});
