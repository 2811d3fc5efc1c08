import assert from "node:assert/strict";
import { CASES } from "./case.ts";
import { plainModel } from "./machine.ts";
import { END, replaceMarked } from "./page.ts";
import { PEERS } from "./peer.ts";

const ABOUT = await Deno.readTextFile(new URL("./README.md", import.meta.url));
const BEGIN = "<!-- results -->";

Deno.test("the page describes every case, and names every peer", () => {
  for (const { name } of CASES) assert.ok(ABOUT.includes(`\`${name}\``), name);
  for (const { name } of PEERS) assert.ok(ABOUT.toLowerCase().includes(name), name);
});

Deno.test("no two cases or peers share a name", () => {
  for (const all of [CASES, PEERS]) {
    assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
  }
});

Deno.test("cases name peers that exist", () => {
  const names = PEERS.map(({ name }) => name);
  for (const { name, peers = [] } of CASES) {
    for (const peer of peers) assert.ok(names.includes(peer), `${name}: ${peer}`);
  }
});

Deno.test("results replace earlier ones, and the rest of the page is unchanged", () => {
  const page = `# Page\n\n${BEGIN}\n\nold\n\n${END}\n\nrest\n`;
  const once = `# Page\n\n${BEGIN}\n\nnew\n\n${END}\n\nrest\n`;
  assert.equal(replaceMarked(page, BEGIN, "new\n"), once);
  assert.equal(replaceMarked(once, BEGIN, "new\n"), once);
});

Deno.test("a page without markers is unchanged", () => {
  assert.equal(replaceMarked("# Another page", BEGIN, ""), null);
  assert.equal(replaceMarked(`${END}\n${BEGIN}`, BEGIN, ""), null);
});

Deno.test("a machine is identified by its processor's model", () => {
  assert.equal(plainModel("Intel(R) Xeon(R) Processor @ 2.60GHz"), "Intel Xeon");
  assert.equal(plainModel("AMD EPYC 7763 64-Core Processor"), "AMD EPYC 7763 64-Core");
});
