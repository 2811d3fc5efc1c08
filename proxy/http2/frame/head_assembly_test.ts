/** Heads in pieces. */
import assert from "node:assert/strict";
import { asciiBytes } from "../../http/fields.ts";
import { HeadAssembly } from "./head_assembly.ts";

Deno.test("the fragments of a head are joined", () => {
  const assembly = new HeadAssembly(100_000);
  const text = "0123456789".repeat(1_000);
  const bytes = asciiBytes(text);
  assembly.begin(5, true, false, bytes, 0, 1);
  for (let at = 1; at < bytes.length; at += 999) {
    assert.ok(assembly.add(bytes, at, Math.min(at + 999, bytes.length)));
  }
  assert.ok(assembly.isOpen);
  const block = assembly.close();
  assert.ok(!assembly.isOpen);
  assert.equal(new TextDecoder().decode(block.subarray(0, assembly.length)), text);
  assert.deepEqual([assembly.id, assembly.endStream], [5, true]);
});

Deno.test("a head does not grow past its limit", () => {
  const assembly = new HeadAssembly(10);
  assembly.begin(1, false, false, new Uint8Array(8), 0, 8);
  assert.ok(assembly.add(new Uint8Array(2), 0, 2));
  assert.ok(assembly.add(new Uint8Array(0), 0, 0));
  assert.ok(!assembly.add(new Uint8Array(1), 0, 1));
});

Deno.test("the next head starts empty", () => {
  const assembly = new HeadAssembly(100);
  assembly.begin(1, false, false, asciiBytes("abc"), 0, 3);
  assembly.close();
  assembly.begin(3, false, false, asciiBytes("de"), 0, 2);
  assert.equal(new TextDecoder().decode(assembly.close().subarray(0, assembly.length)), "de");
});
