/** Names of tests and log messages use the terms of the glossary, not words of our own. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { REPLACED_IN_NAMES, replacedIn } from "./replaced_words.ts";

const ROOT = join(import.meta.dirname!, "..");
const FOLDERS = ["bench", "cli", "controller", "dev", "proxy", "shared", "tests", "tools"];

const TEST =
  /\b(?:Deno\.test|clusterTest|\w+\.step)\(\s*(?:\{\s*name:\s*)?(?:"([^"\n]+)"|`([^`]+)`)/g;
const LOG =
  /\b#?log(?:ger)?(?:\.(?:debug|info|warn|error)|\[[^\]]+\])\(\s*(?:"([^"\n]+)"|`([^`]+)`)/g;

function sources(folder: string): string[] {
  return Array.from(Deno.readDirSync(join(ROOT, folder)), ({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? sources(path) : name.endsWith(".ts") ? [path] : [];
  }).flat();
}

/** Each text that `call` matches, behind its file. */
function textsOf(call: RegExp, paths: readonly string[]): (readonly [string, string])[] {
  return paths.flatMap((path) => {
    const calls = Deno.readTextFileSync(join(ROOT, path)).matchAll(call);
    return Array.from(calls, ([, quoted, template]) => [path, quoted ?? template] as const);
  });
}

function found(texts: readonly (readonly [path: string, text: string])[]): string[] {
  return texts.flatMap(([path, text]) =>
    replacedIn(text, REPLACED_IN_NAMES).map((word) => `${path}: "${text}" has ${word}`)
  );
}

const PATHS = FOLDERS.flatMap(sources);

Deno.test("names of tests use the words of the glossary", () => {
  const names = textsOf(TEST, PATHS);
  assert.ok(names.length > 2_000, "calls of Deno.test are found");
  assert.deepEqual(found(names), []);
});

Deno.test("log messages use the words of the glossary", () => {
  const messages = textsOf(LOG, PATHS.filter((path) => !path.endsWith("_test.ts")));
  assert.ok(messages.length > 80, "calls of the log are found");
  assert.deepEqual(found(messages), []);
});
