import assert from "node:assert/strict";
import { join } from "node:path";
import { linksOf } from "./markdown.ts";

const ROOT = join(import.meta.dirname!, "..");
const README = Deno.readTextFileSync(join(ROOT, "README.md"));

Deno.test("README.md fits two screens", () => {
  assert.ok(README.length < 9_000, `${README.length} characters`);
});

Deno.test("README.md has the first commands of a newcomer", () => {
  const config = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
  for (const task of ["dev", "test"]) {
    assert.ok(config.tasks[task] !== undefined);
    assert.ok(README.includes(`npx -y deno@2.9 task ${task} `), task);
  }
});

Deno.test("docs/README.md lists each page of docs/ once, in one of four groups", () => {
  const index = Deno.readTextFileSync(join(ROOT, "docs/README.md"));
  const groups = index.split(/^## /m).slice(1);
  assert.deepEqual(
    groups.map((group) => group.split("\n")[0]),
    ["Start", "Operate", "Reference", "Understand"],
  );
  const listed = groups.flatMap((group) => linksOf(group).map(({ path }) => path)).sort();
  const pages = Array.from(Deno.readDirSync(join(ROOT, "docs")), ({ name }) => name)
    .filter((name) => name !== "README.md").sort();
  assert.deepEqual(listed, pages);
});
