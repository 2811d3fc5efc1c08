import assert from "node:assert/strict";
import { TextMemo } from "./text_memo.ts";

/** Counts how often it reads. */
class Words {
  calls = 0;

  constructor(readonly separator: string) {}

  read(text: string): readonly string[] | null {
    this.calls++;
    return text === "" ? null : text.split(this.separator);
  }
}

Deno.test("a text is read once, and an invalid one too", () => {
  const memo = new TextMemo();
  const words = new Words(" ");
  assert.equal(memo.of(words, "a b"), memo.of(words, "a b"));
  assert.deepEqual(memo.of(words, "a b"), ["a", "b"]);
  assert.equal(memo.of(words, ""), null);
  assert.equal(memo.of(words, ""), null);
  assert.equal(words.calls, 2);
});

Deno.test("each reader keeps its own value of a text", () => {
  const memo = new TextMemo();
  assert.deepEqual(memo.of(new Words(" "), "a b,c"), ["a", "b,c"]);
  assert.deepEqual(memo.of(new Words(","), "a b,c"), ["a b", "c"]);
});

Deno.test("a long text is read each time, and many texts are forgotten", () => {
  const memo = new TextMemo();
  const words = new Words(" ");
  const long = "a".repeat(513);
  memo.of(words, long);
  memo.of(words, long);
  assert.equal(words.calls, 2);
  memo.of(words, "first");
  for (let i = 0; i < 20_000; i++) memo.of(words, String(i));
  const before = words.calls;
  memo.of(words, "first");
  assert.equal(words.calls, before + 1);
});
