import assert from "node:assert/strict";
import { CASES } from "./case.ts";
import { plainModel } from "./machine.ts";
import { BEGIN, END, replaceResults, type RunResults } from "./page.ts";
import { PEERS } from "./peer.ts";

const PAGE = await Deno.readTextFile(new URL("../docs/bench.md", import.meta.url));

const RESULTS: RunResults = {
  date: "2026-01-02",
  machine: "2 cores, Some Model; Deno 1.2.3",
  versions: new Map([["nginx", "nginx version: nginx/1.2.3"]]),
  schedule: "5 rounds of 5 s",
  cases: [{ what: CASES[0], table: [["peer", "ratio"], ["nginx", "1.00"]] }],
};

Deno.test("the page says what every case measures, and names every peer", () => {
  const text = PAGE.slice(0, PAGE.indexOf(BEGIN));
  for (const { name } of CASES) assert.ok(text.includes(`\`${name}\``), name);
  for (const { name } of PEERS) assert.ok(text.toLowerCase().includes(name), name);
});

Deno.test("results take the place of earlier ones, and leave the rest of the page alone", () => {
  const once = replaceResults(PAGE, RESULTS);
  assert.ok(once !== null);
  assert.equal(replaceResults(once, RESULTS), once);
  assert.equal(once.slice(0, once.indexOf(BEGIN)), PAGE.slice(0, PAGE.indexOf(BEGIN)));
  assert.equal(once.slice(once.indexOf(END)), PAGE.slice(PAGE.indexOf(END)));
  assert.ok(once.includes("Measured on 2026-01-02; 2 cores, Some Model"));
  assert.ok(once.includes("### h1-small\n"));
  assert.ok(once.includes("| nginx |  1.00 |"));
});

Deno.test("a page without markers is left alone", () => {
  assert.equal(replaceResults("# Another page", RESULTS), null);
  assert.equal(replaceResults(`${END}\n${BEGIN}`, RESULTS), null);
});

Deno.test("a machine is told by its processor's model", () => {
  assert.equal(plainModel("Intel(R) Xeon(R) Processor @ 2.60GHz"), "Intel Xeon");
  assert.equal(plainModel("AMD EPYC 7763 64-Core Processor"), "AMD EPYC 7763 64-Core");
});
