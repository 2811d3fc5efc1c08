/**
 * Heads that are expensive to hold or to read (too many or too large headers, CONTINUATION floods
 * as in CVE-2024-27316, HPACK bombs as in CVE-2016-6581), and heads that never end: what the
 * response is, what ends the connection, and that the next request is parsed correctly.
 */
import assert from "node:assert/strict";
import { ABUSE_TEXTS } from "../../proxy/http2/abuse.ts";
import {
  continuation,
  data,
  type Field,
  FRAME,
  get,
  headers,
  indexed,
  integer,
  join,
  literal,
  literals,
  ping,
  post,
  PREFACE,
  remembered,
  repeat,
  SETTING,
  settings,
  tableSize,
} from "../support/h2_frames.ts";
import { bytesOf } from "../support/latin1.ts";
import { codeName } from "../support/h2_peer.ts";
import { H2Scene } from "../support/h2_scene.ts";

const HEAD = literals(get("/ok"));
const MAX_FRAME = 16_384;

/** A head in as many frames as it needs. */
function head(stream: number, block: Uint8Array, end = true): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let at = MAX_FRAME; at < block.length; at += MAX_FRAME) {
    const isLast = at + MAX_FRAME >= block.length;
    parts.push(continuation(stream, block.subarray(at, at + MAX_FRAME), isLast));
  }
  return join(
    headers(stream, block.subarray(0, MAX_FRAME), { end, endHeaders: parts.length === 0 }),
    ...parts,
  );
}

function fields(count: number, name = (i: number) => `x-${i}`): Field[] {
  return Array.from({ length: count }, (_, i) => [name(i), "v"]);
}

// ── What is too large ─────────────────────────────────────────────────────────────────────────

const LIMITS = { requestFields: 100, requestHeadBytes: 32 * 1024 };

const SIZES: readonly { readonly says: string; readonly block: Uint8Array; status: number }[] = [
  { says: "no fields besides its own", block: HEAD, status: 200 },
  { says: "as many fields as allowed", block: join(HEAD, literals(fields(96))), status: 200 },
  { says: "a field too many", block: join(HEAD, literals(fields(101))), status: 431 },
  { says: "5,000 fields", block: join(HEAD, literals(fields(5_000))), status: 431 },
  {
    says: "as many crumbs of cookies as fields are allowed",
    block: join(HEAD, literals(fields(96, () => "cookie"))),
    status: 200,
  },
  {
    says: "a crumb too many",
    block: join(HEAD, literals(fields(101, () => "cookie"))),
    status: 431,
  },
  {
    says: "a field as large as fits",
    block: join(HEAD, literal(["x", "v".repeat(32 * 1024 - 400)])),
    status: 200,
  },
  { says: "a field of 64 KiB", block: join(HEAD, literal(["x", "v".repeat(65_536)])), status: 431 },
  {
    says: "a name of 40 KiB",
    block: join(HEAD, literal(["x".repeat(40 * 1024), "v"])),
    status: 431,
  },
  {
    says: "4 KiB a thousand times by one byte each (HPACK bomb)",
    block: join(HEAD, remembered(["x", "v".repeat(4_000)]), repeat(1_000, () => indexed(62))),
    status: 431,
  },
  {
    says: "4 KiB 12,000 times by one byte each",
    block: join(HEAD, remembered(["x", "v".repeat(4_000)]), repeat(12_000, () => indexed(62))),
    status: 431,
  },
  {
    says: "8,000 fields of one byte each (HTTP/2 Bomb)",
    block: join(HEAD, repeat(8_000, () => indexed(16))),
    status: 431,
  },
  {
    says: "8,000 crumbs of one byte each",
    block: join(HEAD, remembered(["cookie", "a=b"]), repeat(8_000, () => indexed(62))),
    status: 431,
  },
  {
    says: "a path of 33 KiB",
    block: literals(get(`/${"a".repeat(33 * 1024)}`)),
    status: 414,
  },
];

for (const { says, block, status } of SIZES) {
  Deno.test(`a head with ${says} gets ${status}, and the connection continues`, async () => {
    await using scene = new H2Scene(LIMITS);
    const peer = await scene.connect();
    for (let i = 0; i < 3; i++) {
      const stream = peer.nextStream();
      await peer.send(head(stream, block));
      assert.equal((await peer.answer(stream)).status, status);
    }
    assert.equal(scene.origin.hits, status === 200 ? 3 : 0);
    assert.equal((await peer.ask("/ok")).body, "ok");
    assert.ok(await peer.isAlive());
  });
}

Deno.test("the limit of fields is announced in SETTINGS (§6.5.2), as decoded size with 32 bytes a field", async () => {
  await using scene = new H2Scene(LIMITS);
  const peer = await scene.connect();
  await peer.until("SETTINGS", () => peer.count(FRAME.SETTINGS) > 0);
  assert.equal(peer.setting(SETTING.MAX_HEADER_LIST_SIZE), LIMITS.requestHeadBytes);
});

Deno.test("a head too large to be collected closes the connection", async () => {
  await using scene = new H2Scene(LIMITS);
  const peer = await scene.connect();
  await peer.send(head(1, join(HEAD, literals(fields(20_000)))));
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "ENHANCE_YOUR_CALM");
  assert.equal(peer.goAway?.debug, ABUSE_TEXTS.large_heads);
  assert.deepEqual(await scene.ends(), { large_heads: 1 });
  assert.equal(scene.origin.hits, 0);
});

Deno.test("32 bytes of each field count, whatever it contains", async () => {
  // 900 fields of 3 bytes are 2.7 KiB, and 31 KiB with what each costs.
  await using scene = new H2Scene({ requestFields: 10_000, requestHeadBytes: 32 * 1024 });
  const peer = await scene.connect();
  await peer.send(head(1, join(HEAD, literals(fields(800, () => "x")))));
  assert.equal((await peer.answer(1)).status, 200);
  await peer.send(head(3, join(HEAD, literals(fields(1_100, () => "x")))));
  assert.equal((await peer.answer(3)).status, 431);
});

Deno.test("a table changed by a head that is too large is in sync for the next head", async () => {
  await using scene = new H2Scene(LIMITS);
  const peer = await scene.connect();
  // What enters the table behind the limit counts too: the next head names it.
  const block = join(
    HEAD,
    remembered(["x-first", "1"]),
    literals(fields(200)),
    remembered(["x-second", "2"]),
    remembered(["x-third", "3"]),
  );
  await peer.send(head(1, block));
  assert.equal((await peer.answer(1)).status, 431);
  await peer.send(headers(3, join(literals(get("/echo")), indexed(62), indexed(63), indexed(64)), {
    end: true,
  }));
  const { body } = await peer.answer(3);
  assert.match(body, /\r\nx-third: 3\r\nx-second: 2\r\nx-first: 1\r\n/i);
});

Deno.test("a head that is too large gets 431, and its body is not waited for", async () => {
  await using scene = new H2Scene(LIMITS);
  const peer = await scene.connect();
  await peer.send(head(1, join(literals(post("/echo")), literals(fields(101))), false));
  await peer.until("431", () => peer.stream(1).status === 431 && peer.stream(1).over);
  await peer.send(data(1, "x".repeat(1000)), data(1, "", { end: true }));
  assert.equal((await peer.ask("/ok")).body, "ok");
  assert.equal(scene.origin.hits, 1);
});

Deno.test("trailers that are too large reset only their stream", async () => {
  await using scene = new H2Scene(LIMITS);
  const peer = await scene.connect();
  await peer.send(headers(1, post("/hold")), head(1, literals(fields(200))));
  await peer.until("the stream's end", () => peer.stream(1).over);
  await scene.settled();
  assert.equal((await peer.ask("/ok")).body, "ok");
});

// ── CONTINUATION ──────────────────────────────────────────────────────────────────────────────

for (const piece of [1, 0]) {
  const says = piece === 0 ? "empty" : "not empty";
  Deno.test(`a head may have 16 CONTINUATION frames (${says}), and no more`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect();
    const inPieces = (stream: number, count: number) => {
      const rest = HEAD.subarray(0, HEAD.length - count * piece);
      const parts = Array.from({ length: count }, (_, i) => {
        const at = rest.length + i * piece;
        return continuation(stream, HEAD.subarray(at, at + piece), i === count - 1);
      });
      return join(headers(stream, rest, { end: true, endHeaders: false }), ...parts);
    };
    for (let i = 0; i < 5; i++) {
      const stream = peer.nextStream();
      await peer.send(inPieces(stream, 16));
      assert.equal((await peer.answer(stream)).status, 200);
    }
    await peer.send(inPieces(peer.nextStream(), 17));
    await peer.ended();
    assert.equal(codeName(peer.goAway?.code), "ENHANCE_YOUR_CALM");
    assert.equal(peer.goAway?.debug, ABUSE_TEXTS.continuations);
  });
}

// ── HPACK ─────────────────────────────────────────────────────────────────────────────────────

const BROKEN: readonly (readonly [says: string, block: Uint8Array])[] = [
  ["index 0", join(HEAD, Uint8Array.of(0x80))],
  ["an index behind the table", join(HEAD, indexed(62))],
  ["an index far behind the table", join(HEAD, indexed(1_000_000))],
  ["a name's index behind the table", join(HEAD, integer(0x40, 6, 70), bytesOf("\x01a"))],
  ["an integer without end", join(HEAD, Uint8Array.of(0xff), new Uint8Array(1000).fill(0x80))],
  [
    "an integer of 2^70",
    join(HEAD, Uint8Array.of(0xff), new Uint8Array(9).fill(0xff), Uint8Array.of(1)),
  ],
  ["an integer that is cut off", join(HEAD, Uint8Array.of(0xff, 0x80))],
  ["a string that is cut off", join(HEAD, bytesOf("\x00\x05ab"))],
  ["a string longer than 4 GiB", join(HEAD, bytesOf("\x00\x7f\xff\xff\xff\xff\x7f"))],
  ["a field without a value", join(HEAD, bytesOf("\x00\x01a"))],
  ["a table larger than allowed", join(tableSize(1_000_000), HEAD)],
  ["a table's size behind a field", join(HEAD, tableSize(0))],
  ["Huffman's code padded with zeros", join(HEAD, bytesOf("\x00\x01a\x81\x18"))],
  ["Huffman's code padded with a byte", join(HEAD, bytesOf("\x00\x01a\x82\x1f\xff"))],
  ["Huffman's end of string", join(HEAD, bytesOf("\x00\x01a\x84\xff\xff\xff\xff"))],
];

for (const [says, block] of BROKEN) {
  Deno.test(`${says} closes the connection: COMPRESSION_ERROR`, async () => {
    await using scene = new H2Scene();
    await scene.startCanary();
    const peer = await scene.connect();
    await peer.send(headers(1, block, { end: true }));
    await peer.ended();
    assert.equal(codeName(peer.goAway?.code), "COMPRESSION_ERROR");
    assert.notEqual(peer.goAway?.debug, "");
    assert.deepEqual(await scene.ends(), { compression_error: 1 });
    assert.equal(scene.origin.hits, 0);
    await scene.checkCanary();
  });
}

Deno.test("a table may shrink, be emptied, and grow again", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const echo = literals(get("/echo"));
  await peer.send(headers(1, join(echo, remembered(["x-a", "1"]), indexed(62)), { end: true }));
  assert.match((await peer.answer(1)).body, /x-a: 1\r\nx-a: 1\r\n/i);
  await peer.send(
    headers(3, join(tableSize(0), tableSize(4096), echo, remembered(["x-b", "2"]), indexed(62)), {
      end: true,
    }),
  );
  assert.match((await peer.answer(3)).body, /x-b: 2\r\nx-b: 2\r\n/i);
  await peer.send(headers(5, join(echo, indexed(63)), { end: true }));
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "COMPRESSION_ERROR");
});

Deno.test("an entry larger than the table empties it", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  const echo = literals(get("/echo"));
  await peer.send(
    headers(1, join(echo, remembered(["x-a", "1"]), remembered(["x-b", "v".repeat(5000)])), {
      end: true,
    }),
  );
  assert.equal((await peer.answer(1)).status, 200);
  await peer.send(headers(3, join(echo, indexed(62)), { end: true }));
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "COMPRESSION_ERROR");
});

Deno.test("our responses work for a client without a dynamic table", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect({ settings: [[SETTING.HEADER_TABLE_SIZE, 0]] });
  for (let i = 0; i < 5; i++) assert.equal((await peer.ask("/ok")).body, "ok");
  const tables = peer.frames
    .filter(({ type }) => type === FRAME.HEADERS)
    .filter(({ payload }) => (payload[0] & 0xc0) === 0x40);
  assert.deepEqual(tables, []);
});

// ── Beginnings ────────────────────────────────────────────────────────────────────────────────

const SLOW = { requestHeadTimeout: 300 };

const BEGINNINGS: readonly (readonly [says: string, bytes: Uint8Array])[] = [
  ["half of the preface", PREFACE.subarray(0, 12)],
  ["the preface but its last byte", PREFACE.subarray(0, PREFACE.length - 1)],
  ["the preface without SETTINGS", PREFACE],
  ["the preface and half of SETTINGS", join(PREFACE, settings().subarray(0, 5))],
  ["a head without its end", join(PREFACE, settings(), headers(1, HEAD, { endHeaders: false }))],
  [
    "a frame's header without its payload",
    join(PREFACE, settings(), headers(1, HEAD).subarray(0, 12)),
  ],
];

for (const [says, bytes] of BEGINNINGS) {
  Deno.test(`${says}, and then nothing: closed after the head timeout`, async () => {
    await using scene = new H2Scene(SLOW);
    await scene.startCanary();
    const peer = await scene.connect({ rude: true });
    await peer.send(bytes);
    await peer.ended();
    assert.equal(scene.origin.hits, 0);
    await scene.checkCanary();
  });

  Deno.test(`${says}, byte by byte and then nothing: closed after the head timeout`, async () => {
    await using scene = new H2Scene(SLOW);
    const peer = await scene.connect({ rude: true });
    for (const byte of bytes) {
      if (!await peer.send(Uint8Array.of(byte))) break;
      await new Promise((resume) => setTimeout(resume, 2));
    }
    await peer.ended();
    assert.equal(scene.origin.hits, 0);
  });
}

Deno.test("a head that trickles is aborted after the head timeout, whatever arrives of it", async () => {
  await using scene = new H2Scene(SLOW);
  const peer = await scene.connect();
  await peer.send(headers(1, HEAD.subarray(0, 1), { endHeaders: false }));
  for (let i = 1; i < 16 && peer.ending === ""; i++) {
    await new Promise((resume) => setTimeout(resume, 40));
    await peer.send(continuation(1, HEAD.subarray(i, i + 1), false));
  }
  await peer.ended();
  assert.equal(scene.origin.hits, 0);
});

Deno.test("a connection with a complete preface is not closed for its slow start", async () => {
  await using scene = new H2Scene(SLOW);
  const peer = await scene.connect();
  assert.ok(await peer.isAlive());
  await new Promise((resume) => setTimeout(resume, 2 * SLOW.requestHeadTimeout));
  assert.equal((await peer.ask("/ok")).body, "ok");
});

Deno.test("a connection may start byte by byte", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect({ rude: true });
  for (const byte of join(PREFACE, settings(), headers(1, get("/ok"), { end: true }), ping(7))) {
    await peer.send(Uint8Array.of(byte));
  }
  assert.equal((await peer.answer(1)).body, "ok");
});

for (
  const [says, bytes] of [
    ["another preface", bytesOf("PRI * HTTP/2.0\r\n\r\nSN\r\n\r\n")],
    ["the preface of HTTP/1.1's upgrade", bytesOf("PRI * HTTP/1.1\r\n\r\nSM\r\n\r\n")],
    ["a frame that is not SETTINGS", join(PREFACE, ping())],
    ["HEADERS before SETTINGS", join(PREFACE, headers(1, get("/ok"), { end: true }))],
    ["an acknowledgement in place of SETTINGS", join(PREFACE, bytesOf("\0\0\0\x04\x01\0\0\0\0"))],
  ] as const
) {
  Deno.test(`${says} is not a valid start of a connection`, async () => {
    await using scene = new H2Scene();
    const peer = await scene.connect({ rude: true });
    await peer.send(bytes, new Uint8Array(100));
    await peer.ended();
    assert.equal(scene.origin.hits, 0);
  });
}

Deno.test("a preface within a connection is a malformed frame", async () => {
  await using scene = new H2Scene();
  const peer = await scene.connect();
  assert.ok(await peer.isAlive());
  await peer.send(PREFACE);
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "FRAME_SIZE_ERROR");
});
