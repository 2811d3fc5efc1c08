import assert from "node:assert/strict";
import { type Column, cut, tableLines } from "./table.ts";

const SPEC: readonly Column[] = [
  { title: "NAME", priority: 3, least: 6 },
  { title: "READY", priority: 2, least: null },
  { title: "HOSTS", priority: 1, least: 8 },
];

const ROWS = [["shop/checkout", "1/2", "www.shop.example.com"], ["a/b", "?/1", "*"]]
  .map((row) => row.map((text) => ({ text })));

for (
  const [columns, expected] of [
    [Infinity, [
      "NAME           READY  HOSTS",
      "shop/checkout  1/2    www.shop.example.com",
      "a/b            ?/1    *",
    ]],
    [36, [
      "NAME           READY  HOSTS",
      "shop/checkout  1/2    www.sho…le.com",
      "a/b            ?/1    *",
    ]],
    [20, ["NAME           READY", "shop/checkout  1/2", "a/b            ?/1"]],
    [15, ["NAME      READY", "shop…out  1/2", "a/b       ?/1"]],
    [8, ["NAME", "shop…out", "a/b"]],
    [3, ["N…E", "s…t", "a/b"]],
  ] as const
) {
  Deno.test(`a table in ${columns} columns`, () => {
    const lines = tableLines(SPEC, ROWS, columns, (title) => title);
    for (const line of lines) assert.ok([...line].length <= columns, line);
    assert.deepEqual(lines, expected);
  });
}

Deno.test("colours of cells take no width", () => {
  const paint = (text: string) => `<${text}>`;
  const lines = tableLines(
    SPEC.slice(0, 2),
    [[{ text: "a", paint }, { text: "b", paint }]],
    80,
    (title) => title,
  );
  assert.deepEqual(lines, ["NAME  READY", "<a>     <b>"]);
});

Deno.test("a text is cut in the middle, by characters", () => {
  assert.equal(cut("abcdef", 6), "abcdef");
  assert.equal(cut("abcdef", 4), "ab…f");
  assert.equal(cut("abcdef", 1), "…");
  assert.equal(cut("éééé", 3), "é…é");
});
