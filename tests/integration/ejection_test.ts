/** Endpoints that keep failing are left out for a while; what clients see of it, and operators. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, refusingPort, reply, statusOf } from "../support/backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { rstStream } from "../support/h2_frames.ts";
import { H2Backend } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** Statuses of `count` requests on one connection, a new one where an answer closes it. */
async function ask(port: number, count: number): Promise<number[]> {
  const statuses: number[] = [];
  using client = await Peer.connect(port);
  for (let i = 0; i < count; i++) statuses.push(statusOf(await client.ask(GET)));
  return statuses;
}

Deno.test("an endpoint that refuses connections is tried three times, then ejected", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([refusingPort(), backend.port], {
    limits: { ejectionTime: 3_600_000 },
  });
  assert.deepEqual(await ask(observed.port, 100), new Array(100).fill(200));
  const series = await observed.series();
  assert.equal(series.get('pingress_upstream_connects_total{result="failed"}'), 3);
  assert.equal(series.get('pingress_upstream_ejections_total{reason="no_answer"}'), 1);
  assert.equal(series.get('pingress_upstream_retries_total{namespace="test",host="*"}'), 3);
});

Deno.test("with --ejection-failures=0 it is tried at every turn", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([refusingPort(), backend.port], {
    limits: { ejectionFailures: 0 },
  });
  await ask(observed.port, 20);
  const series = await observed.series();
  assert.ok(series.get('pingress_upstream_connects_total{result="failed"}')! > 3);
  assert.equal(series.get('pingress_upstream_ejections_total{reason="no_answer"}'), undefined);
});

/** What it says, and of the requests that it gets, whether others answer them in its place. */
const BROKEN: readonly [says: string, send: string, isMended?: boolean][] = [
  ["closes instead of answering", "", true],
  ["closes within the head", "HTTP/1.1 200 OK\r\nContent-"],
  ["responds with garbage", "SSH-2.0-OpenSSH_9.2\r\n"],
  ["closes after an interim response", "HTTP/1.1 103 Early Hints\r\n\r\n"],
];
for (const [says, send, isMended = false] of BROKEN) {
  Deno.test(`an endpoint that ${says} is ejected after three failures`, async () => {
    await using broken = new Backend(async (peer) => {
      await peer.request();
      await peer.send(send);
    });
    await using backend = new Backend();
    using proxy = new TestProxy([broken.port, backend.port], { ejectionTime: 3_600_000 });
    const statuses = await ask(proxy.port, 40);
    assert.equal(statuses.filter((status) => status === 502).length, isMended ? 0 : 3);
    assert.deepEqual(statuses.slice(-30), new Array(30).fill(200));
    assert.equal(broken.accepted, 3);
  });
}

Deno.test("an endpoint that never responds is ejected after three failures", async () => {
  await using silent = new Backend(async (peer) => void await peer.ended());
  await using backend = new Backend();
  using proxy = new TestProxy([silent.port, backend.port], {
    ejectionTime: 3_600_000,
    responseHeadTimeout: 50,
  });
  const statuses = await ask(proxy.port, 20);
  assert.equal(statuses.filter((status) => status === 504).length, 3);
  assert.equal(silent.accepted, 3);
});

/** Endpoints that close, or reset the stream, at the beginning of each request; in HTTP/2 once its body has begun. */
function closingBackend(protocol: "http" | "h2c", hasBody: boolean) {
  if (protocol === "http") {
    return new Backend(async (peer) => void await peer.reader.head("request"));
  }
  return new H2Backend(async (peer) => {
    for (let id = 1; peer.ending === ""; id += 2) {
      await peer.until(
        "a request",
        () => hasBody ? peer.stream(id).body !== "" : peer.stream(id).heads.length > 0,
      );
      await peer.send(rstStream(id));
    }
  });
}

for (const protocol of ["http", "h2c"] as const) {
  for (
    const [name, field, body, ejected] of [
      ["gives up slow uploads is not ejected for its clients", "", "a", 0],
      ["closes before 100 (Continue) is ejected", "Expect: 100-continue\r\n", "", 1],
    ] as const
  ) {
    Deno.test(`an endpoint that ${name}: ${protocol}`, async () => {
      await using first = closingBackend(protocol, body !== "");
      await using second = closingBackend(protocol, body !== "");
      using proxy = new H2UpstreamProxy([first.port, second.port], { protocol });
      for (let i = 0; i < 8; i++) {
        using client = await Peer.connect(proxy.port);
        const head = `POST / HTTP/1.1\r\nHost: a.test\r\n${field}Content-Length: 5\r\n\r\n`;
        assert.equal(statusOf(await client.ask(head + body)), 502);
      }
      const ejections = proxy.lines.filter(({ message }) => message === "Endpoint ejected");
      assert.equal(ejections.length, ejected);
    });
  }
}

Deno.test("an endpoint that does not speak TLS is ejected too", async () => {
  await using plain = new Backend(async (peer) => void await peer.send(reply("not TLS")));
  using observed = new ObservedProxy([plain.port, refusingPort()], {
    limits: { ejectionTime: 3_600_000, tries: 1 },
  });
  const snapshot = snapshotOf([plain.port, refusingPort()]);
  observed.proxy.server.apply({
    ...snapshot,
    upstreams: snapshot.upstreams.map((upstream) => ({ ...upstream, protocol: "https" })),
  });
  await ask(observed.port, 10);
  assert.equal(
    (await observed.series()).get('pingress_upstream_ejections_total{reason="no_answer"}'),
    1,
  );
});

/** A backend that gives these statuses in turn, over and over. */
function answering(...statuses: number[]): Backend {
  let turn = 0;
  return new Backend(async (peer) => {
    while (await peer.request() !== null) {
      const status = statuses[turn++ % statuses.length];
      await peer.send(`HTTP/1.1 ${status} x\r\nContent-Length: 0\r\n\r\n`);
    }
  });
}

for (const status of [502, 503, 504]) {
  Deno.test(`an endpoint that responds with ${status} five times in a row is ejected, and each response is forwarded`, async () => {
    await using failing = answering(status);
    await using backend = new Backend();
    using observed = new ObservedProxy([failing.port, backend.port], {
      limits: { ejectionTime: 3_600_000 },
    });
    const statuses = await ask(observed.port, 40);
    assert.equal(statuses.filter((each) => each === status).length, 5);
    assert.deepEqual(statuses.slice(-20), new Array(20).fill(200));
    const series = await observed.series();
    assert.equal(
      series.get('pingress_upstream_ejections_total{reason="gateway_error"}'),
      1,
    );
    assert.equal(series.get('pingress_upstream_ejections_total{reason="no_answer"}'), undefined);
    assert.equal(
      series.get('pingress_upstream_retries_total{namespace="test",host="*"}'),
      undefined,
    );
  });
}

Deno.test("500, 501 and 429 do not count as failures of an endpoint", async () => {
  await using failing = answering(500, 501, 429);
  await using backend = new Backend();
  using proxy = new TestProxy([failing.port, backend.port]);
  const statuses = await ask(proxy.port, 60);
  assert.equal(statuses.filter((status) => status === 200).length, 30);
});

Deno.test("an occasional 503 ejects no endpoint: only consecutive ones count", async () => {
  await using failing = answering(503, 503, 503, 503, 200);
  await using backend = new Backend();
  using proxy = new TestProxy([failing.port, backend.port]);
  const statuses = await ask(proxy.port, 60);
  assert.equal(statuses.filter((status) => status === 503).length, 24);
});

Deno.test("with --ejection-answers=0 a 503 does not count", async () => {
  await using failing = answering(503);
  await using backend = new Backend();
  using proxy = new TestProxy([failing.port, backend.port], { ejectionAnswers: 0 });
  const statuses = await ask(proxy.port, 20);
  assert.equal(statuses.filter((status) => status === 503).length, 10);
});

Deno.test("at most half of the endpoints are ejected for their responses, and the only endpoint never", async () => {
  await using first = answering(503);
  await using second = answering(503);
  await using third = answering(503);
  using observed = new ObservedProxy([first.port, second.port, third.port], {
    limits: { ejectionTime: 3_600_000 },
  });
  assert.deepEqual(await ask(observed.port, 40), new Array(40).fill(503));
  const left = 'pingress_upstream_ejections_total{reason="gateway_error"}';
  assert.equal((await observed.series()).get(left), 1);
  using alone = new ObservedProxy([first.port]);
  assert.deepEqual(await ask(alone.port, 20), new Array(20).fill(503));
  assert.equal((await alone.series()).get(left), undefined);
});

Deno.test("a backend that closes idle connections while they are reused is not ejected", async () => {
  await using closing = new Backend(async (peer) => {
    await peer.request();
    await peer.send(reply("ok"));
    await peer.request();
  });
  await using backend = new Backend();
  using observed = new ObservedProxy([closing.port, backend.port]);
  assert.deepEqual(await ask(observed.port, 40), new Array(40).fill(200));
  assert.equal(
    (await observed.series()).get('pingress_upstream_ejections_total{reason="no_answer"}'),
    undefined,
  );
  assert.ok(closing.accepted > 5);
});

Deno.test("an ejected endpoint that works again is used once its time is over", async () => {
  await using backend = new Backend();
  const port = refusingPort();
  using proxy = new TestProxy([port, backend.port], { ejectionTime: 1 });
  assert.deepEqual(await ask(proxy.port, 20), new Array(20).fill(200));
  await using back = new Backend(playOk, "127.0.0.1", port);
  const end = performance.now() + 10_000;
  while (back.accepted === 0 && performance.now() < end) {
    assert.deepEqual(await ask(proxy.port, 2), [200, 200]);
  }
  assert.ok(back.accepted > 0);
});

Deno.test("our own lack of descriptors counts against no endpoint", async () => {
  await using backend = new Backend();
  await using other = new Backend();
  using observed = new ObservedProxy([backend.port, other.port], {
    limits: { connectTimeout: 20, tries: 1 },
  });
  using client = await Peer.connect(observed.port);
  const { connect } = Deno;
  Deno.connect = (): Promise<never> =>
    Promise.reject(Object.assign(new Error("Too many open files"), { code: "EMFILE" }));
  try {
    for (let i = 0; i < 8; i++) assert.equal(statusOf(await client.ask(GET)), 502);
  } finally {
    Deno.connect = connect;
  }
  const series = await observed.series();
  assert.equal(series.get('pingress_upstream_connects_total{result="failed"}'), 8);
  assert.equal(series.get('pingress_upstream_ejections_total{reason="no_answer"}'), undefined);
});

Deno.test("a single endpoint is tried however often it has failed", async () => {
  const port = refusingPort();
  using proxy = new TestProxy([port]);
  assert.deepEqual(await ask(proxy.port, 10), new Array(10).fill(502));
  await using _back = new Backend(playOk, "127.0.0.1", port);
  assert.deepEqual(await ask(proxy.port, 1), [200]);
});

Deno.test("when every endpoint fails they are still tried: 502, not 503", async () => {
  using proxy = new TestProxy([refusingPort(), refusingPort(), refusingPort()]);
  assert.deepEqual(await ask(proxy.port, 20), new Array(20).fill(502));
});

Deno.test("an outage of all endpoints adds a fifth and 30 requests to the load, and does not double it", async () => {
  await using one = crashing();
  await using two = crashing();
  using observed = new ObservedProxy([one.port, two.port]);
  const asked = await Promise.all(Array.from({ length: 10 }, () => ask(observed.port, 40)));
  assert.deepEqual(asked.flat(), new Array(400).fill(502));
  const series = await observed.series();
  const tries = one.accepted + two.accepted;
  assert.ok(tries > 400 && tries <= 480, `${tries} tries for 400 requests`);
  const denied = series.get("pingress_upstream_retries_denied_total")!;
  assert.equal(tries + denied, 800);
});

Deno.test("no request reaches more than two endpoints", async () => {
  const backends = Array.from({ length: 5 }, crashing);
  try {
    using proxy = new TestProxy(backends.map(({ port }) => port));
    await ask(proxy.port, 10);
    assert.equal(backends.reduce((sum, { accepted }) => sum + accepted, 0), 20);
  } finally {
    for (const backend of backends) await backend[Symbol.asyncDispose]();
  }
});

/** A backend that reads each request, and closes instead of answering. */
function crashing(): Backend {
  return new Backend(async (peer) => void await peer.request());
}
