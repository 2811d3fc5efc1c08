/** How requests share connections of HTTP/2 to a backend: how many there are, and when they end. */
import assert from "node:assert/strict";
import { Peer, refusingPort, statusOf, until } from "../support/backend.ts";
import { answerText, H2Server } from "../support/h2_backend.ts";
import {
  CODE,
  data,
  FRAME,
  goAway,
  headers,
  join,
  repeat,
  rstStream,
  SETTING,
  settings,
} from "../support/h2_frames.ts";
import { answerOk, H2Backend, type H2Peer, type H2Play } from "../support/h2_peer.ts";
import { http2SnapshotOf } from "../support/http2_backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello";
const POST_HEAD = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n";
const OK = [[":status", "200"], ["content-length", "2"]] as const;

/** The status of an answer to a request on a connection of its own. */
async function ask(port: number, request = GET): Promise<number> {
  using client = await Peer.connect(port);
  return statusOf(await client.ask(request));
}

/** Answers its first request once that is whole, and tells its body. */
function notingBody(note: (body: string) => void): H2Play {
  return async (peer) => {
    await peer.until("the request", () => peer.stream(1).over);
    note(peer.stream(1).body);
    await peer.send(headers(1, OK), data(1, "ok", { end: true }));
    await peer.ended();
  };
}

const asked = (peer: H2Peer, id: number) => peer.stream(id).heads.length > 0;

for (const limit of [1, 10]) {
  Deno.test(`a hundred simultaneous requests to a backend that allows ${limit} a connection`, async () => {
    const streams = new Map<unknown, number>();
    let most = 0;
    await using backend = await H2Server.start(async (stream) => {
      const count = (streams.get(stream.session) ?? 0) + 1;
      streams.set(stream.session, count);
      most = Math.max(most, count);
      await new Promise((resume) => setTimeout(resume, 1));
      streams.set(stream.session, streams.get(stream.session)! - 1);
      stream.respond({ ":status": 200 });
      stream.end("ok");
    }, { settings: { maxConcurrentStreams: limit } });
    using proxy = new H2UpstreamProxy([backend.port]);
    const statuses = await Promise.all(Array.from({ length: 100 }, () => ask(proxy.port)));
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(most <= limit, true, `${most} at once`);
    assert.equal(backend.connections <= 100 / limit, true, `${backend.connections} connections`);
    assert.deepEqual(proxy.failures, []);
  });
}

Deno.test("our own limit of streams applies if the backend's is higher", async () => {
  let under = 0;
  let most = 0;
  await using backend = await H2Server.start(async (stream) => {
    most = Math.max(most, ++under);
    await new Promise((resume) => setTimeout(resume, 1));
    under--;
    stream.respond({ ":status": 200 });
    stream.end();
  });
  using proxy = new H2UpstreamProxy([backend.port], { limits: { http2UpstreamStreams: 4 } });
  const statuses = await Promise.all(Array.from({ length: 40 }, () => ask(proxy.port)));
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.equal(backend.connections > 1, true);
  assert.equal(most <= 4 * backend.connections, true);
});

Deno.test("a backend accepts windows and stream limits of the maximum size", async () => {
  await using backend = await H2Server.start(answerText("ok"));
  using proxy = new H2UpstreamProxy([backend.port], {
    limits: { http2StreamWindow: 16 * 1024 * 1024, http2UpstreamStreams: 10_000 },
  });
  assert.equal(await ask(proxy.port), 200);
});

Deno.test("requests alternate between the endpoints, although each has one connection", async () => {
  const backends = await Promise.all(
    ["a", "b", "c"].map((name) => H2Server.start(answerText(name))),
  );
  try {
    using proxy = new H2UpstreamProxy(backends.map(({ port }) => port));
    using client = await Peer.connect(proxy.port);
    const counts = new Map<string, number>();
    for (let i = 0; i < 30; i++) {
      const { body } = await client.ask(GET);
      counts.set(body, (counts.get(body) ?? 0) + 1);
    }
    assert.deepEqual([...counts.values()], [10, 10, 10]);
    assert.deepEqual(backends.map(({ connections }) => connections), [1, 1, 1]);
  } finally {
    for (const backend of backends) await backend[Symbol.asyncDispose]();
  }
});

Deno.test("after GOAWAY open requests finish, and new ones use another connection", async () => {
  const peers: H2Peer[] = [];
  await using backend = new H2Backend(async (peer, index) => {
    peers.push(peer);
    if (index > 0) return answerOk(peer);
    await peer.until("the request", () => asked(peer, 1));
    await peer.send(goAway(1));
    await until("a request on the other connection", () => peers.length > 1 && asked(peers[1], 1));
    await peer.send(headers(1, OK), data(1, "ok", { end: true }));
    await peer.ended();
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  const first = ask(proxy.port);
  await until("the request", () => peers.length === 1 && asked(peers[0], 1));
  // Until GOAWAY has been read, a request may still come by the old connection.
  await until("the old connection takes no more", () => proxy.server.idleUpstreamCount === 0);
  assert.equal(await ask(proxy.port), 200);
  assert.equal(await first, 200);
  assert.equal(peers[0].streams.size, 1);
  assert.deepEqual(proxy.failures, []);
});

for (
  const [name, request] of [["GET", GET], ["POST with its body at hand", POST]] as const
) {
  Deno.test(`streams that GOAWAY declares unprocessed are retried, whatever their method: ${name}`, async () => {
    await using backend = new H2Backend(async (peer, index) => {
      if (index > 0) return answerOk(peer);
      await peer.until("the request", () => asked(peer, 1));
      await peer.send(goAway(0));
      await peer.ended();
    });
    using proxy = new H2UpstreamProxy([backend.port], { limits: { retryBudget: 100 } });
    assert.equal(await ask(proxy.port, request), 200);
    assert.equal(backend.accepted, 2);
    assert.deepEqual(proxy.failures, []);
  });
}

Deno.test("a partly received body is resent if the first stream was refused", async () => {
  let isRefused = false;
  await using refusing = new H2Backend(async (peer) => {
    await peer.until("the request", () => asked(peer, 1));
    await peer.until("the body's beginning", () => peer.stream(1).body === "one ");
    await peer.send(rstStream(1, CODE.REFUSED_STREAM));
    isRefused = true;
    await peer.ended();
  });
  let body = "";
  await using good = new H2Backend(notingBody((got) => body = got));
  using proxy = new H2UpstreamProxy([refusing.port, good.port], { limits: { retryBudget: 100 } });
  using client = await Peer.connect(proxy.port);
  await client.send(
    "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none \r\n",
  );
  await until("the refusal", () => isRefused);
  await until("the other backend", () => good.accepted === 1);
  const answer = await client.ask("4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n");
  assert.equal(statusOf(answer), 200);
  assert.equal(body, "one two three");
});

Deno.test("a completely received body is resent completely", async () => {
  await using refusing = new H2Backend(async (peer) => {
    await peer.until("the whole request", () => asked(peer, 1) && peer.stream(1).over);
    await peer.send(rstStream(1, CODE.REFUSED_STREAM));
    await peer.ended();
  });
  let body = "";
  await using good = new H2Backend(notingBody((got) => body = got));
  using proxy = new H2UpstreamProxy([refusing.port, good.port], { limits: { retryBudget: 100 } });
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(
    "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n",
  );
  assert.equal(statusOf(answer), 200);
  assert.equal(body, "one");
});

Deno.test("a retry of an unprocessed stream does not use the retry budget", async () => {
  const count = 100;
  await using backend = new H2Backend(async (peer, index) => {
    if (index > 0) return answerOk(peer);
    await peer.until("the requests", () => asked(peer, 2 * count - 1));
    await peer.send(goAway(0));
    await peer.ended();
  });
  using proxy = new H2UpstreamProxy([backend.port], { limits: { retryBudget: 0 } });
  const statuses = await Promise.all(Array.from({ length: count }, () => ask(proxy.port, POST)));
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.equal(backend.accepted, 2);
});

Deno.test("a refused stream is retried on another endpoint, whatever its method", async () => {
  let refusals = 0;
  await using refusing = new H2Backend(async (peer) => {
    for (let id = 1; peer.ending === ""; id += 2) {
      await peer.until("a request", () => asked(peer, id));
      if (peer.ending !== "") return;
      refusals++;
      await peer.send(rstStream(id, CODE.REFUSED_STREAM));
    }
  });
  await using good = new H2Backend(answerOk);
  using proxy = new H2UpstreamProxy([refusing.port, good.port], { limits: { retryBudget: 100 } });
  for (let i = 0; i < 10; i++) assert.equal(await ask(proxy.port, POST), 200);
  assert.equal(refusals > 0, true);
  assert.equal(refusing.accepted, 1, "to refuse a stream ends no connection");
  assert.equal(
    proxy.lines.some(({ message }) => message === "Endpoint ejected"),
    false,
    "who refuses a stream is not broken",
  );
});

Deno.test("a backend that refuses every stream is tried a few times only", async () => {
  let refusals = 0;
  await using backend = new H2Backend(async (peer) => {
    for (let id = 1; peer.ending === ""; id += 2) {
      await peer.until("a request", () => asked(peer, id));
      if (peer.ending !== "") return;
      refusals++;
      await peer.send(rstStream(id, CODE.REFUSED_STREAM));
    }
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  assert.equal(await ask(proxy.port), 502);
  assert.equal(refusals <= 3, true, `${refusals} times`);
  assert.match(proxy.failures[0], /^upstream_closed: reset the stream with REFUSED_STREAM/);
});

Deno.test("a request that failed without a byte of response is retried if allowed, and only then", async () => {
  await using backend = new H2Backend(async (peer, index) => {
    if (index > 1) return answerOk(peer);
    await peer.until("the request", () => asked(peer, 1));
  });
  using proxy = new H2UpstreamProxy([backend.port, backend.port], { limits: { retryBudget: 100 } });
  assert.equal(await ask(proxy.port, POST), 502);
  assert.equal(backend.accepted, 1);
  assert.equal(await ask(proxy.port, POST), 502);
  assert.equal(await ask(proxy.port, GET), 200);
});

Deno.test("a backend that resets every stream is ejected, like one that closes", async () => {
  await using failing = new H2Backend(async (peer) => {
    for (let id = 1; peer.ending === ""; id += 2) {
      await peer.until("a request", () => asked(peer, id));
      // It has answered before, so its connection may have been idle: but it is not that which ends.
      if (id < 4) await peer.send(headers(id, OK), data(id, "ok", { end: true }));
      else await peer.send(rstStream(id, CODE.INTERNAL_ERROR));
    }
  });
  await using good = new H2Backend(answerOk);
  using proxy = new H2UpstreamProxy([failing.port, good.port], { limits: { retryBudget: 100 } });
  const leftOut = () => proxy.lines.some(({ message }) => message === "Endpoint ejected");
  for (let i = 0; i < 20 && !leftOut(); i++) assert.equal(await ask(proxy.port), 200);
  assert.equal(leftOut(), true);
  assert.equal(failing.accepted, 1);
});

Deno.test("streams on an open connection count as reuse of it", async () => {
  await using backend = await H2Server.start(answerText("ok"));
  using observed = new ObservedProxy([]);
  observed.proxy.server.apply(http2SnapshotOf([backend.port]));
  const statuses = await Promise.all(Array.from({ length: 10 }, () => ask(observed.port)));
  assert.deepEqual(new Set(statuses), new Set([200]));
  await ask(observed.port);
  const series = await observed.series();
  assert.equal(series.get('pingress_upstream_connects_total{result="ok"}'), 1);
  assert.equal(series.get("pingress_upstream_connections_reused_total"), 10);
});

Deno.test("a failed connection fails its own requests, and no others", async () => {
  let isDead = false;
  await using dying = new H2Backend(async (peer) => {
    await peer.until("the requests", () => asked(peer, 5));
    isDead = true;
  });
  using proxy = new H2UpstreamProxy([dying.port], { limits: { tries: 1, ejectionFailures: 0 } });
  const lost = Promise.all([1, 2, 3].map(() => ask(proxy.port, POST)));
  assert.deepEqual(await lost, [502, 502, 502]);
  assert.equal(isDead, true);
  await using good = new H2Backend(answerOk);
  proxy.serve([good.port]);
  assert.equal(await ask(proxy.port), 200);
});

Deno.test("a stream error affects no other stream of its connection", async () => {
  const faults: readonly Uint8Array[] = [
    headers(1, [["server", "x"]]),
    headers(1, [...OK, ["connection", "close"]]),
    join(headers(1, [[":status", "200"], ["content-length", "1"]]), data(1, "xyz")),
    join(headers(1, [[":status", "200"]]), rstStream(1, CODE.INTERNAL_ERROR)),
    data(1, "x"),
    repeat(65, () => headers(1, [[":status", "103"]])),
  ];
  for (const fault of faults) {
    let isOver = false;
    await using backend = new H2Backend(async (peer) => {
      await peer.until("both requests", () => asked(peer, 1) && asked(peer, 3));
      await peer.send(headers(3, [[":status", "200"]]), data(3, "o"));
      await peer.send(fault);
      await until("the end of what erred", () => isOver);
      await peer.send(data(3, "k", { end: true }));
      await peer.ended();
    });
    using proxy = new H2UpstreamProxy([backend.port], { limits: { tries: 1 } });
    // An upload that goes on, so that each fault has something to reset.
    using erring = await Peer.connect(proxy.port);
    await erring.send(`${POST_HEAD}x`);
    erring.answer().then(() => isOver = true);
    await until("the first request", () => [...backend.open].some((peer) => asked(peer, 1)));
    using other = await Peer.connect(proxy.port);
    assert.equal((await other.ask(GET)).body, "ok");
    assert.equal(backend.accepted, 1);
  }
});

Deno.test("a slow reader blocks nobody else on the same connection", async () => {
  const part = "x".repeat(64 * 1024);
  await using backend = await H2Server.start((stream, head) => {
    stream.respond({ ":status": 200 });
    if (head[":path"] !== "/big") return void stream.end("ok");
    const send = () => {
      while (!stream.destroyed && stream.write(part));
      stream.once("drain", send);
    };
    send();
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  const slow: Peer[] = [];
  try {
    for (let i = 0; i < 50; i++) {
      const client = await Peer.connect(proxy.port);
      slow.push(client);
      await client.send("GET /big HTTP/1.1\r\nHost: a.test\r\n\r\n");
    }
    await until("the requests", () => backend.heads.length === 50);
    for (let i = 0; i < 50; i++) assert.equal(await ask(proxy.port), 200);
    assert.equal(backend.connections, 1);
  } finally {
    for (const client of slow) client.close();
  }
  await until("no request is under way", () => proxy.server.upstreamRequestCount === 0);
  // Windows of what was thrown away have come back.
  for (let i = 0; i < 20; i++) assert.equal(await ask(proxy.port), 200);
});

Deno.test("data buffered for a slow reader stays within the stream's window", async () => {
  let sent = 0;
  await using backend = new H2Backend(async (peer) => {
    await peer.until("the request", () => asked(peer, 1));
    await peer.send(headers(1, [[":status", "200"]]));
    let credit = peer.setting(SETTING.INITIAL_WINDOW_SIZE)!;
    let seen = 0;
    while (peer.ending === "") {
      for (const { type, stream, payload } of peer.frames.slice(seen)) {
        seen++;
        if (type !== FRAME.WINDOW_UPDATE || stream !== 1) continue;
        credit += new DataView(payload.buffer, payload.byteOffset).getUint32(0);
      }
      const count = Math.min(credit, 16_384);
      if (count > 0) {
        await peer.send(data(1, new Uint8Array(count)));
        credit -= count;
        sent += count;
      } else await peer.until("more window", () => peer.frames.length > seen).catch(() => {});
    }
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  const client = await Peer.connect(proxy.port);
  await client.send(GET);
  let before = -1;
  await until("the sender stops", () => {
    const stopped = sent === before && sent > 0;
    before = sent;
    return stopped;
  });
  const kernel = 8 * 1024 * 1024;
  assert.equal(sent < kernel, true, `${sent} bytes`);
  client.close();
});

Deno.test("an idle connection is closed after its time, with GOAWAY", async () => {
  let code = -1;
  await using backend = new H2Backend(async (peer) => {
    const answering = answerOk(peer);
    await peer.until("GOAWAY", () => peer.goAway !== null);
    code = peer.goAway?.code ?? -1;
    await answering;
  });
  using proxy = new H2UpstreamProxy([backend.port], { limits: { upstreamIdleTimeout: 100 } });
  assert.equal(await ask(proxy.port), 200);
  assert.equal(proxy.server.idleUpstreamCount, 1);
  await until("the connection's end", () => backend.open.size === 0);
  assert.equal(code, CODE.NO_ERROR);
  assert.equal(proxy.server.idleUpstreamCount, 0);
  assert.equal(await ask(proxy.port), 200);
  assert.equal(backend.accepted, 2);
});

Deno.test("an old connection gets no new requests", async () => {
  await using backend = new H2Backend(answerOk);
  using proxy = new H2UpstreamProxy([backend.port], { limits: { upstreamConnectionAge: 200 } });
  for (let i = 0; i < 100 && backend.accepted < 2; i++) {
    assert.equal(await ask(proxy.port), 200);
    await new Promise((resume) => setTimeout(resume, 10));
  }
  assert.equal(backend.accepted, 2);
  await until("the old one's end", () => backend.open.size === 1);
});

Deno.test("a removed endpoint completes its requests, and is then closed", async () => {
  const peers: H2Peer[] = [];
  await using leaving = new H2Backend(async (peer) => {
    peers.push(peer);
    await peer.ended();
  });
  await using good = new H2Backend(answerOk);
  using proxy = new H2UpstreamProxy([leaving.port]);
  const slow = ask(proxy.port);
  await until("the request", () => peers.length === 1 && asked(peers[0], 1));
  proxy.serve([good.port]);
  assert.equal(await ask(proxy.port), 200);
  await peers[0].send(headers(1, OK), data(1, "ok", { end: true }));
  assert.equal(await slow, 200);
  await until("the connection's end", () => leaving.open.size === 0);
});

Deno.test("a peer that becomes silent gets a PING, and is closed if it does not respond", async () => {
  await using backend = new H2Backend(async (peer) => {
    await peer.until("PING", () => peer.count(FRAME.PING) > 0);
    await peer.ended();
  }, { rude: true });
  using proxy = new H2UpstreamProxy([backend.port], {
    limits: { http2PingTimeout: 200, tries: 1 },
  });
  const client = await Peer.connect(proxy.port);
  await client.send(GET);
  await until("the connection", () => backend.open.size === 1);
  // SETTINGS and nothing more, not even an answer to PING.
  for (const peer of backend.open) await peer.send(settings());
  assert.equal(statusOf(await client.answer()), 502);
  assert.match(proxy.failures[0], /^upstream_closed: no answer to PING/);
  client.close();
});

Deno.test("a hundred requests to an unreachable cold endpoint fail, and leave nothing behind", async () => {
  using proxy = new H2UpstreamProxy([refusingPort()]);
  const statuses = await Promise.all(Array.from({ length: 100 }, () => ask(proxy.port)));
  assert.deepEqual(new Set(statuses), new Set([502]));
  await until("no request is under way", () => proxy.server.upstreamRequestCount === 0);
});
