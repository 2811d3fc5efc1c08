import assert from "node:assert/strict";
import { KEYS } from "../controller/translate/config_map/table.ts";
import { CONFIGMAP_PAGE, configmapPage } from "./configmap_page.ts";

Deno.test("docs/configmap.md is made from the table of keys", () => {
  const page = Deno.readTextFileSync(new URL(`../${CONFIGMAP_PAGE}`, import.meta.url));
  assert.equal(page, configmapPage(), "run deno task docs:update");
});

Deno.test("every key of ingress-nginx has a row with as many cells as the head", () => {
  const rows = configmapPage().split("\n").filter((line) => line.startsWith("| `"));
  for (const row of rows) assert.equal(row.match(/(?<!\\)\|/g)?.length, 5, row);
  assert.deepEqual(rows.map((row) => /^\| `([^`]+)`/.exec(row)![1]), [...KEYS.keys()]);
});
