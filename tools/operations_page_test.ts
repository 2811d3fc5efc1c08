import assert from "node:assert/strict";
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..");

const page = Deno.readTextFileSync(join(ROOT, "docs/operations.md"));

/** Where the stream's lines of the log are written. */
const FOLDERS = ["controller/stream", "controller/stream/ca", "proxy/config/stream"];
const FILES = ["controller/reconcile/replica_catch_up.ts"];

/** The beginnings of lines that people see by default. */
function linesIn(text: string): string[] {
  const calls = text.matchAll(
    /\blog(?:\.(?:info|warn|error)|\[[^\]]+\])\(\s*["`]([^"`$]+)/g,
  );
  return Array.from(calls, ([, line]) => line);
}

Deno.test("docs/operations.md has each log message of the stream", () => {
  const files = FOLDERS.flatMap((folder) =>
    Array.from(Deno.readDirSync(join(ROOT, folder)), ({ name }) => `${folder}/${name}`)
      .filter((path) => path.endsWith(".ts") && !path.endsWith("_test.ts"))
  );
  const lines = [...files, ...FILES].flatMap((path) =>
    linesIn(Deno.readTextFileSync(join(ROOT, path)))
  );
  assert.ok(lines.length > 20, "the calls of the log are not found any more");
  assert.deepEqual(lines.filter((line) => !page.includes(`\`${line}`)), []);
});

Deno.test("docs/operations.md names metrics that exist", () => {
  const metrics = Deno.readTextFileSync(join(ROOT, "docs/metrics.md"));
  const named = new Set(page.match(/\bpingress_\w+/g));
  assert.ok(named.size > 0);
  assert.deepEqual([...named].filter((name) => !metrics.includes(`\`${name}\``)), []);
});
