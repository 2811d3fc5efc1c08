import assert from "node:assert/strict";
import { HistogramTexts } from "./histogram_texts.ts";

const LABELS = 'host="a.example.com"';

/** Checks the lines of each call, and returns whether they were formatted again. */
function reader(texts: HistogramTexts) {
  let made = 0;
  return (
    counts: readonly number[],
    { sum = 1, slot = 3, labels = LABELS, format = "text" as "text" | "openmetrics" } = {},
  ) => {
    const before = made;
    const lines = texts.linesOf(slot, labels, format, Float64Array.from(counts), sum, () => {
      made++;
      return `${slot} ${labels} ${format} ${counts} ${sum}\n`;
    });
    assert.equal(lines, `${slot} ${labels} ${format} ${counts} ${sum}\n`);
    return made > before;
  };
}

Deno.test("lines of a histogram are written again after every change, and only then", () => {
  const isMade = reader(new HistogramTexts());
  assert.equal(isMade([1, 0]), true);
  assert.equal(isMade([1, 0]), false);
  assert.equal(isMade([1, 1]), true, "a count");
  assert.equal(isMade([1, 1], { sum: 2 }), true, "the sum");
  assert.equal(isMade([1, 1], { sum: 2 }), false);
  assert.equal(isMade([1, 1], { sum: 2, labels: 'host="b.example.com"' }), true, "the labels");
  assert.equal(isMade([1, 1], { sum: 2, format: "openmetrics" }), true, "the format");
  assert.equal(isMade([1, 1], { sum: 2, slot: 4 }), true, "another slot");
});

Deno.test("lines beyond the limit are right, and not kept", () => {
  const texts = new HistogramTexts(60);
  const isMade = reader(texts);
  isMade([1, 0]);
  const { size } = texts;
  assert.ok(size > 0 && size <= 60);
  assert.equal(isMade([1, 0], { slot: 4 }), true);
  assert.equal(isMade([1, 0], { slot: 4 }), true);
  assert.equal(texts.size, size);
  assert.equal(isMade([1, 0]), false);
});
