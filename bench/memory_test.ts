import assert from "node:assert/strict";
import { residentBytes } from "./memory.ts";

/** As the kernel writes it, of pages in KiB. */
function rollup(resident: number, anonymous: number, ownOfAnonymous: number): string {
  return `55fa861b8000-7fff0a957000 ---p 00000000 00:00 0                          [rollup]
Rss:               ${resident} kB
Pss:                 292 kB
Pss_Anon:            ${ownOfAnonymous} kB
Pss_File:            176 kB
Anonymous:           ${anonymous} kB
`;
}

Deno.test("memory shared with other programs counts for a proxy", () => {
  assert.equal(residentBytes([rollup(1752, 116, 116)]), 1752 * 1024);
});

Deno.test("memory shared by the processes of a proxy counts once", () => {
  const parent = rollup(5000, 1000, 600);
  const worker = rollup(6000, 1400, 1000);
  assert.equal(residentBytes([parent, worker]), (600 + 1000 + 4600) * 1024);
});

Deno.test("a process that has ended counts nothing", () => {
  assert.equal(residentBytes([]), 0);
  assert.equal(residentBytes([""]), 0);
});
