import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { anchorsOf, linksOf } from "./markdown.ts";

const ROOT = join(import.meta.dirname!, "..");
const SKIPPED = new Set([".git", "node_modules", "dist", "coverage", ".cache"]);

/** Paths of all Markdown files below a folder of the repository. */
function pagesIn(folder: string): string[] {
  return [...Deno.readDirSync(join(ROOT, folder))].flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory) return SKIPPED.has(entry.name) ? [] : pagesIn(path);
    return path.endsWith(".md") ? [path] : [];
  });
}

/** What is wrong with the links of a page, one text each. */
function brokenLinks(page: string): string[] {
  return linksOf(Deno.readTextFileSync(join(ROOT, page))).flatMap(({ path, anchor }) => {
    const target = path === "" ? page : join(dirname(page), path);
    try {
      if (Deno.statSync(join(ROOT, target)).isDirectory || anchor === null) return [];
    } catch {
      return [`${page}: ${path} does not exist`];
    }
    const anchors = anchorsOf(Deno.readTextFileSync(join(ROOT, target)));
    return anchors.has(anchor) ? [] : [`${page}: ${target} has no heading #${anchor}`];
  });
}

Deno.test("every link of a page leads to a file and a heading that exist", () => {
  const pages = pagesIn(".");
  assert.ok(pages.includes("README.md") && pages.includes("docs/install.md"));
  assert.deepEqual(pages.flatMap(brokenLinks), []);
});

Deno.test("anchors are those of GitHub", () => {
  const page = "# What's `new`?\n\n## [Link](x.md) to-do\n\n```\n# code\n```\n\n## Link to-do\n";
  assert.deepEqual([...anchorsOf(page)], ["whats-new", "link-to-do", "link-to-do-1"]);
});

Deno.test("links to other sites and in code blocks are not checked", () => {
  const page = "[a](https://a.test/#x) [b](b.md#c) ![d](d.svg)\n```\n[e](e.md)\n```\n[f](#g)";
  assert.deepEqual(linksOf(page), [
    { path: "b.md", anchor: "c" },
    { path: "d.svg", anchor: null },
    { path: "", anchor: "g" },
  ]);
});
