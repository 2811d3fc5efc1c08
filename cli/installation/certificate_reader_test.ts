import assert from "node:assert/strict";
import { denied, value } from "../../tests/support/check_facts.ts";
import type { Reading } from "../cluster/readings.ts";
import { firstPage } from "./certificate_reader.ts";

const PAGE: Reading<unknown> = value({ certificates: [] });
const OLD: Reading<unknown> = value(null);
const DENIED: Reading<unknown> = denied("create", "pods/portforward");

/** Of a replica that accepts connections and says nothing. */
const HUNG = new Promise<Reading<unknown>>(() => {});

for (
  const [name, pages, expected] of [
    ["a replica that hangs hides no certificate", [HUNG, Promise.resolve(PAGE)], PAGE],
    ["a replica that cannot be reached hides none", [DENIED, PAGE].map(answer), PAGE],
    ["a replica of an older version hides none", [OLD, PAGE].map(answer), PAGE],
    ["without any page, the first says why", [DENIED, OLD].map(answer), DENIED],
    ["without a replica there is none", [], null],
  ] as const
) {
  Deno.test(`certificates of the controller: ${name}`, async () => {
    assert.deepEqual(await firstPage(pages), expected);
  });
}

function answer(reading: Reading<unknown>): Promise<Reading<unknown>> {
  return Promise.resolve(reading);
}
