/** The access log of a running proxy: a line of JSON for each exchange, whatever clients send. */
import assert from "node:assert/strict";
import { ACCESS_LOG_FIELDS, ALL_FIELDS } from "../../proxy/telemetry/access_log/options.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { Backend, Peer, refusingPort, reply, signal, statusOf, until } from "../support/backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const LOOPBACK = CidrList.parse("127.0.0.0/8") as CidrList;

Deno.test("a line has the client, the request and its outcome", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([backend.port], { accessLog: { query: false } });
  using client = await Peer.connect(observed.port);
  const request = "GET /a/../b?token=secret HTTP/1.1\r\nHost: APP.example.com:80\r\n" +
    "User-Agent: test/1\r\nReferer: http://user:secret@other.test/x?token=secret\r\n" +
    "Authorization: Bearer secret\r\nCookie: id=secret\r\n\r\n";
  assert.equal(statusOf(await client.ask(request)), 200);
  const [line, ...more] = await observed.lines();
  assert.deepEqual(more, []);
  assert.ok(!observed.written.includes("secret"), observed.written);
  const { time, requestId, durationMs, upstreamMs, bytesOut, ...rest } = line;
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.match(String(requestId), /^[0-9a-f-]{16,}$/);
  assert.ok(Number(durationMs) >= Number(upstreamMs) && Number(upstreamMs) > 0);
  assert.equal(bytesOut, client.received);
  assert.deepEqual(rest, {
    log: "access",
    client: "127.0.0.1",
    method: "GET",
    scheme: "http",
    host: "app.example.com",
    path: "/b",
    version: "1.1",
    status: 200,
    bytesIn: request.length,
    route: "* Prefix /",
    upstream: "test/web:80",
    endpoint: `127.0.0.1:${backend.port}`,
    tries: 1,
    userAgent: "test/1",
    referer: "http://other.test/x",
  });
});

Deno.test("the line of a stream has its own request, however many requests came meanwhile", async () => {
  const ending = signal();
  await using backend = new Backend(async (peer) => {
    const request = await peer.request();
    if (!request!.head.startsWith("GET /stream ")) {
      await peer.send(reply("ok"));
      return;
    }
    await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    await ending.promise;
    await peer.send("2\r\nok\r\n0\r\n\r\n");
  });
  using observed = new ObservedProxy([backend.port]);
  using client = await Peer.connect(observed.port);
  await client.send("GET /stream HTTP/1.1\r\nHost: a\r\nUser-Agent: of the stream\r\n\r\n");
  const streamed = client.answer();
  await until("the head of the stream has come", () => client.received > 0);
  for (let i = 0; i < 8; i++) {
    using other = await Peer.connect(observed.port);
    const request = `GET /other HTTP/1.1\r\nHost: a\r\nUser-Agent: ${"x".repeat(500)}\r\n\r\n`;
    assert.equal(statusOf(await other.ask(request)), 200);
  }
  ending.resolve();
  assert.equal((await streamed).body, "ok");
  await client.ask("GET /next HTTP/1.1\r\nHost: a\r\nUser-Agent: the next\r\n\r\n");
  const agents = (await observed.lines()).map(({ path, userAgent }) => [path, userAgent]);
  assert.deepEqual(agents.slice(8), [["/stream", "of the stream"], ["/next", "the next"]]);
});

Deno.test("queries are logged if enabled", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([backend.port]);
  using client = await Peer.connect(observed.port);
  const referers = {
    "http://other.test/x?b=2": "http://other.test/x?b=2",
    "//u:p@q@other.test:8/x@y?b=@": "//other.test:8/x@y?b=@",
    "https://u@other.test": "https://other.test",
    "http://other.test?to=//u@x": "http://other.test?to=//u@x",
    "http:\\\\u:p@other.test/x": "http:\\\\other.test/x",
    "http:/\\u:p\\@other.test/x": "http:/\\other.test/x",
  };
  for (const referer of Object.keys(referers)) {
    await client.ask(`GET /?a=1 HTTP/1.1\r\nHost: a\r\nReferer: ${referer}\r\n\r\n`);
  }
  const lines = await observed.lines();
  assert.equal(lines[0].query, "?a=1");
  assert.deepEqual(lines.map((line) => line.referer), Object.values(referers));
});

Deno.test("a line has the chosen fields in the chosen order", async () => {
  await using backend = new Backend();
  const fields = ["status", "peer", "path", "method"] as const;
  using observed = new ObservedProxy([backend.port], { accessLog: { fields } });
  using client = await Peer.connect(observed.port);
  await client.ask("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
  await client.ask("PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  assert.deepEqual(await observed.textLines(), [
    '{"status":200,"path":"/a","method":"GET"}',
    '{"status":200,"path":"/b","method":"PUT"}',
  ]);
});

Deno.test("every field can be a line's only one", async () => {
  await using backend = new Backend();
  for (const field of ALL_FIELDS) {
    using observed = new ObservedProxy([backend.port], { accessLog: { fields: [field] } });
    using client = await Peer.connect(observed.port);
    await client.ask(
      "GET /a?b HTTP/1.1\r\nHost: a\r\nUser-Agent: test\r\nReferer: http://b/\r\n\r\n",
    );
    const [line] = await observed.lines();
    // Nothing failed, no proxy is trusted, and no spans are made.
    const isEmpty = ["peer", "error", "traceId"].includes(field);
    assert.deepEqual(Object.keys(line), isEmpty ? [] : [field]);
  }
});

Deno.test("a line in nginx's format has the request as it came, and the size of the body", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  });
  const ports = [backend.port];
  using observed = new ObservedProxy(ports, { accessLog: { format: "nginx", query: false } });
  using client = await Peer.connect(observed.port);
  await client.ask(
    'GET /a/../b?token=secret HTTP/1.1\r\nHost: a\r\nUser-Agent: \xe9"\\\r\n' +
      "Referer: http://user:secret@other.test/x?token=secret\r\n\r\n",
  );
  await client.send("nonsense\r\n\r\n");
  await client.ended();
  const [line, refused] = await observed.textLines();
  assert.match(
    line,
    /^127\.0\.0\.1 - - \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET \/a\/\.\.\/b HTTP\/1\.1" 200 5 "http:\/\/other\.test\/x" "\\xE9\\x22\\x5C"$/,
  );
  assert.match(refused, /\] "nonsense" 400 \d+ "-" "-"$/);
});

Deno.test("probes of a client that has sent FIN are no part of a body's size", async () => {
  const probed = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await probed.promise;
    await peer.send(reply("hello"));
  });
  using observed = new ObservedProxy([backend.port], { accessLog: { format: "nginx" } });
  using client = await Peer.connect(observed.port);
  await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await client.finish();
  const answer = client.answer();
  await until("the client is probed", () => client.received > 0);
  probed.resolve();
  assert.equal((await answer).body, "hello");
  await client.ended();
  const [line] = await observed.textLines();
  assert.match(line, /\] "GET \/ HTTP\/1\.1" 200 5 "-" "-"$/);
});

Deno.test("a refused request line has neither the target of the request before it nor a secret", async () => {
  const lines = [
    "GET /%zz?token=secret HTTP/1.1",
    "GET http://user:secret@b.test/%zz?token=secret HTTP/1.1",
    "TRACE /a?secret HTTP/1.1",
    "GET /a?secret HTTP/7.0",
    "GET /a?secret secret",
    "get it /a?secret HTTP/1.1",
  ];
  await using backend = new Backend();
  const logged = async (format: "json" | "nginx") => {
    using observed = new ObservedProxy([backend.port], { accessLog: { format, query: false } });
    for (const line of lines) {
      using client = await Peer.connect(observed.port);
      await client.ask("GET /before?x HTTP/1.1\r\nHost: a\r\n\r\n");
      await client.ask(`${line}\r\nHost: a\r\n\r\n`);
    }
    const written = await observed.textLines();
    assert.equal(written.length, 2 * lines.length);
    return written.filter((_, index) => index % 2 === 1);
  };
  for (const line of await logged("json")) assert.doesNotMatch(line, /secret|before|"path"/);
  assert.deepEqual(
    (await logged("nginx")).map((line) => /\] "(.*?)" \d{3} /.exec(line)![1]),
    [
      ...["GET /%zz HTTP/1.1", "GET http://b.test/%zz HTTP/1.1", "TRACE /a HTTP/1.1"],
      ...["GET /a HTTP/7.0", "GET /a", "get it /a HTTP/1.1"],
    ],
  );
});

Deno.test("--access-log-ratio writes the same requests everywhere, and every failed one", async () => {
  await using backend = new Backend();
  const ids = Array.from({ length: 400 }, (_, i) => `request-${i}`);
  const fields = ["requestId", "status"] as const;
  const logged = async (port: number, ratio: number) => {
    using observed = new ObservedProxy([port], {
      accessLog: { ratio, fields },
      server: { trustedProxies: LOOPBACK },
    });
    using client = await Peer.connect(observed.port);
    for (const id of ids) {
      await client.ask(`GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n\r\n`);
    }
    return (await observed.lines()).map(({ requestId }) => requestId);
  };
  assert.deepEqual(await logged(backend.port, 0), []);
  assert.deepEqual(await logged(backend.port, 1), ids);
  const some = await logged(backend.port, 0.25);
  assert.ok(some.length > 50 && some.length < 150, `${some.length} lines`);
  assert.deepEqual(await logged(backend.port, 0.25), some);
  // Whoever writes more has these among them.
  const more = new Set(await logged(backend.port, 0.5));
  assert.deepEqual(some.filter((id) => !more.has(id)), []);
  assert.deepEqual(await logged(refusingPort(), 0), ids);
});

Deno.test("requests that a route logs not have no line in a sample either", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([backend.port], { accessLog: { ratio: 0.5 } });
  const [route] = snapshotOf([refusingPort()]).routes;
  observed.apply({
    ...snapshotOf([refusingPort()]),
    routes: [{ ...route, policy: "quiet" }],
    policies: [{ id: "quiet", accessLog: false }],
  });
  using client = await Peer.connect(observed.port);
  assert.equal(statusOf(await client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), 502);
  assert.deepEqual(await observed.textLines(), []);
});

Deno.test("control and invalid bytes in targets and fields keep each line one JSON object", async () => {
  using observed = new ObservedProxy([refusingPort()]);
  const random = randomBytes(0x5eed);
  const odd = ['"', "\\", '","status":200,"x":"', "\x7f", "\x80", "\x85", "\xa0", "\xe2\x80\xa8"];
  let requests = 0;
  const statuses = new Map<number, number>();
  for (let i = 0; i < 400; i++) {
    using client = await Peer.connect(observed.port);
    const noise = () =>
      Array.from({ length: 1 + random() % 12 }, () => {
        const choice = random() % 3;
        if (choice === 0) return odd[random() % odd.length];
        return String.fromCharCode(choice === 1 ? 0x21 + random() % 0x5e : random() % 0x100);
      }).join("");
    const place = i % 5;
    const part = (at: number) => place === at ? noise() : "x";
    const text = `${place === 4 ? `M${noise()}` : "GET"} /${part(0)}?${part(1)} HTTP/1.1\r\n` +
      `Host: app.example.com\r\nUser-Agent: ${part(2)}\r\nReferer: ${part(3)}\r\n` +
      "Connection: close\r\n\r\n";
    await client.send(Uint8Array.from(text, (char) => char.charCodeAt(0)));
    const status = statusOf(await client.answer());
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    requests++;
  }
  // Some get through to the backend, which refuses, and some are refused before.
  assert.ok(statuses.get(502)! > 100 && statuses.get(400)! > 20, [...statuses].join(" "));
  const lines = await observed.lines();
  assert.equal(lines.length, requests);
  const known = new Set(Object.keys(ACCESS_LOG_FIELDS));
  const found = new Map<number, number>();
  for (const line of lines) {
    assert.deepEqual(Object.keys(line).filter((name) => !known.has(name)), []);
    found.set(Number(line.status), (found.get(Number(line.status)) ?? 0) + 1);
  }
  assert.deepEqual([...found].sort(), [...statuses].sort());
  // Nothing that a terminal or a log viewer acts on.
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(observed.written, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]/);
});

Deno.test("with two workers each request has its complete line, and all are counted", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--allow-loopback-upstreams", "--workers=2", "--access-log"],
  });
  const CLIENTS = 20;
  const EACH = 50;
  await Promise.all(Array.from({ length: CLIENTS }, async (_, i) => {
    using client = await Peer.connect(proxy.httpPort);
    for (let j = 0; j < EACH; j++) {
      const answer = await client.ask(`GET /${i}/${j} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal(statusOf(answer), 200);
    }
  }));
  const { text } = await proxy.admin("/metrics");
  const count =
    /^pingress_requests_total\{namespace="test",host="\*",method="GET",status="2xx"\} (\d+)$/m;
  assert.equal(Number(count.exec(text)?.[1]), CLIENTS * EACH);
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 0);
  await proxy.line("Stopped");
  const lines = proxy.lines.filter(({ log }) => log === "access");
  const expected = Array.from(
    { length: CLIENTS * EACH },
    (_, k) => `/${Math.floor(k / EACH)}/${k % EACH}`,
  );
  assert.deepEqual(lines.map(({ path }) => path).sort(), expected.sort());
  assert.equal(new Set(lines.map(({ requestId }) => requestId)).size, CLIENTS * EACH);
});

Deno.test("--access-log=false disables the access log", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--allow-loopback-upstreams", "--workers=1", "--access-log=false"],
  });
  using client = await Peer.connect(proxy.httpPort);
  assert.equal(statusOf(await client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), 200);
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 0);
  await proxy.line("Stopped");
  assert.ok(proxy.lines.every(({ log }) => log !== "access"));
});

/** The same numbers for the same seed (xorshift). */
function randomBytes(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) >>> 8;
  };
}
