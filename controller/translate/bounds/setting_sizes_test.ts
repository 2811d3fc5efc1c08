import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { FilterSet, Policy } from "../../../shared/snapshot/types.ts";
import { randomNumbers } from "../../../tests/support/rich_cluster.ts";
import { PACKED } from "./cluster_sizes.ts";
import { alikeOf } from "./setting_sizes.ts";

const next = randomNumbers(7);
const COUNT = 2_000;

function text(length: number, alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-"): string {
  return Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join("");
}

const id = () => text(32, "0123456789abcdef");
const address = () => `${[1, 2, 3, 4].map(() => Math.floor(next() * 256)).join(".")}/32`;
const time = () => Math.floor(next() * 3_600_000);

const SETTINGS: Readonly<Record<string, () => FilterSet | Policy>> = {
  "time-outs": () => ({
    id: id(),
    timeouts: { connect: time(), send: time(), responseHead: time(), responseBody: time() },
  }),
  "a body limit": () => ({ id: id(), bodyLimit: time() }),
  "one network": () => ({ id: id(), filters: [{ kind: "access", allow: [address()] }] }),
  "many networks": () => ({
    id: id(),
    filters: [{ kind: "access", allow: Array.from({ length: 50 }, address) }],
  }),
  "names of hosts": () => ({
    id: id(),
    filters: [{ kind: "request-host", parts: [{ kind: "text", text: text(60) }] }],
  }),
  "quotes and backslashes": () => ({
    id: id(),
    filters: [{ kind: "request-host", parts: [{ kind: "text", text: text(60, 'ab"\\') }] }],
  }),
  "nothing but ids": () => ({ id: id(), filters: [] }),
};

for (const [name, make] of Object.entries(SETTINGS)) {
  Deno.test(`settings take no more in a compressed snapshot than is estimated: ${name}`, () => {
    const parts = Array.from({ length: COUNT }, make);
    // Each stands once, and a route names it elsewhere.
    const json = JSON.stringify([parts, parts.map(({ id }) => id)]);
    const estimated = parts.reduce((sum, part) => {
      const bytes = JSON.stringify(part).length;
      return sum + PACKED.random * (bytes - alikeOf(part, bytes));
    }, 0);
    const packed = gzipSync(json).length;
    assert.ok(packed <= estimated, `${packed} of ${estimated}`);
    // Four times as much, as before, would close paths for which there is room.
    assert.ok(estimated <= 2.5 * packed, `${estimated} for ${packed}`);
  });
}
