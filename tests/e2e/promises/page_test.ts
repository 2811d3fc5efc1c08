import assert from "node:assert/strict";
import { replaceMarked } from "../../../bench/page.ts";
import { Finding } from "./finding.ts";
import { formatFindings, PROMISES_BEGIN } from "./page.ts";

const PAGE = new URL("../../../docs/promises.md", import.meta.url);

Deno.test("the page has a place for the results", async () => {
  const page = await Deno.readTextFile(PAGE);
  assert.notEqual(replaceMarked(page, PROMISES_BEGIN, "x"), null);
});

Deno.test("each promise has its measured values, and says which targets were missed", () => {
  const finding = new Finding("change");
  finding.note("times", 200);
  finding.time("p50", 150, 100);
  const text = formatFindings("2026-11-21", ["2 cores"], [finding]);
  assert.match(text, /^- 2 cores$/m);
  assert.match(text, /^### change$/m);
  assert.match(text, /\| times +\| +\| +200 \|/);
  assert.match(text, /\| p50 +\| +< 100 ms \| +150 ms \(missed\) \|/);
});
