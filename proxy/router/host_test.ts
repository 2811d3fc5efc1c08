import assert from "node:assert/strict";
import { parseHostPattern } from "../../shared/host/host_pattern.ts";
import { Random } from "../../tests/fuzz/random.ts";
import { readAuthority } from "../http/host.ts";
import { ANY, HostIndex, nextPattern, patternsOf } from "./host.ts";

const LABELS = ["a", "b", "app", "web", "example", "com", "test", "x1", "a-b", "xn--bcher-kva"];

function randomHost(random: Random): string {
  const labels = Array.from({ length: random.between(1, 4) }, () => random.pick(LABELS));
  // Beyond the few names that these labels make, so that there are enough for a long list.
  return [...(random.oneIn(2) ? [`h${random.below(20_000)}`] : []), ...labels].join(".");
}

function randomPattern(random: Random): string {
  if (random.oneIn(200)) return "*";
  return random.oneIn(4) ? `*.${randomHost(random)}` : randomHost(random);
}

/** The same name as somebody else would write it. */
function respelled(random: Random, name: string): string {
  return [...name].map((char) => random.oneIn(2) ? char.toUpperCase() : char).join("");
}

/** As a client may write it in Host. */
function authority(random: Random, host: string): string {
  return respelled(random, host) + random.pick(["", "", ".", ":80", ":8443", ".:443", ":"]);
}

/** The most specific of `patterns` that takes `host`, by comparing each of them. */
function decideSlowly(patterns: readonly string[], host: string): string | undefined {
  const parent = host.split(".").slice(1);
  const takes = [
    (pattern: string) => pattern === host,
    (pattern: string) => parent.length > 0 && pattern === ["*", ...parent].join("."),
    (pattern: string) => pattern === "*",
  ];
  for (const take of takes) {
    const found = patterns.find(take);
    if (found !== undefined) return found;
  }
  return undefined;
}

for (const size of [1, 100, 101, 10_000]) {
  Deno.test(`of ${size} hosts the same one matches in any case of letters`, () => {
    const random = new Random(size);
    const patterns = new Set<string>();
    while (patterns.size < size) patterns.add(randomPattern(random));
    const listed = [...patterns];
    const index = new HostIndex();
    for (const [number, pattern] of listed.entries()) {
      const read = parseHostPattern(respelled(random, pattern));
      assert.ok(read.ok, pattern);
      index.set(read.host, number);
    }
    let matches = 0;
    for (let i = 0; i < 2_000; i++) {
      const near = random.pick(listed).replace("*", () => random.pick(LABELS));
      const host = random.oneIn(3) ? randomHost(random) : near;
      const decided = decideSlowly(listed, host);
      if (decided !== undefined) matches++;
      for (let spelling = 0; spelling < 3; spelling++) {
        const written = authority(random, host);
        const read = readAuthority(written);
        assert.notEqual(read, null, written);
        assert.equal(listed[index.find(read!)], decided, `${written} of ${size}`);
      }
    }
    assert.ok(matches > 500, `${matches} of 2000 hosts matched`);
  });
}

Deno.test("patterns by their place in a host are the same as by their text", () => {
  const hosts = ["a.b.c.test", "test", "", ".test", "a..test", "a.test"];
  for (const wildcards of ["one-label", "suffix"] as const) {
    for (const host of hosts) {
      const patterns: string[] = [];
      for (let from = host === "" ? ANY : 0;; from = nextPattern(host, from, wildcards)) {
        patterns.push(from === ANY ? "*" : from === 0 ? host : `*.${host.slice(from)}`);
        if (from === ANY) break;
      }
      assert.deepEqual(patterns, patternsOf(host, wildcards), `${host} ${wildcards}`);
    }
  }
});
