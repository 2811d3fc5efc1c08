import assert from "node:assert/strict";
import { hostRemedy } from "./meant_values.ts";

/** What is written as a host, and the remedy; null for one without a better form. */
const HOSTS: readonly (readonly [written: string, remedy: string | null])[] = [
  ["https://app.test", "Write app.test"],
  ["app.test/x?y", "Write app.test"],
  ["App.test:8080", "Write app.test"],
  ["http://app.test:80/x", "Write app.test"],
  ["b\u00fccher.test", "Write xn--bcher-kva.test"],
  ["*.b\u00fccher.test", "Write *.xn--bcher-kva.test"],
  ["${HOST}", "Replace the variables first, as by envsubst < FILE > DIR/all.yaml"],
  ["app.$DOMAIN", "Replace the variables first, as by envsubst < FILE > DIR/all.yaml"],
  ["192.0.2.1:80", null],
  ["[2001:db8::1]", null],
  ["my_app.test", null],
  ["app.*.test", null],
  ["a..test", null],
  ["", null],
  ["https://", null],
  ["a b", null],
];

for (const [written, remedy] of HOSTS) {
  Deno.test(`the host ${JSON.stringify(written)} has the remedy ${remedy}`, () => {
    assert.equal(hostRemedy(written), remedy);
  });
}
