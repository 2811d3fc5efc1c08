import assert from "node:assert/strict";
import { type Body, LATER } from "../http/body.ts";
import { BufferPool } from "../io/buffer_pool.ts";
import type { ReadWaiter } from "../io/direct_relay.ts";
import type { WriteWaiter } from "../io/output.ts";
import { type ByteSink, writeBody } from "./body_writer.ts";

const OUT = 64;

/** A piece of a body: at hand, or to be waited for; an error ends it. */
type Piece = { readonly text: string; readonly late: boolean } | Error;

/** Gives its pieces, the late ones by promises or by its reader; null behind the last. */
class PiecesBody implements Body {
  readonly trailers = null;
  done = false;
  readonly #pieces: Piece[];
  readonly readThen?: Body["readThen"];

  constructor(pieces: readonly Piece[], by: "promises" | "reader") {
    this.#pieces = [...pieces];
    if (by === "reader") {
      this.readThen = (reader: ReadWaiter) => {
        const next = this.read();
        if (!(next instanceof Promise)) return next;
        next.then((view) => reader.arrived(view), (error) => reader.broke(error));
        return LATER;
      };
    }
  }

  read(): Uint8Array | null | Promise<Uint8Array | null> {
    const piece = this.#pieces.shift();
    if (piece instanceof Error) return Promise.reject(piece);
    const view = piece === undefined ? null : new TextEncoder().encode(piece.text);
    this.done = piece === undefined;
    return piece?.late ? Promise.resolve().then(() => view) : view;
  }
}

/** Keeps what is written; each write is done some microtasks later, or fails. */
class Sink implements ByteSink {
  readonly writes: string[] = [];
  isWriting = false;
  hasEnded = false;
  readonly #slow: number;
  readonly #failsAt: number;

  constructor(slow = 1, failsAt = Infinity) {
    this.#slow = slow;
    this.#failsAt = failsAt;
  }

  writeThen(bytes: Uint8Array, length: number, waiter: WriteWaiter): void {
    assert.equal(this.isWriting, false, "one write at a time");
    this.isWriting = true;
    const text = new TextDecoder().decode(bytes.subarray(0, length));
    this.#settle(bytes, length, text, waiter);
  }

  endWrites(): void {
    this.hasEnded = true;
  }

  async #settle(bytes: Uint8Array, length: number, text: string, waiter: WriteWaiter) {
    for (let turn = 0; turn < this.#slow; turn++) await null;
    assert.equal(new TextDecoder().decode(bytes.subarray(0, length)), text, "changed under way");
    this.isWriting = false;
    if (this.writes.length === this.#failsAt) return waiter.writeBroke(new Error("reset"));
    this.writes.push(text);
    waiter.wrote();
  }
}

function send(body: Body, sink: Sink, chunked: boolean, pool: BufferPool): Promise<void> {
  const out = pool.take();
  const head = new TextEncoder().encode("HEAD\n");
  out.set(head);
  return writeBody(out, head.length, body.read(), body, chunked, false, sink, pool);
}

function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

Deno.test("a body arrives whole and in order, however long and late its pieces are", async () => {
  const lengths = [1, 7, 40, OUT - 14, OUT - 13, OUT, 3 * OUT];
  for (const by of ["promises", "reader"] as const) {
    for (const slow of [0, 1, 5]) {
      for (const chunked of [true, false]) {
        for (const lateness of [0b0000000, 0b1111111, 0b0101010, 0b1000001]) {
          const pieces = lengths.map((length, i) => ({
            text: String.fromCharCode(97 + i).repeat(length),
            late: (lateness >> i & 1) === 1,
          }));
          const sink = new Sink(slow);
          const pool = new BufferPool(OUT, 4);
          await send(new PiecesBody(pieces, by), sink, chunked, pool);
          // What is at hand together may share a chunk or not: the text is the same.
          const texts = pieces.map(({ text }) => text);
          const expected = chunked ? `${texts.map(chunkOf).join("")}0\r\n\r\n` : texts.join("");
          const setting = JSON.stringify({ by, slow, chunked, lateness });
          assert.equal(sink.writes.join(""), `HEAD\n${expected}`, setting);
          assert.ok(sink.hasEnded, setting);
        }
      }
    }
  }
});

Deno.test("a body that is waited for sends its head ahead, and holds no buffer", async () => {
  const pool = new BufferPool(OUT, 4);
  const out = pool.take();
  let give: (view: Uint8Array | null) => void = () => {};
  const next = () => new Promise<Uint8Array | null>((resolve) => give = resolve);
  const body: Body = { read: next, done: false, trailers: null };
  const sink = new Sink();
  const sent = writeBody(out, 0, body.read(), body, true, false, sink, pool);
  for (const text of ["one", "two"]) {
    const before = sink.writes.length;
    give(new TextEncoder().encode(text));
    while (sink.writes.length === before || sink.isWriting) await null;
    assert.equal(sink.writes.at(-1), chunkOf(text));
    const lent = pool.take();
    assert.equal(lent, out, "the buffer is back in its pool");
    pool.give(lent);
  }
  give(null);
  await sent;
  assert.equal(sink.writes.at(-1), "0\r\n\r\n");
});

Deno.test("a body that is truncated is reported once what came before it is written", async () => {
  for (const by of ["promises", "reader"] as const) {
    const broken = new Error("cut");
    const pieces = [{ text: "one", late: true }, { text: "two", late: false }, broken];
    const sink = new Sink(5);
    await assert.rejects(
      send(new PiecesBody(pieces, by), sink, true, new BufferPool(OUT, 4)),
      broken,
    );
    assert.deepEqual([sink.isWriting, sink.hasEnded], [false, true]);
    assert.equal(sink.writes.join(""), `HEAD\n${chunkOf("one")}${chunkOf("two")}`);
  }
});

Deno.test("a write that fails ends the body, whichever write it is", async () => {
  const text = "x".repeat(2 * OUT);
  for (const by of ["promises", "reader"] as const) {
    for (let failsAt = 0; failsAt < 4; failsAt++) {
      const pieces = [{ text, late: true }, { text, late: false }, new Error("later")];
      const sink = new Sink(1, failsAt);
      await assert.rejects(
        send(new PiecesBody(pieces, by), sink, true, new BufferPool(OUT, 4)),
        /reset/,
      );
      assert.deepEqual([sink.writes.length, sink.hasEnded], [failsAt, true]);
    }
  }
});
