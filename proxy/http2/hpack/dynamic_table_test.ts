/** The dynamic table against a list that does the same slowly (RFC 7541 §4). */
import assert from "node:assert/strict";
import { asciiBytes, latin1 } from "../../http/fields.ts";
import { Random } from "../../../tests/fuzz/random.ts";
import { DynamicTable } from "./dynamic_table.ts";
import { META } from "./field_lines.ts";

Deno.test("the table holds the same entries as a plain list, however it is filled and resized", () => {
  const random = new Random(41);
  for (let round = 0; round < 20; round++) {
    const limit = random.pick([0, 31, 32, 64, 256, 4096, 65_536]);
    const table = new DynamicTable(limit);
    let maxSize = limit;
    const list: string[] = [];
    for (let step = 0; step < 1000; step++) {
      if (random.oneIn(50)) {
        maxSize = random.below(limit + 1);
        table.resize(maxSize);
      } else {
        const name = "n".repeat(random.below(random.oneIn(20) ? 300 : 12));
        const line = `${name}: ${step}${"v".repeat(random.below(random.oneIn(20) ? 5000 : 60))}`;
        table.insert(asciiBytes(`##${line}`), 2, 2 + name.length, 2 + line.length, step & 0xff);
        list.unshift(line);
      }
      let size = 0;
      let kept = 0;
      while (kept < list.length && size + list[kept].length + 30 <= maxSize) {
        size += list[kept++].length + 30;
      }
      // An entry that does not fit empties the table (§4.4), and so does what is older.
      list.length = kept;
      assert.equal(table.size, size);
      assert.deepEqual(linesOf(table), list);
    }
    assert(table.lines.bytes.length <= Math.max(2048, 4 * limit), "bytes follow the size");
    assert(table.lines.meta.length <= META * Math.max(32, limit / 16), "slots follow the size");
  }
});

Deno.test("a table of size 0 uses no memory", () => {
  const table = new DynamicTable(4096);
  assert.equal(table.lines.bytes.length + table.lines.meta.length, 0);
});

/** The newest first, each with its CRLF checked. */
function linesOf(table: DynamicTable): string[] {
  const lines: string[] = [];
  for (let n = table.inserted - 1; table.holds(n) && n >= 0; n--) {
    const { bytes, meta } = table.lines;
    const at = table.slotOf(n) * META;
    assert.equal(latin1(bytes, meta[at + 1], meta[at + 1] + 2), ": ");
    assert.equal(latin1(bytes, meta[at + 2], meta[at + 2] + 2), "\r\n");
    lines.push(latin1(bytes, meta[at], meta[at + 2]));
  }
  return lines;
}
