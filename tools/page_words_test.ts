/** Hand-written pages use the terms of the glossary, not words of our own. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { ANNOTATIONS_PAGE } from "./annotations_page.ts";
import { FLAGS_PAGE } from "./flags_page.ts";
import { DIFFERENCES_PAGE } from "./differences_page.ts";
import { STATUS_PAGE } from "./status_page.ts";
import { ACCESS_LOG_PAGE, METRICS_PAGE } from "./telemetry_pages.ts";
import { PERFORMANCE_PAGE } from "../bench/performance_page.ts";

const ROOT = join(import.meta.dirname!, "..");

/** Made from texts in the code. */
const GENERATED = [
  ...[
    ANNOTATIONS_PAGE,
    FLAGS_PAGE,
    DIFFERENCES_PAGE,
    STATUS_PAGE,
    ACCESS_LOG_PAGE,
    METRICS_PAGE,
    PERFORMANCE_PAGE,
  ],
];

/** Words that no other proxy's documentation uses, each with what to write instead. */
const REPLACED: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\bin force\b/i, "active"],
  [/\b(tell|tells|told) of\b/i, "reports"],
  [/\b(asked|tried) again\b/i, "retried"],
  [/\bstand-?ins?\b/i, "replacement, sample backend"],
  [/\bdesks?\b/i, "exchange"],
  [/\bis laid\b|\blays\b/i, "is built, is merged"],
  [/\b(lend|lends|lent)\b/i, "provides"],
  [/\bwhat there is\b/i, "a noun: features, test data"],
  [/\bwhat is (kept|left|wrong|served|published|checked)\b/i, "a noun: problems, routes"],
  [/\bmistake of ours\b/i, "bug"],
  [/takes? (it|them) off/i, "remove"],
  [/\bwhosoever\b|\bbe it\b/i, "any, for example"],
];

function handWrittenPages(): string[] {
  const docs = Array.from(Deno.readDirSync(join(ROOT, "docs")), ({ name }) => `docs/${name}`)
    .filter((page) => !GENERATED.includes(page));
  return [
    ...["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"],
    ...["bench/README.md", "bench/controller/README.md"],
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
    return REPLACED.flatMap(([word, instead]) => {
      const match = word.exec(text);
      return match === null ? [] : [`${page}: "${match[0]}": write ${instead}`];
    });
  });
  assert.deepEqual(found, []);
});
