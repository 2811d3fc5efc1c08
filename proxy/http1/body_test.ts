import assert from "node:assert/strict";
import { BufferPool } from "../io/buffer_pool.ts";
import { asciiBytes } from "../http/fields.ts";
import { UNKNOWN_LENGTH } from "../http/message.ts";
import type { Transport } from "../io/transport.ts";
import { type BodyRules, InputBody } from "./body.ts";
import { Input } from "../io/input.ts";

const RULES: BodyRules = {
  malformed: "bad_chunk",
  cut: "client_gone",
  tooLarge: "body_too_large",
  trailersTooLarge: "head_too_large",
  maxTrailerBytes: 4096,
  maxTrailerFields: 100,
};

/** `pieces` arrive, one a read; `before` runs ahead of each read. */
function piecewise(pieces: string[], before: () => void = () => {}): Transport {
  return {
    read: (view) => {
      before();
      const piece = pieces.shift();
      if (piece === undefined) return Promise.resolve(null);
      if (piece.length > view.length) pieces.unshift(piece.slice(view.length));
      const bytes = asciiBytes(piece.slice(0, view.length));
      view.set(bytes);
      return Promise.resolve(bytes.length);
    },
    write: ({ length }) => Promise.resolve(length),
    closeWrite: () => Promise.resolve(),
    close: () => {},
  };
}

/** A chunked body that comes in `pieces`, as above. */
function chunked(pieces: string[], before: (input: Input) => void = () => {}): InputBody {
  const input = new Input(piecewise(pieces, () => before(input)), new BufferPool(64, 4));
  const body = new InputBody(input, new BufferPool(256, 4), RULES);
  body.begin(UNKNOWN_LENGTH, false);
  return body;
}

/** The trailers of a body that has no other content. */
async function trailersOf(body: InputBody): Promise<[string, string][]> {
  assert.equal(await body.read(), null);
  const { trailers } = body;
  assert.ok(trailers !== null);
  return Array.from({ length: trailers.count }, (_, i) => [trailers.name(i), trailers.value(i)]);
}

Deno.test("trailers are the same however they are split, also in a growing buffer", async () => {
  const expected: [string, string][] = [["X-A", "1"], ["X-B", "b".repeat(700)], ["X-C", ""]];
  const section = expected.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const message = `0\r\n${section}\r\n`;
  for (const size of [1, 2, 3, 7, 31, 64, 300, message.length]) {
    const pieces = message.match(new RegExp(`[^]{1,${size}}`, "g"))!;
    assert.deepEqual(await trailersOf(chunked(pieces)), expected, `${size} bytes a read`);
  }
});

Deno.test("a trailer section in small pieces is parsed on, never again from its start", async () => {
  // Colons that have been read are spoilt before the next byte comes.
  const spoil = ({ bytes, start, end }: Input) => {
    for (let i = start; i < end; i++) if (bytes[i] === 0x3a) bytes[i] = 0;
  };
  const pieces = ["0\r\n", ..."X-A: 1\r\nX-B: 2\r\n\r\n"];
  assert.deepEqual(await trailersOf(chunked(pieces, spoil)), [["X-A", "1"], ["X-B", "2"]]);
});

Deno.test("each body of a connection has its own trailers", async () => {
  const body = chunked(["0\r\nX-A", ": 1\r\n\r", "\n0\r\nX-B", ": 2\r\n\r", "\n0\r\n\r\n"]);
  assert.deepEqual(await trailersOf(body), [["X-A", "1"]]);
  body.begin(UNKNOWN_LENGTH, false);
  assert.deepEqual(await trailersOf(body), [["X-B", "2"]]);
  body.begin(UNKNOWN_LENGTH, false);
  assert.equal(await body.read(), null);
  assert.equal(body.trailers, null);
});

/** A chunked response behind a head, with buffers of 32, 64 and 256 bytes. */
function stream(pieces: string[]) {
  const input = new Input(piecewise(pieces), new BufferPool(64, 4));
  const body = new InputBody(input, new BufferPool(256, 4), RULES, new BufferPool(32, 4));
  const scene = { input, body, head: input.bytes };
  body.onHeadMoved = (bytes) => scene.head = bytes;
  const begin = async (length: number) => {
    if (input.isEmpty) await input.fill();
    scene.head = input.bytes;
    input.start += length;
    body.begin(UNKNOWN_LENGTH, false);
  };
  const read = async () => {
    const view = await body.read();
    return view === null ? null : new TextDecoder().decode(view);
  };
  const headText = (length: number) => new TextDecoder().decode(scene.head.subarray(0, length));
  return { scene, begin, read, headText };
}

Deno.test("a stream that says little waits in a small buffer, and its head in one of its size", async () => {
  const { scene, begin, read, headText } = stream([
    "HEAD1\n\n",
    "3\r\none\r\n",
    "3\r\ntwo\r\n",
    "0\r\n\r\n",
    "HEAD2\n\n4\r\nnext\r\n",
  ]);
  const { input, body } = scene;
  await begin(7);
  for (const text of ["one", "two"]) {
    assert.equal(await read(), text);
    assert.deepEqual([input.bytes.length, headText(7)], [32, "HEAD1\n\n"]);
    assert.equal(scene.head.length, 7);
  }
  assert.equal(await read(), null);
  body.release();
  assert.equal(input.bytes.length, 64, "the next head has the usual room");
  await begin(7);
  assert.deepEqual([await read(), headText(7)], ["next", "HEAD2\n\n"]);
});

Deno.test("a stream that says more gets larger buffers, and a smaller one once it is quiet", async () => {
  const sizes: number[] = [];
  const pieces = [30, 60, 300, 300, 1, 1, 1].map((length) =>
    `${length.toString(16)}\r\n${"x".repeat(length)}\r\n`
  );
  const expected = pieces.map((piece) => piece.split("\r\n")[1]).join("");
  const { scene: { input }, begin, read, headText } = stream(["HEAD\n", ...pieces]);
  await begin(5);
  let text = "";
  while (text.length < expected.length) {
    text += await read();
    sizes.push(input.bytes.length);
    assert.equal(headText(5), "HEAD\n");
  }
  assert.equal(text, expected);
  assert.deepEqual([sizes[0], Math.max(...sizes), sizes.at(-1)], [32, 256, 32]);
});

Deno.test("a head that fits no small buffer stays where it is", async () => {
  const head = `${"H".repeat(40)}\n`;
  const { scene: { input }, begin, read, headText } = stream([head, "1\r\na\r\n", "1\r\nb\r\n"]);
  await begin(head.length);
  assert.deepEqual([await read(), headText(head.length)], ["a", head]);
  assert.equal(input.bytes.length, 64);
  assert.equal(await read(), "b");
  assert.deepEqual([input.bytes.length, headText(head.length)], [32, head]);
});

Deno.test("a buffer is not reused while the last view of a body may be in use", async () => {
  for (const isRead of [false, true]) {
    const pool = new BufferPool(256, 4);
    const pieces = ["a".repeat(20), "b".repeat(200)];
    const input = new Input(piecewise(pieces), new BufferPool(64, 4));
    const body = new InputBody(input, pool, RULES);
    body.begin(220, false);
    await body.read();
    const last = (await body.read())!;
    assert.ok(body.done && body.isBorrowing);
    if (isRead) assert.equal(await body.read(), null);
    body.release();
    assert.equal(pool.take().buffer === last.buffer, isRead);
  }
});
