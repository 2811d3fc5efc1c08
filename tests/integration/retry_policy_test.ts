/** After which failures the requests of a route are retried, as its policy says. */
import assert from "node:assert/strict";
import type { Policy, Upstream } from "../../shared/snapshot/types.ts";
import { Backend, Peer, refusingPort, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { data, headers, post } from "../support/h2_frames.ts";
import { H2Server } from "../support/h2_backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import type { WireMessage } from "../support/wire_message.ts";
import { TestProxy } from "../support/test_proxy.ts";

type Conditions = NonNullable<NonNullable<Policy["retry"]>["on"]>;

/** Endpoints are asked in turn, whatever they have done. */
const LIMITS = { ejectionFailures: 0, ejectionAnswers: 0 };

/** The other endpoint responds within that on a busy machine too. */
const WITH_SILENCE = { responseHeadTimeout: 2_000 };

/** What one endpoint does with each request; the other one echoes its body. */
type Failure = "closes" | "closes within the head" | "is silent" | "is malformed" | number;

const TEXTS: Readonly<Record<string, string>> = {
  "closes within the head": "HTTP/1.1 200 OK\r\nContent-Le",
  "is malformed": "nonsense\r\n\r\n",
  "403": reply("down").replace("200", "403"),
  "500": reply("down").replace("200", "500"),
  "503": reply("down").replace("200", "503"),
};

function failingBackend(failure: Failure): Backend {
  return new Backend(async (peer) => {
    while (await peer.request() !== null) {
      if (failure === "closes") return;
      if (failure !== "is silent") await peer.send(TEXTS[failure]);
      if (failure === "closes within the head") return;
    }
  });
}

function echoingBackend(): Backend {
  return new Backend(async (peer) => {
    for (;;) {
      const message = await peer.request();
      if (message === null) return;
      await peer.send(reply(message.head.startsWith("HEAD") ? "" : message.body));
    }
  });
}

function proxyTo(upstream: Upstream, policy: Omit<Policy, "id">, limits = {}): TestProxy {
  const proxy = new TestProxy([], { ...LIMITS, ...limits });
  proxy.server.apply(filteredSnapshot({ web: { policy } }, [upstream]));
  return proxy;
}

const text = (method: string, body = "") =>
  `${method} /web HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Two responses, since one of two endpoints fails. */
async function responsesOf(port: number, request: string): Promise<WireMessage[]> {
  const answers: WireMessage[] = [];
  for (let i = 0; i < 2; i++) {
    using client = await Peer.connect(port);
    answers.push(await client.ask(request));
  }
  return answers;
}

const GET = text("GET");
const POST = text("POST", "abc");

/** Without a retry, the client gets what `fails` says for the endpoint that fails. */
const CASES: readonly [on: Conditions, failure: Failure, request: string, fails: number | null][] =
  [
    [["503"], 503, GET, null],
    [["500", "503"], 503, GET, null],
    [["503"], 500, GET, 500],
    [["error", "timeout"], 503, GET, 503],
    [["403"], 403, text("PUT", "abc"), null],
    [["503"], 503, POST, 503],
    [["503", "non-idempotent"], 503, POST, null],
    [["error"], "closes", GET, null],
    [["timeout", "503"], "closes", GET, 502],
    [["error"], "closes", POST, 502],
    [["error", "non-idempotent"], "closes", POST, null],
    [["error"], "closes within the head", GET, null],
    [["timeout"], "closes within the head", GET, 502],
    [["error"], "closes within the head", POST, 502],
    [["timeout"], "is silent", GET, null],
    [["error"], "is silent", GET, 504],
    [["timeout"], "is silent", POST, 504],
    [["malformed"], "is malformed", GET, null],
    [["error"], "is malformed", GET, 502],
    [[], "closes", GET, 502],
  ];

for (const [on, failure, request, fails] of CASES) {
  const method = request.slice(0, request.indexOf(" "));
  const what = typeof failure === "number" ? `responds with ${failure}` : failure;
  const conditions = on.join(", ") || "nothing";
  const name = fails === null ? "is retried" : `gets ${fails}`;
  Deno.test(`${method} ${name} if an endpoint ${what} and retries are for ${conditions}`, async () => {
    await using failing = failingBackend(failure);
    await using other = echoingBackend();
    const limits = failure === "is silent" ? WITH_SILENCE : {};
    const upstream = upstreamTo(WEB, [failing.port, other.port]);
    using proxy = proxyTo(upstream, { retry: { on } }, limits);
    const answers = await responsesOf(proxy.port, request);
    const statuses = answers.map(statusOf).sort();
    assert.deepEqual(statuses, fails === null ? [200, 200] : [200, fails]);
    const bodies = answers.filter((answer) => statusOf(answer) === 200).map(({ body }) => body);
    assert.ok(bodies.every((body) => body === request.slice(request.indexOf("\r\n\r\n") + 4)));
  });
}

Deno.test("a refused connection is no reason to retry where retries are off", async () => {
  await using other = echoingBackend();
  using proxy = proxyTo(upstreamTo(WEB, [refusingPort(), other.port]), { retry: { on: [] } });
  const answers = await responsesOf(proxy.port, GET);
  assert.deepEqual(answers.map(statusOf).sort(), [200, 502]);
});

Deno.test("the client gets the response of the last endpoint where no try is left", async () => {
  await using one = failingBackend(503);
  await using two = failingBackend(503);
  await using three = failingBackend(503);
  const ports = [one.port, two.port, three.port];
  for (const [tries, asked] of [[1, 1], [2, 2], [3, 3], [10, 3]]) {
    using proxy = proxyTo(upstreamTo(WEB, ports), { tries, retry: { on: ["503"] } });
    const before = one.accepted + two.accepted + three.accepted;
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(GET);
    assert.deepEqual([statusOf(answer), answer.body], [503, "down"]);
    assert.equal(one.accepted + two.accepted + three.accepted - before, asked);
  }
});

Deno.test("no attempt begins after the time for retries has passed", async () => {
  await using silent = failingBackend("is silent");
  await using other = echoingBackend();
  const upstream = upstreamTo(WEB, [silent.port, other.port]);
  for (const [timeout, statuses] of [[1, [200, 504]], [1_000_000, [200, 200]]] as const) {
    using proxy = proxyTo(upstream, { retry: { on: ["timeout"], timeout } }, WITH_SILENCE);
    const answers = await responsesOf(proxy.port, GET);
    assert.deepEqual(answers.map(statusOf).sort(), statuses);
  }
});

Deno.test("a streamed body is sent again as a whole if it is kept, and once if it is too long", async () => {
  await using failing = failingBackend(503);
  await using other = echoingBackend();
  const upstream = upstreamTo(WEB, [failing.port, other.port]);
  const body = "0123456789".repeat(10_000);
  for (const [bodyBytes, statuses] of [[100_000, [200, 200]], [99_999, [200, 503]]] as const) {
    using proxy = proxyTo(upstream, { retry: { on: ["503"], bodyBytes } });
    const found: number[] = [];
    for (let i = 0; i < 2; i++) {
      using client = await Peer.connect(proxy.port);
      await client.send(text("PUT", body).slice(0, -body.length));
      await client.send(body.slice(0, 50_000));
      await client.send(body.slice(50_000));
      const answer = await client.answer();
      found.push(statusOf(answer));
      if (statusOf(answer) === 200) assert.equal(answer.body, body);
    }
    assert.deepEqual(found.sort(), statuses);
  }
});

Deno.test("a body that is still arriving is sent on whole after an early response", async () => {
  const body = "0123456789".repeat(5_000);
  const early = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
  await using hasty = new Backend(async (peer) => {
    // The head and some of the body.
    await peer.read();
    await peer.send(early);
    await peer.ended();
  });
  await using hastyOverHttp2 = await H2Server.start((stream) => {
    stream.respond({ ":status": 503 }, { endStream: true });
  });
  await using other = echoingBackend();
  await using otherOverHttp2 = await H2Server.start((stream) => {
    stream.respond({ ":status": 200 });
    stream.pipe(stream);
  });
  const retry: Policy["retry"] = { on: ["503"], bodyBytes: body.length };
  for (
    const upstream of [
      upstreamTo(WEB, [hasty.port, other.port]),
      upstreamTo(WEB, [hastyOverHttp2.port, otherOverHttp2.port], "h2c"),
    ]
  ) {
    using proxy = proxyTo(upstream, { retry });
    for (let i = 0; i < 6; i++) {
      using client = await Peer.connect(proxy.port);
      await client.send(text("PUT", body).slice(0, -body.length + 100));
      // While the first endpoint responds, more comes by and by.
      for (let at = 100; at < body.length; at += 7_000) {
        await new Promise((resume) => setTimeout(resume, i));
        await client.send(body.slice(at, at + 7_000));
      }
      const answer = await client.answer();
      assert.equal(statusOf(answer), 200, upstream.protocol);
      assert.equal(answer.body, body);
    }
  }
});

Deno.test("HTTP/2 backends are retried after a status and a timeout, with the body", async () => {
  await using failing = await H2Server.start((stream, head) => {
    if (head["x-silent"] !== undefined) return;
    stream.respond({ ":status": 503 });
    stream.end("down");
  });
  await using other = await H2Server.start((stream) => {
    stream.respond({ ":status": 200 });
    stream.pipe(stream);
  });
  const upstream = upstreamTo(WEB, [failing.port, other.port], "h2c");
  const retry: Policy["retry"] = { on: ["503", "timeout", "non-idempotent"] };
  using proxy = proxyTo(upstream, { retry }, WITH_SILENCE);
  for (const more of ["", "X-Silent: 1\r\n"]) {
    const request = POST.replace("\r\n\r\n", `\r\n${more}\r\n`);
    const answers = await responsesOf(proxy.port, request);
    assert.deepEqual(answers.map((answer) => [statusOf(answer), answer.body]), [
      [200, "abc"],
      [200, "abc"],
    ]);
  }
});

Deno.test("HTTP/2 clients get the response of the endpoint that was tried last", async () => {
  await using failing = failingBackend(503);
  await using other = echoingBackend();
  using proxy = proxyTo(upstreamTo(WEB, [failing.port, other.port]), {
    retry: { on: ["503", "non-idempotent"] },
  });
  await using client = await H2Peer.connect(proxy.port);
  for (const id of [1, 3, 5, 7]) {
    await client.send(headers(id, post("/web")), data(id, "abc", { end: true }));
    const answer = await client.answer(id);
    assert.equal(answer.status, 200);
  }
});
