import assert from "node:assert/strict";
import type { LiveConfigMap, LiveSecret } from "./objects.ts";
import {
  type Content,
  isAsPlanned,
  mustBeMadeAnew,
  PUBLISHED_LABELS,
  removalOf,
} from "./repair.ts";

type Live = LiveConfigMap & LiveSecret;

const CONTENT: Content = { data: { "proxy.json": "{}" } };
const GOOD: Live = {
  metadata: { name: "x", labels: { ...PUBLISHED_LABELS, more: "labels" } },
  data: { "proxy.json": "{}" },
};

Deno.test("an object is as planned with our labels and exactly our content", () => {
  const cases: [says: string, live: Live, asPlanned: boolean, anew: boolean][] = [
    ["as planned", GOOD, true, false],
    ["with nulls", { ...GOOD, binaryData: null, immutable: null }, true, false],
    ["another text", { ...GOOD, data: { "proxy.json": "[]" } }, false, false],
    ["an entry more", { ...GOOD, data: { ...GOOD.data, b: "" } }, false, false],
    ["no entry", { ...GOOD, data: null }, false, false],
    ["bytes beside it", { ...GOOD, binaryData: { b: "" } }, false, false],
    ["bytes in its place", { ...GOOD, data: null, binaryData: { "proxy.json": "" } }, false, true],
    ["without labels", { ...GOOD, metadata: { name: "x" } }, false, false],
    ["immutable", { ...GOOD, immutable: true }, false, true],
  ];
  for (const [says, live, asPlanned, anew] of cases) {
    assert.equal(isAsPlanned(live, CONTENT), asPlanned, says);
    assert.equal(mustBeMadeAnew(live, CONTENT), anew, says);
  }
  assert.equal(isAsPlanned({ ...GOOD, type: "tls" }, { ...CONTENT, type: "Opaque" }), false);
  assert.equal(mustBeMadeAnew({ ...GOOD, type: "tls" }, { ...CONTENT, type: "Opaque" }), true);
});

Deno.test("fields added by others are removed by name, and nothing else is", () => {
  assert.equal(removalOf(GOOD, CONTENT), null);
  assert.deepEqual(removalOf({ ...GOOD, data: { ...GOOD.data, a: "1" } }, CONTENT), {
    data: { a: null },
  });
  assert.deepEqual(removalOf({ ...GOOD, binaryData: { b: "", constructor: "" } }, CONTENT), {
    binaryData: { b: null, constructor: null },
  });
});
