/**
 * HTTP/2 requests, byte by byte: which are malformed (RFC 9113 §8.1.1, 8.2 and 8.3), so that none
 * can smuggle a request to an HTTP/1.1 backend, and what the backend receives of the others.
 */
import assert from "node:assert/strict";
import {
  data,
  type Field,
  FRAME,
  frame,
  get,
  headers,
  indexed,
  join,
  literals,
  post,
  priorityOn,
  remembered,
  request,
} from "../support/h2_frames.ts";
import { bytesOf } from "../support/latin1.ts";
import { codeName, type H2Peer } from "../support/h2_peer.ts";
import { H2Scene } from "../support/h2_scene.ts";
import { until } from "../support/backend.ts";

/** So that one connection can carry a table of malformed requests. */
const PATIENT = { http2Resets: 100_000 };

/** What becomes of one request: a status, or the code of a reset. */
async function fateOf(peer: H2Peer, fields: readonly Field[], body?: string): Promise<string> {
  const stream = peer.nextStream();
  await peer.send(headers(stream, fields, { end: body === undefined }));
  if (body !== undefined) await peer.send(data(stream, body, { end: true }));
  const message = await peer.answer(stream);
  if (peer.goAway !== null) return `connection: ${codeName(peer.goAway.code)}`;
  return message.reset === null ? String(message.status) : codeName(message.reset);
}

// ── Bytes ─────────────────────────────────────────────────────────────────────────────────────

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]$/;
const NAMES_PLACES: readonly (readonly [place: string, name: (char: string) => string])[] = [
  ["alone", (char) => char],
  ["first", (char) => `${char}x`],
  ["within", (char) => `x${char}x`],
  ["last", (char) => `x${char}`],
];

for (const [place, nameOf] of NAMES_PLACES) {
  Deno.test(`each byte, ${place} in a field's name: a token in lower case, or PROTOCOL_ERROR`, async () => {
    await using scene = new H2Scene(PATIENT);
    const peer = await scene.connect();
    const wrong: string[] = [];
    for (let byte = 0; byte < 256; byte++) {
      const char = String.fromCharCode(byte);
      const expected = TOKEN.test(char) ? "200" : "PROTOCOL_ERROR";
      const fate = await fateOf(peer, get("/ok", [[nameOf(char), "v"]]));
      if (fate !== expected) wrong.push(`0x${byte.toString(16)}: ${fate}`);
    }
    assert.deepEqual(wrong, []);
  });
}

const VALUE_PLACES: readonly (readonly [
  place: string,
  value: (char: string) => string,
  isWhiteSpaceFine: boolean,
])[] = [
  ["alone", (char) => char, false],
  ["first", (char) => `${char}v`, false],
  ["within", (char) => `v${char}v`, true],
  ["last", (char) => `v${char}`, false],
];

for (const [place, valueOf, isWhiteSpaceFine] of VALUE_PLACES) {
  Deno.test(`each byte, ${place} in a field's value: text, or PROTOCOL_ERROR`, async () => {
    await using scene = new H2Scene(PATIENT);
    const peer = await scene.connect();
    const wrong: string[] = [];
    for (let byte = 0; byte < 256; byte++) {
      const isBlank = byte === 0x20 || byte === 0x09;
      const isText = byte > 0x20 && byte !== 0x7f;
      const expected = isText || isBlank && isWhiteSpaceFine ? "200" : "PROTOCOL_ERROR";
      const fate = await fateOf(peer, get("/ok", [["x", valueOf(String.fromCharCode(byte))]]));
      if (fate !== expected) wrong.push(`0x${byte.toString(16)}: ${fate}`);
    }
    assert.deepEqual(wrong, []);
  });
}

Deno.test("each byte in a pseudo-header field: only valid ones reach a backend", async () => {
  await using scene = new H2Scene(PATIENT);
  const peer = await scene.connect();
  const wrong: string[] = [];
  for (const name of [":method", ":scheme", ":path", ":authority"]) {
    for (let byte = 0; byte < 256; byte++) {
      const char = String.fromCharCode(byte);
      const fields = get("/ok").map((
        [own, value],
      ): Field => [own, own === name ? `${value}${char}x` : value]);
      const before = scene.origin.hits;
      const fate = await fateOf(peer, fields);
      const isForbidden = byte <= 0x20 || byte >= 0x7f || char === "#" && name === ":path";
      const reached = scene.origin.hits !== before;
      const isRefused = /^(PROTOCOL_ERROR|4\d\d|501)$/.test(fate);
      if (isForbidden && (reached || !isRefused)) {
        wrong.push(`${name} 0x${byte.toString(16)}: ${fate}`);
      }
      if (/^[\r\n\0]$/.test(char) && fate !== "PROTOCOL_ERROR") {
        wrong.push(`${name} 0x${byte.toString(16)}: ${fate}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

Deno.test("fields are validated in every encoding", async () => {
  await using scene = new H2Scene(PATIENT);
  const peer = await scene.connect();
  for (const bad of [["X-Upper", "v"], ["x", "a\r\nb"], ["x", " v"], ["a:b", "v"]] as const) {
    for (let round = 0; round < 2; round++) {
      const stream = peer.nextStream();
      // The first time it enters the table, the second time it comes from there.
      const block = round === 0 ? remembered(bad) : indexed(62);
      await peer.send(headers(stream, join(literals(get("/ok")), block), { end: true }));
      assert.equal(codeName((await peer.answer(stream)).reset), "PROTOCOL_ERROR");
    }
  }
  assert.equal(scene.origin.hits, 0);
});

// ── Fields ────────────────────────────────────────────────────────────────────────────────────

const without = (name: string) => get("/ok").filter((field) => field[0] !== name);
const PE = "PROTOCOL_ERROR";

const FATES: readonly (readonly [says: string, fields: readonly Field[], fate: string | RegExp])[] =
  [
    ["an empty name", get("/ok", [["", "v"]]), PE],
    ["no :method", without(":method"), PE],
    ["no :scheme", without(":scheme"), PE],
    ["no :path", without(":path"), PE],
    ["an empty :path", request("GET", ""), PE],
    ["an empty :method", request("", "/ok"), PE],
    ["two :method", [[":method", "GET"], ...get("/ok")], PE],
    ["two :scheme", [[":scheme", "http"], ...get("/ok")], PE],
    ["two :path", [[":path", "/ok"], ...get("/ok")], PE],
    ["two :authority", [[":authority", "a.test"], ...get("/ok")], PE],
    ["a pseudo-field behind a field", [["x", "v"], ...get("/ok")], PE],
    ["one of them behind a field", [...without(":path"), ["x", "v"], [":path", "/ok"]], PE],
    ["an unknown pseudo-field", [[":unknown", "x"], ...get("/ok")], PE],
    ["a pseudo-header field of responses", [[":status", "200"], ...get("/ok")], PE],
    [":protocol without CONNECT", [[":protocol", "websocket"], ...get("/ok")], PE],
    ["connection", get("/ok", [["connection", "close"]]), PE],
    ["an empty connection field", get("/ok", [["connection", ""]]), PE],
    ["keep-alive", get("/ok", [["keep-alive", "5"]]), PE],
    ["proxy-connection", get("/ok", [["proxy-connection", "keep-alive"]]), PE],
    ["transfer-encoding", get("/ok", [["transfer-encoding", "chunked"]]), PE],
    ["upgrade", get("/ok", [["upgrade", "websocket"]]), PE],
    ["te: gzip", get("/ok", [["te", "gzip"]]), PE],
    ["te: trailers, gzip", get("/ok", [["te", "trailers, gzip"]]), PE],
    ["te: trailers", get("/ok", [["te", "trailers"]]), "200"],
    ["a path without a slash", request("GET", "ok"), /^(400|PROTOCOL_ERROR)$/],
    ["an absolute URL as path", request("GET", "http://a.test/ok"), /^(400|PROTOCOL_ERROR)$/],
    ["* as path of GET", request("GET", "*"), /^(400|PROTOCOL_ERROR)$/],
    ["no authority and no host", without(":authority"), /^(400|PROTOCOL_ERROR)$/],
    ["a host in place of an authority", [...without(":authority"), ["host", "a.test"]], "200"],
    ["a host that is the authority", get("/ok", [["host", "a.test"]]), "200"],
    ["a host that is another", get("/ok", [["host", "b.test"]]), /^(400|PROTOCOL_ERROR)$/],
    ["two hosts", get("/ok", [["host", "a.test"], ["host", "b.test"]]), /^(400|PROTOCOL_ERROR)$/],
    [
      "two hosts alike without authority",
      [...without(":authority"), ["host", "a.test"], ["host", "a.test"]],
      /^(400|PROTOCOL_ERROR)$/,
    ],
    ["an empty host", [...without(":authority"), ["host", ""]], /^(400|PROTOCOL_ERROR)$/],
    [
      "an authority with a user",
      [...without(":authority"), [":authority", "u@a.test"]],
      /^(400|PROTOCOL_ERROR)$/,
    ],
    [
      "CONNECT",
      [[":method", "CONNECT"], [":authority", "a.test:443"]],
      /^(405|501|PROTOCOL_ERROR)$/,
    ],
    ["CONNECT with a path", request("CONNECT", "/ok"), PE],
    ["TRACE", request("TRACE", "/ok"), "405"],
    [
      "a content-length that is no number",
      get("/ok", [["content-length", "x"]]),
      /^(400|PROTOCOL_ERROR)$/,
    ],
    [
      "a content-length with a sign",
      get("/ok", [["content-length", "+0"]]),
      /^(400|PROTOCOL_ERROR)$/,
    ],
    [
      "two content-lengths that differ",
      get("/ok", [["content-length", "0"], ["content-length", "1"]]),
      /^(400|PROTOCOL_ERROR)$/,
    ],
    ["a content-length without a body", get("/ok", [["content-length", "1"]]), PE],
    ["a content-length of 0 without a body", get("/ok", [["content-length", "0"]]), "200"],
  ];

for (const [says, fields, expected] of FATES) {
  Deno.test(`a request with ${says}: ${expected}`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    const fate = await fateOf(peer, fields);
    if (typeof expected === "string") assert.equal(fate, expected);
    else assert.match(fate, expected);
    assert.equal(scene.origin.hits, fate === "200" ? 1 : 0);
    assert.equal((await peer.ask("/ok")).body, "ok");
  });
}

const TRAILERS: readonly (readonly [says: string, fields: readonly Field[], end: boolean])[] = [
  ["a pseudo-field", [[":path", "/"]], true],
  ["upper case", [["X-Sum", "1"]], true],
  ["connection", [["connection", "close"]], true],
  ["transfer-encoding", [["transfer-encoding", "chunked"]], true],
  ["no end", [["x-sum", "1"]], false],
];

for (const [says, fields, end] of TRAILERS) {
  Deno.test(`trailers with ${says} are malformed, and the backend's request is aborted`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    await peer.send(headers(1, post("/hold")), data(1, "abc"), headers(1, fields, { end }));
    assert.equal(codeName((await peer.answer(1)).reset), PE);
    await scene.settled();
    assert.equal((await peer.ask("/ok")).body, "ok");
  });
}

// ── Bodies ────────────────────────────────────────────────────────────────────────────────────

const BODIES: readonly (readonly [says: string, length: string, parts: readonly string[]])[] = [
  ["shorter than its content-length", "5", ["abcd"]],
  ["empty, with a content-length", "1", [""]],
  ["longer than its content-length", "3", ["abcd"]],
  ["longer by a frame", "4", ["abcd", "e"]],
  ["present, with a content-length of 0", "0", ["a"]],
];

for (const [says, length, parts] of BODIES) {
  Deno.test(`a body that is ${says} is PROTOCOL_ERROR, and no backend sees it as complete`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    await peer.send(headers(1, post("/echo", [["content-length", length]])));
    for (const [i, part] of parts.entries()) {
      await peer.send(data(1, part, { end: i === parts.length - 1 }));
    }
    assert.equal(codeName((await peer.answer(1)).reset), PE);
    assert.equal((await peer.ask("/ok")).body, "ok");
  });
}

Deno.test("a body that ends with trailers before its content-length is PROTOCOL_ERROR", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(
    headers(1, post("/echo", [["content-length", "5"]])),
    data(1, "abcd"),
    headers(1, [["x-sum", "1"]], { end: true }),
  );
  assert.equal(codeName((await peer.answer(1)).reset), PE);
});

// ── What the backend gets ─────────────────────────────────────────────────────────────────────

/** The request as the backend got it. */
async function echo(
  peer: H2Peer,
  fields: readonly Field[],
  ...rest: ((stream: number) => Uint8Array)[]
) {
  const stream = peer.nextStream();
  await peer.send(
    headers(stream, fields, { end: rest.length === 0 }),
    ...rest.map((part) => part(stream)),
  );
  const { status, body } = await peer.answer(stream);
  assert.equal(status, 200);
  return echoed(body);
}

function echoed(text: string) {
  const [head, ...bodies] = text.split("\r\n\r\n");
  return { lines: head.split("\r\n"), body: bodies.join("\r\n\r\n") };
}

function values(lines: readonly string[], name: string): string[] {
  return lines
    .filter((line) => line.toLowerCase().startsWith(`${name}: `))
    .map((line) => line.slice(name.length + 2));
}

Deno.test("a request reaches the backend as HTTP/1.1, with Host and no pseudo-header fields", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const { lines } = await echo(peer, get("/echo?a=%2F", [["accept", "*/*"], ["x", ""]]));
  assert.equal(lines[0], "GET /echo?a=%2F HTTP/1.1");
  assert.deepEqual(values(lines, "host"), ["a.test"]);
  assert.deepEqual(values(lines, "accept"), ["*/*"]);
  assert.deepEqual(lines.filter((line) => line.startsWith(":")), []);
  for (const name of ["content-length", "transfer-encoding", "upgrade"]) {
    assert.deepEqual(values(lines, name), [], name);
  }
  // That we take trailers is of our connection, whatever the client's says.
  assert.deepEqual([values(lines, "connection"), values(lines, "te")], [["TE"], ["trailers"]]);
});

Deno.test("one Host reaches the backend for :authority, Host or both", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const bare = get("/echo").filter(([name]) => name !== ":authority");
  for (
    const fields of [
      get("/echo"),
      get("/echo", [["host", "a.test"]]),
      [...bare, ["host", "a.test"]] as Field[],
    ]
  ) {
    assert.deepEqual(values((await echo(peer, fields)).lines, "host"), ["a.test"]);
  }
});

Deno.test("split Cookie fields reach the backend as one (§8.2.3)", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const { lines } = await echo(
    peer,
    get("/echo", [["cookie", "a=1"], ["x", "between"], ["cookie", "b=2; c=3"], ["cookie", "d=4"]]),
  );
  assert.deepEqual(values(lines, "cookie"), ["a=1; b=2; c=3; d=4"]);
});

Deno.test("a body with a length keeps it, one without is sent chunked", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  for (const more of [[], [["content-length", "5"]]] as const) {
    const known = await echo(peer, post("/echo", more), (id) => data(id, "abcde", { end: true }));
    assert.deepEqual(values(known.lines, "content-length"), ["5"]);
    assert.deepEqual(values(known.lines, "transfer-encoding"), []);
    assert.equal(known.body, "abcde");
  }
  const stream = peer.nextStream();
  const { hits } = scene.origin;
  await peer.send(headers(stream, post("/echo")), data(stream, "abc"));
  await until("the head", () => scene.origin.hits > hits);
  await peer.send(data(stream, "de", { end: true }));
  const unknown = echoed((await peer.answer(stream)).body);
  assert.deepEqual(values(unknown.lines, "content-length"), []);
  assert.deepEqual(values(unknown.lines, "transfer-encoding"), ["chunked"]);
  assert.equal(unknown.body, "abcde");
});

Deno.test("padding is neither part of a body nor of a head", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(
    headers(1, post("/echo"), { padding: 200, priority: priorityOn(0, 255, true) }),
    data(1, "abc", { padding: 255 }),
    data(1, "", { padding: 0 }),
    data(1, "de", { padding: 0, end: true }),
  );
  assert.match((await peer.answer(1)).body, /\r\n\r\nabcde$/);
});

Deno.test("trailers of a request do not reach an HTTP/1.1 backend", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const { body } = await echo(
    peer,
    post("/echo"),
    (stream) => data(stream, "abc"),
    (stream) => headers(stream, [["x-sum", "1"], ["x-more", "2"]], { end: true }),
  );
  assert.equal(body, "abc");
});

Deno.test("a body that ends without DATA, with the head or later, is an empty body", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  for (const kind of [[], [["content-type", "application/grpc"]]] as const) {
    const { body } = await echo(peer, post("/echo", kind), (id) => data(id, "", { end: true }));
    assert.equal(body, "");
    const stream = peer.nextStream();
    const { hits } = scene.origin;
    await peer.send(headers(stream, post("/echo", kind)));
    await until("the head", () => scene.origin.hits > hits);
    await peer.send(data(stream, "", { end: true }));
    assert.equal((await peer.answer(stream)).status, 200);
  }
});

Deno.test("trailers without DATA before them end an empty body", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const { body } = await echo(
    peer,
    post("/echo"),
    (stream) => headers(stream, [["x-sum", "1"]], { end: true }),
  );
  assert.equal(body, "");
});

Deno.test("framing fields in trailers are malformed or do not reach the backend", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  for (const name of ["content-length", "host", "content-type", "authorization"]) {
    const stream = peer.nextStream();
    await peer.send(
      headers(stream, post("/echo")),
      data(stream, "abc"),
      headers(stream, [[name, "1"], ["x-sum", "1"]], { end: true }),
    );
    const { body, reset } = await peer.answer(stream);
    if (reset !== null) assert.equal(codeName(reset), PE);
    else assert.doesNotMatch(body.slice(body.indexOf("\r\n\r\nabc")), new RegExp(name, "i"));
  }
});

Deno.test("te, and connection-specific fields of HTTP/1.1, do not reach the backend", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const { lines } = await echo(
    peer,
    get("/echo", [["te", "trailers"], ["proxy-authorization", "x"], [
      "http2-settings",
      "AAMAAABk",
    ]]),
  );
  for (const name of ["http2-settings", "proxy-authorization", "upgrade"]) {
    assert.deepEqual(values(lines, name), [], name);
  }
});

Deno.test("the backend parses no bytes of a body as a request", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";
  const kinds: readonly (readonly Field[])[] = [
    [],
    [["content-type", "application/grpc"]],
    [["content-type", "application/grpc-web"]],
    [["expect", "100-continue"]],
    [["content-length", String(smuggled.length)]],
  ];
  for (const [index, kind] of kinds.entries()) {
    for (const text of [smuggled, `0\r\n\r\n${smuggled}`]) {
      if (kind[0]?.[0] === "content-length" && text !== smuggled) continue;
      const { body } = await echo(
        peer,
        post("/echo", kind),
        (stream) => data(stream, text, { end: true }),
      );
      assert.equal(body, text, `${kind} ${index}`);
    }
  }
  const before = scene.origin.hits;
  await echo(peer, get("/echo", [["content-length", "0"]]));
  assert.equal(scene.origin.hits, before + 1);
  assert.equal(before, 2 * kinds.length - 1);
});

Deno.test("expect: 100-continue gets 100 when the backend asks for the body", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  await peer.send(headers(1, post("/echo", [["expect", "100-continue"]])));
  await peer.until("100", () => peer.stream(1).status === 100 || peer.stream(1).over);
  await peer.send(data(1, "abc", { end: true }));
  assert.match((await peer.answer(1)).body, /\r\n\r\nabc$/);
});

Deno.test("unknown frames, flags and the reserved bit have no effect", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const block = literals(post("/echo"));
  await peer.send(
    frame(FRAME.HEADERS, 0x4 | 0x40 | 0x80 | 0x10, 1, block),
    frame(0xbe, 0xff, 1, bytesOf("whatever")),
    frame(FRAME.DATA, 0x80 | 0x40, 0x80000001, bytesOf("abc")),
    frame(0xef, 0, 0, new Uint8Array(16_384)),
    frame(FRAME.ALTSVC, 0, 0, bytesOf('\0\x06a.testh2=":443"')),
    frame(FRAME.ORIGIN, 0, 0, bytesOf("\0\x0dhttps://a.test")),
    data(1, "", { end: true }),
  );
  assert.match((await peer.answer(1)).body, /\r\n\r\nabc$/);
});
