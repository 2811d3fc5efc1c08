/** Spans whose collector is gone, slow, busy or none: requests are served, and what is lost is counted. */
import assert from "node:assert/strict";
import { Backend, Peer, refusingPort, statusOf } from "../support/backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { OtlpCollector, type Respond } from "../support/otlp_collector.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const TIMES = { request: 300, backoff: 5, longest: 50, gather: 5 };
const REQUEST = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/** A request's own, and its attempt's. */
const SPANS = 2;

interface Outcome {
  readonly exported: number;
  /** By reason, without zeros. */
  readonly dropped: Readonly<Record<string, number>>;
  readonly log: readonly string[];
}

/** Serves one request whose spans go to `url`. */
async function outcomeAt(url: string): Promise<Outcome> {
  await using backend = new Backend();
  using observed = new ObservedProxy([backend.port], { traces: { url, times: TIMES } });
  using client = await Peer.connect(observed.port);
  assert.equal(statusOf(await client.ask(REQUEST)), 200);
  await observed.spansSettled();
  const series = await observed.series();
  const dropped = [...series].flatMap(([name, value]) => {
    const [, reason = null] = /^pingress_spans_dropped_total\{reason="(.*)"\}$/.exec(name) ?? [];
    return reason === null ? [] : [[reason, value] as const];
  });
  return {
    exported: series.get("pingress_spans_exported_total") ?? 0,
    dropped: Object.fromEntries(dropped),
    log: observed.log.map(({ level, message, fields }) =>
      [level, message, fields?.reason].filter((part) => part !== undefined).join(": ")
    ),
  };
}

async function outcomeOf(respond: Respond): Promise<Outcome & { readonly requests: number }> {
  await using collector = await OtlpCollector.start(respond);
  return { ...await outcomeAt(collector.url), requests: collector.requests };
}

Deno.test("spans of a collector that is gone are counted as unavailable, and it is logged once", async () => {
  const { exported, dropped, log } = await outcomeAt(
    `http://127.0.0.1:${refusingPort()}/v1/traces`,
  );
  assert.deepEqual([exported, dropped], [0, { unavailable: SPANS }]);
  assert.equal(log.length, 1);
  assert.match(log[0], /^warn: Spans cannot be exported: .*refused/i);
});

/** In the place of a response. */
const NO_HTTP: Readonly<Record<string, string>> = {
  "bytes of TLS": "\x15\x03\x01\x00\x02\x02\x46",
  "half a head": "HTTP/1.1 200 OK\r\nContent-",
  "a head without end": `HTTP/1.1 200 OK\r\nx: ${"x".repeat(1024 * 1024)}`,
  "less than it says": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
  "nothing": "",
};

Deno.test("a collector that speaks no HTTP is given up", async (t) => {
  for (const [name, response] of Object.entries(NO_HTTP)) {
    await t.step(name, async () => {
      await using collector = new Backend(async (peer) => {
        await peer.request();
        await peer.send(response);
      });
      const { exported, dropped, log } = await outcomeAt(
        `http://127.0.0.1:${collector.port}/v1/traces`,
      );
      assert.deepEqual([exported, dropped], [0, { unavailable: SPANS }]);
      assert.equal(log.length, 1, log.join("\n"));
      assert.match(log[0], /^warn: Spans cannot be exported: /);
    });
  }
});

Deno.test("a collector that never responds is given up", async () => {
  const { dropped, log, requests } = await outcomeOf(() => {});
  assert.deepEqual([dropped, requests], [{ unavailable: SPANS }, 5]);
  assert.deepEqual(log, ["warn: Spans cannot be exported: no response in 300 ms"]);
});

Deno.test("a collector that never ends its response is given up", async () => {
  const { dropped } = await outcomeOf((response) => response.write("{"));
  assert.deepEqual(dropped, { unavailable: SPANS });
});

Deno.test("spans are sent again after 429 and 503, as Retry-After says", async () => {
  const { exported, dropped, log, requests } = await outcomeOf((response, index) => {
    if (index > 2) return void response.end("{}");
    response.statusCode = index === 1 ? 503 : 429;
    // Longer than it may ask for.
    if (index === 0) response.setHeader("Retry-After", "3600");
    if (index === 1) response.setHeader("Retry-After", new Date().toUTCString());
    response.end();
  });
  assert.deepEqual([exported, dropped, requests], [SPANS, {}, 4]);
  assert.deepEqual(log, [
    "warn: Spans cannot be exported: status 429",
    "info: Spans are exported again",
  ]);
});

const REFUSALS: Readonly<Record<string, { respond: Respond; reason: string }>> = {
  "400": {
    respond: (response) => void response.writeHead(400).end('{"message":"no"}'),
    reason: "status 400",
  },
  "a redirect": {
    respond: (response) => void response.writeHead(307, { Location: "/v1/traces" }).end(),
    reason: "status 307",
  },
  "a page": {
    respond: (response) => void response.end("<html>Welcome</html>"),
    reason: "the response is none of OTLP: check --otlp-endpoint",
  },
  "a page without end": {
    respond: (response) => {
      const more = () => {
        while (response.write("x".repeat(64 * 1024)));
        response.once("drain", more);
      };
      more();
    },
    reason: "the response is none of OTLP: check --otlp-endpoint",
  },
  "a list": {
    respond: (response) => void response.end("[]"),
    reason: "the response is none of OTLP: check --otlp-endpoint",
  },
};

Deno.test("spans that the collector rejects are not sent again", async (t) => {
  for (const [name, { respond, reason }] of Object.entries(REFUSALS)) {
    await t.step(name, async () => {
      const { dropped, log, requests } = await outcomeOf(respond);
      assert.deepEqual([dropped, requests], [{ rejected: SPANS }, 1]);
      assert.deepEqual(log, [`warn: Spans cannot be exported: ${reason}`]);
    });
  }
});

const TAKEN: Readonly<Record<string, Respond>> = {
  "200 with an empty object": (response) => void response.end("{}"),
  "200 without a body": (response) => void response.end(),
  "202 with an empty object": (response) => void response.writeHead(202).end("{}"),
  "202 with text": (response) => void response.writeHead(202).end("Accepted"),
  "204": (response) => void response.writeHead(204).end(),
};

Deno.test("every 2xx response of a collector counts as success", async (t) => {
  for (const [name, respond] of Object.entries(TAKEN)) {
    await t.step(name, async () => {
      const { exported, dropped, log, requests } = await outcomeOf(respond);
      assert.deepEqual([exported, dropped, log, requests], [SPANS, {}, [], 1]);
    });
  }
});

Deno.test("spans that the collector rejects in part are counted", async () => {
  const answers: readonly [answer: unknown, rejected: number, reason?: string][] = [
    [{ partialSuccess: { rejectedSpans: "1", errorMessage: "too old" } }, 1, "too old"],
    [{ partialSuccess: { rejectedSpans: 1e9, errorMessage: "all" } }, SPANS, "all"],
    [{ partialSuccess: { rejectedSpans: 1 } }, 1, "the collector rejected 1 span"],
    [
      { partialSuccess: { rejectedSpans: 2, errorMessage: "" } },
      2,
      "the collector rejected 2 spans",
    ],
    [
      { partialSuccess: { rejectedSpans: 2, errorMessage: null } },
      2,
      "the collector rejected 2 spans",
    ],
    [{ partialSuccess: { rejectedSpans: "-1" } }, 0],
    [{ partialSuccess: { errorMessage: "be careful" } }, 0],
    [{ partialSuccess: null }, 0],
    [{ partialSuccess: { rejectedSpans: { toString: 1, valueOf: 1 } } }, 0],
    [
      { partialSuccess: { rejectedSpans: 1, errorMessage: { toString: 1 } } },
      1,
      "the collector rejected 1 span",
    ],
  ];
  for (const [answer, rejected, reason] of answers) {
    const { exported, dropped, log } = await outcomeOf((response) =>
      void response.end(JSON.stringify(answer))
    );
    assert.equal(exported, SPANS - rejected);
    assert.deepEqual(dropped, rejected === 0 ? {} : { rejected });
    assert.deepEqual(log, rejected === 0 ? [] : [`warn: Spans cannot be exported: ${reason}`]);
  }
});

Deno.test("a clock that jumps during a request changes no span's length, nor the order of spans", async (t) => {
  const HOUR = 3_600_000;
  const clock = Date.now;
  for (const [name, jump] of [["back", -HOUR], ["forward", HOUR]] as const) {
    await t.step(name, async () => {
      await using backend = new Backend(async (peer) => {
        while (await peer.request() !== null) {
          Date.now = () => clock() + jump;
          await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
      });
      await using collector = await OtlpCollector.start();
      using observed = new ObservedProxy([backend.port], { traces: { url: collector.url } });
      using client = await Peer.connect(observed.port);
      try {
        assert.equal(statusOf(await client.ask(REQUEST)), 200);
        await observed.spansSent();
      } finally {
        Date.now = clock;
      }
      const times = collector.spans.map(({ startTimeUnixNano, endTimeUnixNano }) =>
        [startTimeUnixNano, endTimeUnixNano].map((text) => BigInt(text))
      );
      assert.equal(times.length, SPANS);
      const [[start, end], [attemptStart, attemptEnd]] = times;
      const moments = [start, attemptStart, attemptEnd, end];
      assert.deepEqual(moments, moments.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0));
      assert.ok(end - start < BigInt(HOUR) * 1_000_000n / 2n, `${end - start} ns`);
    });
  }
});

Deno.test("spans that wait for a slow collector are bounded, and the rest are counted", async () => {
  await using backend = new Backend();
  await using collector = await OtlpCollector.start(() => {});
  const times = { ...TIMES, request: 60_000 };
  using observed = new ObservedProxy([backend.port], { traces: { url: collector.url, times } });
  const lost = async () =>
    (await observed.series()).get('pingress_spans_dropped_total{reason="queue_full"}') ?? 0;
  const long = "x".repeat(1000);
  for (let sent = 0; await lost() === 0; sent += 200) {
    assert.ok(sent < 20_000, "nothing is dropped");
    using client = await Peer.connect(observed.port);
    for (let i = 0; i < 200; i++) {
      const answer = await client.ask(
        `GET /${long} HTTP/1.1\r\nHost: a\r\nUser-Agent: ${long}\r\n\r\n`,
      );
      assert.equal(statusOf(answer), 200);
    }
  }
  assert.equal(collector.requests, 1);
});

for (const workers of [1, 2]) {
  Deno.test(`a proxy with ${workers} worker(s) sends its spans by a thread of its own`, async () => {
    await using backend = new Backend();
    await using collector = await OtlpCollector.start();
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([backend.port]),
      args: [
        "--allow-loopback-upstreams",
        `--workers=${workers}`,
        "--trace-ratio=1",
        "--trace-service-name=edge",
        `--otlp-endpoint=http://127.0.0.1:${collector.port}`,
      ],
    });
    using client = await Peer.connect(proxy.httpPort);
    for (let i = 0; i < 20; i++) assert.equal(statusOf(await client.ask(REQUEST)), 200);
    // What waits is sent before the end.
    proxy.signal("SIGTERM");
    assert.equal(await proxy.ended, 0);
    assert.equal(collector.spans.length, 20 * SPANS);
    for (const resource of collector.resources) assert.equal(resource["service.name"], "edge");
    assert.equal(new Set(collector.resources.map((one) => one["service.instance.id"])).size, 1);
  });
}

Deno.test("a proxy whose collector is gone serves, and ends in time", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: [
      "--allow-loopback-upstreams",
      "--workers=2",
      "--trace-ratio=1",
      "--upstream-networks=127.0.0.0/8",
      `--otlp-endpoint=http://127.0.0.1:${refusingPort()}`,
    ],
  });
  using client = await Peer.connect(proxy.httpPort);
  assert.equal(statusOf(await client.ask(REQUEST)), 200);
  await proxy.line("Spans cannot be exported");
  assert.equal(statusOf(await client.ask(REQUEST)), 200);
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 0);
});
