import assert from "node:assert/strict";
import { changedFields, changeResponse } from "./changed_fields.ts";
import { asciiBytes, DROPPED, Fields, fieldsOf } from "./fields.ts";
import { ResponseHead } from "./message.ts";

function linesOf(fields: Fields): string[] {
  return Array.from({ length: fields.count }, (_, i) => `${fields.name(i)}: ${fields.value(i)}`)
    .filter((_, i) => fields.ids[i] !== DROPPED);
}

const ADDED = fieldsOf([["X-New", "n"], ["A", "3"]]);

Deno.test("fields are dropped by name in any case, and added at the end, in a copy", () => {
  const fields = fieldsOf([["A", "1"], ["B", "2"], ["a", "4"], ["C", ""]]);
  const before = fields.bytes.slice();
  const changed = changedFields(fields, [asciiBytes("a")], ADDED);
  assert.deepEqual(linesOf(changed), ["B: 2", "C: ", "X-New: n", "A: 3"]);
  assert.equal(changed.value(0), "1", "what is dropped keeps its place");
  assert.deepEqual(linesOf(fields), ["A: 1", "B: 2", "a: 4", "C: "]);
  assert.deepEqual(fields.bytes, before);
  changed.bytes.fill(0);
  assert.deepEqual(fields.bytes, before);
});

Deno.test("an empty list of fields adds nothing to another, before or after it", () => {
  assert.deepEqual(linesOf(changedFields(new Fields(), [], ADDED)), ["X-New: n", "A: 3"]);
  assert.deepEqual(linesOf(changedFields(ADDED, [], new Fields())), ["X-New: n", "A: 3"]);
});

Deno.test("fields anywhere in a buffer, in any order, are copied", () => {
  const bytes = asciiBytes("----b: 22\r\n--a:1\r\n----");
  const fields = new Fields();
  fields.clear(bytes);
  fields.push(0, 13, 14, 15, 16);
  fields.push(0, 4, 5, 7, 9);
  assert.deepEqual(linesOf(changedFields(fields, [], ADDED)), [
    "a: 1",
    "b: 22",
    "X-New: n",
    "A: 3",
  ]);
});

Deno.test("more fields than a copy was made for can be added to it", () => {
  for (const fields of [new Fields(), ADDED]) {
    const copy = changedFields(fields, [], new Fields());
    const before = linesOf(copy);
    for (let i = 0; i < 40; i++) copy.push(i, 0, 0, 0, 0);
    assert.equal(copy.count, before.length + 40);
    assert.deepEqual(linesOf(copy).slice(0, before.length), before);
    assert.equal(copy.ids[before.length + 39], 39);
  }
});

Deno.test("copies that share a buffer never share a byte", () => {
  const copies = Array.from({ length: 200 }, (_, i) => {
    const source = fieldsOf([["A", "x".repeat(i % 7 === 0 ? 2000 : i)], ["N", String(i)]]);
    return { source, copy: changedFields(source, [], ADDED) };
  });
  for (const { copy } of copies) copy.drop(2);
  for (const { source, copy } of copies) {
    assert.deepEqual(linesOf(copy), [...linesOf(source), "A: 3"]);
    copy.bytes.fill(0);
    copy.ids.fill(0);
    copy.ranges.fill(0);
  }
  assert.ok(new Set(copies.map(({ copy }) => copy.bytes.buffer)).size < copies.length / 2);
});

Deno.test("a response without what is removed keeps its fields, and nothing is copied", () => {
  const fields = fieldsOf([["B", "2"]]);
  const head = new ResponseHead(fields);
  changeResponse(head, [asciiBytes("a")], ADDED);
  assert.equal(head.fields, fields);
  assert.equal(head.extra, ADDED);
});

Deno.test("fields of a response with a removed name are dropped from a copy", () => {
  const fields = fieldsOf([["A", "1"], ["B", "2"]]);
  const head = new ResponseHead(fields);
  changeResponse(head, [asciiBytes("a")], ADDED);
  assert.deepEqual(linesOf(head.fields), ["B: 2"]);
  assert.deepEqual(linesOf(head.extra!), ["X-New: n", "A: 3"]);
  assert.deepEqual(linesOf(fields), ["A: 1", "B: 2"]);
});

Deno.test("a later change replaces what an earlier one has added", () => {
  const head = new ResponseHead(fieldsOf([["B", "2"]]));
  changeResponse(head, [], ADDED);
  changeResponse(head, [asciiBytes("x-new")], fieldsOf([["X-New", "later"]]));
  assert.deepEqual(linesOf(head.extra!), ["A: 3", "X-New: later"]);
  assert.deepEqual(linesOf(ADDED), ["X-New: n", "A: 3"]);
});

Deno.test("a change that adds nothing leaves no extra fields", () => {
  const head = new ResponseHead(fieldsOf([["B", "2"]]));
  changeResponse(head, [asciiBytes("b")], new Fields());
  assert.deepEqual(linesOf(head.fields), []);
  assert.equal(head.extra, null);
});
