import assert from "node:assert/strict";
import { streamPieces } from "./exposition.ts";

/** Pieces without end, and how many of them have been made. */
class Endless implements Iterator<string> {
  made = 0;

  next(): { value: string; done: false } {
    this.made++;
    return { value: "x".repeat(1024), done: false };
  }
}

Deno.test("a page is made no faster than it is read, and not at all once its reader has gone", async () => {
  const pieces = new Endless();
  let aborted = 0;
  const reader = streamPieces(pieces, () => aborted++).getReader();
  const taken: number[] = [];
  for (let i = 0; i < 3; i++) {
    await reader.read();
    // Long enough for a stream that runs ahead.
    for (let turn = 0; turn < 20; turn++) await new Promise((resume) => setTimeout(resume, 0));
    taken.push(pieces.made);
  }
  // A turn of 256 KiB for each read, and one that waits.
  assert.ok(taken[2] <= 4 * 256, String(taken));
  assert.ok(taken[0] <= 2 * 256, String(taken));
  assert.equal(aborted, 0);
  await reader.cancel();
  assert.equal(aborted, 1);
  const { made } = pieces;
  for (let turn = 0; turn < 20; turn++) await new Promise((resume) => setTimeout(resume, 0));
  assert.equal(pieces.made, made);
});

Deno.test("a page that has been read to its end is not aborted", async () => {
  let aborted = 0;
  const reader = streamPieces(["a\n", "", "b\n"].values(), () => aborted++).getReader();
  const first = await reader.read();
  assert.equal(new TextDecoder().decode(first.value), "a\nb\n");
  assert.equal((await reader.read()).done, true);
  await reader.cancel();
  assert.equal(aborted, 0);
});
