/** docs/architecture.md names existing files, every folder of the programs, and defines the terms. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { FOLDERS } from "./import_table.ts";

const ROOT = join(import.meta.dirname!, "..");

const page = Deno.readTextFileSync(join(ROOT, "docs/architecture.md"));

function exists(path: string): boolean {
  try {
    Deno.statSync(join(ROOT, path));
    return true;
  } catch {
    return false;
  }
}

Deno.test("docs/architecture.md names files that exist", () => {
  const named = [...new Set(page.match(/\b[\w/]+\/\w+\.ts\b/g))];
  assert.ok(named.length > 30);
  // In the way of a request, what is below proxy/.
  assert.deepEqual(named.filter((path) => !exists(path) && !exists(`proxy/${path}`)), []);
});

Deno.test("docs/architecture.md describes every folder of the programs", () => {
  const [, table] = page.split("## Folders");
  const folders = [...FOLDERS.keys()].filter((row) => row.includes("/") && !row.endsWith(".ts"));
  assert.ok(folders.length > 40);
  const unnamed = folders.filter((folder) => {
    const own = folder.split("/").at(-1);
    return !table.includes(`\`${folder}/\``) && !new RegExp(`\`(?:[\\w/]+/)?${own}/\``).test(table);
  });
  assert.deepEqual(unnamed, []);
});

/** Terms of code and documentation; each has one name everywhere. */
const TERMS = [
  ...["listener", "virtual host", "route", "match", "filter", "policy", "backend", "upstream"],
  ...["endpoint", "downstream", "header", "request", "response", "local reply", "retry", "attempt"],
  ...["outlier detection", "pending requests", "circuit breaker", "drain", "access log"],
  ...["active snapshot", "accepted", "applied", "rejected", "resync", "informer", "reflector"],
  ...["store", "work queue", "debounce", "reconcile", "leader election", "fence", "field manager"],
  ...["CA", "snapshot", "exchange", "problem", "claim", "owner"],
];

Deno.test("docs/architecture.md defines each term once, in alphabetical order", () => {
  const [, glossary] = page.split("## Glossary");
  const rows = [...glossary.matchAll(/^\| ([A-Za-z][\w ]*?) +\|/gm)].map(([, term]) => term).slice(
    1,
  );
  const lower = rows.map((term) => term.toLowerCase());
  assert.deepEqual(lower, [...new Set(lower)].sort());
  assert.deepEqual(TERMS.filter((term) => !rows.includes(term)), []);
});
