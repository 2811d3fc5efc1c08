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

/** A chunked body that comes in `pieces`, one a read; `before` runs ahead of each read. */
function chunked(pieces: string[], before: (input: Input) => void = () => {}): InputBody {
  const transport: Transport = {
    read: (view) => {
      before(input);
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
  const input = new Input(transport, new BufferPool(64, 4));
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
