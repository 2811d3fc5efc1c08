/**
 * Every function that gets text or bytes is in the table of parsers, or there is a reason for which it
 * is not: a new one cannot be forgotten.
 */
import assert from "node:assert/strict";
import { EXCEPTIONS } from "./exceptions.ts";
import { PARSERS } from "./table.ts";
import { textFunctions } from "./text_functions.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const FOLDERS = ["cli", "controller", "proxy", "shared"];

const measured = new Set(PARSERS.flatMap(({ functions }) => functions));
const excepted = EXCEPTIONS.flatMap(({ functions }) =>
  Object.entries(functions).flatMap(([file, names]) => names.map((name) => `${file} ${name}`))
);

Deno.test("every function of text or bytes is measured, or has a reason for its exclusion", async () => {
  const functions = await textFunctions(ROOT, FOLDERS);
  assert.ok(functions.includes("proxy/http/accept.ts prefersJson"));
  assert.ok(functions.includes("shared/stream/lines.ts LineSplitter.push"));
  assert.ok(functions.includes("proxy/http1/head_parser.ts new HeadParser"));
  const known = new Set([...measured, ...excepted]);
  // Add a row to tests/parsers, or where its time cannot grow, an exception with its reason.
  assert.deepEqual(functions.filter((name) => !known.has(name)), []);
  const existing = new Set(functions);
  // They have another name or file, or get no text any more.
  assert.deepEqual([...known].filter((name) => !existing.has(name)), []);
});

Deno.test("no function is both measured and excluded, and none is excluded twice", () => {
  assert.deepEqual(excepted.filter((name) => measured.has(name)), []);
  assert.deepEqual(excepted.filter((name, i) => excepted.indexOf(name) !== i), []);
});
