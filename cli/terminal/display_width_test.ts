import assert from "node:assert/strict";
import { wrapLine } from "./wrapped_lines.ts";
import { beginningOf, displayWidth, endOf } from "./display_width.ts";
import { excerptLines } from "./excerpt_text.ts";
import { cut, tableLines } from "./table.ts";

for (
  const [text, width] of [
    ["", 0],
    ["app.example.com", 15],
    ["b\u00fccher", 6],
    ["bu\u0308cher", 6],
    ["\u65e5\u672c\u8a9e", 6],
    ["\uff21b", 3],
    ["\ud55c\uad6d\uc5b4.kr", 9],
    ["\u{1f600}", 2],
    ["\u{1f468}\u200d\u{1f469}\u200d\u{1f467}", 2],
    ["\x1b[31mred\x1b[39m", 3],
  ] as const
) {
  Deno.test(`${JSON.stringify(text)} takes ${width} columns`, () => {
    assert.equal(displayWidth(text), width);
  });
}

const WIDE = "\u65e5\u672c\u8a9e\u306e\u540d\u524d";

Deno.test("wide characters are cut to the columns that there are", () => {
  assert.equal(beginningOf(WIDE, 5), "\u65e5\u672c");
  assert.equal(endOf(WIDE, 5), "\u540d\u524d");
  assert.equal(endOf("abc", 0), "");
  assert.equal(cut(WIDE, 9), "\u65e5\u672c\u2026\u540d\u524d");
  for (let columns = 1; columns < 14; columns++) {
    assert.ok(displayWidth(cut(WIDE, columns)) <= columns, String(columns));
  }
});

Deno.test("columns behind wide characters stand below each other", () => {
  const lines = tableLines(
    [{ title: "A", priority: 1, least: 4 }, { title: "B", priority: 2, least: null }],
    [[{ text: WIDE }, { text: "x" }], [{ text: "plain" }, { text: "x" }]],
    80,
    (title) => title,
  );
  const starts = lines.map((line) => displayWidth(line.slice(0, line.search(/[Bx]$/))));
  assert.deepEqual(starts, [14, 14, 14]);
});

Deno.test("lines with wide characters are wrapped where they reach the width", () => {
  for (const line of wrapLine(`  see ${WIDE} and ${WIDE} and more`, 20)) {
    assert.ok(displayWidth(line) <= 20, line);
  }
});

Deno.test("the caret stands below what is meant, also behind wide characters", () => {
  const text = `path: ${WIDE}, wrong: 1`;
  const column = text.indexOf("wrong") + 1;
  const [line, caret] = excerptLines({ line: 7, text, column, length: 5 }, 80);
  const before = displayWidth(line.slice(0, line.indexOf("wrong")));
  assert.equal(displayWidth(caret.slice(0, caret.indexOf("^"))), before);
  assert.match(caret, /\^{5}$/);
  for (const columns of [40, 60]) {
    const long = {
      line: 7,
      text: `${WIDE.repeat(8)} wrong ${WIDE.repeat(8)}`,
      column: 50,
      length: 5,
    };
    for (const shown of excerptLines(long, columns)) {
      assert.ok(displayWidth(shown) <= columns, shown);
    }
  }
});
