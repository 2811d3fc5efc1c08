/** Hand-written pages use the terms of the glossary, not words of our own. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { ANNOTATIONS_PAGE } from "./annotations_page.ts";
import { CODES_PAGE } from "./codes_page.ts";
import { FLAGS_PAGE } from "./flags_page.ts";
import { DIFFERENCES_PAGE } from "./differences_page.ts";
import { STATUS_PAGE } from "./status_page.ts";
import { ACCESS_LOG_PAGE, METRICS_PAGE } from "./telemetry_pages.ts";
import { REPLACED, replacedIn } from "./replaced_words.ts";
import { PERFORMANCE_PAGE } from "../bench/performance_page.ts";

const ROOT = join(import.meta.dirname!, "..");

/** Made from texts in the code. */
const GENERATED = [
  ...[
    ANNOTATIONS_PAGE,
    CODES_PAGE,
    FLAGS_PAGE,
    DIFFERENCES_PAGE,
    STATUS_PAGE,
    ACCESS_LOG_PAGE,
    METRICS_PAGE,
    PERFORMANCE_PAGE,
  ],
];

function handWrittenPages(): string[] {
  const docs = Array.from(Deno.readDirSync(join(ROOT, "docs")), ({ name }) => `docs/${name}`)
    .filter((page) => page.endsWith(".md") && !GENERATED.includes(page));
  return [
    ...["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"],
    ...["bench/README.md", "bench/controller/README.md", "bench/gateway/README.md"],
    ...docs,
  ];
}

/** Quotes of logs, commands and figures that programs write are not prose. */
function prose(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, "").replace(/^<!-- results[\s\S]*?^<!-- end/gm, "")
    .replace(/`[^`]*`/g, "");
}

Deno.test("hand-written pages use the words of the glossary", () => {
  const pages = handWrittenPages();
  assert.ok(pages.length > 20);
  const found = pages.flatMap((page) => {
    const text = prose(Deno.readTextFileSync(join(ROOT, page)));
    return replacedIn(text, REPLACED).map((found) => `${page}: ${found}`);
  });
  assert.deepEqual(found, []);
});
