/** Until maintainers publish the npm package and the chart, nothing tells users to get them from a registry. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../cli/commands.ts";
import { formatHelp } from "../shared/options.ts";

const ROOT = join(import.meta.dirname!, "..");
const SKIPPED = new Set([".git", "node_modules", "dist", "coverage", ".cache"]);

/** Runs or installs a package by that name. */
const INSTALLS =
  /\b(?:npx|bunx|pnpm dlx)(?: +-[\w-]+(?:=\S+)?)* +(?:pingress|kubectl-pingress)\b|\b(?:npm|pnpm|yarn|bun) +(?:i|install|add|global add)(?: +-[\w-]+)* +(?:pingress|kubectl-pingress)\b|\bnpm:pingress\b/;

/** The chart of a registry or a repository of charts. */
const PULLS_CHART =
  /\bhelm +(?:install|upgrade|pull|show|template)\b[^\n]*\b(?:oci|https?):\/\/|\bhelm +repo +add\b[^\n]*\bpingress\b/;

function texts(folder: string): [name: string, text: string][] {
  return [...Deno.readDirSync(join(ROOT, folder))].flatMap((entry): [string, string][] => {
    const path = join(folder, entry.name);
    if (entry.isDirectory) return SKIPPED.has(entry.name) ? [] : texts(path);
    return /\.(?:md|ts|cjs|json|ya?ml)$/.test(path) && !path.endsWith("unpublished_test.ts")
      ? [[path, Deno.readTextFileSync(join(ROOT, path))]]
      : [];
  });
}

Deno.test("no page, message or help says to get pingress from npm's registry", async () => {
  const helps = await Promise.all(COMMANDS.map(async ({ load }) => {
    const { program, specs } = await load();
    return [program.name, formatHelp(program, specs)] as const;
  }));
  const all = [...texts("."), ...helps];
  assert.ok(all.some(([name]) => name === "docs/pingress.md"));
  assert.deepEqual(all.filter(([, text]) => INSTALLS.test(text)).map(([name]) => name), []);
});

Deno.test("no page says to get the chart from a registry", () => {
  const all = texts(".");
  assert.deepEqual(all.filter(([, text]) => PULLS_CHART.test(text)).map(([name]) => name), []);
  assert.match("helm install pingress oci://ghcr.io/pingress/charts/pingress", PULLS_CHART);
  assert.match("helm repo add pingress https://charts.example.com", PULLS_CHART);
  assert.doesNotMatch("helm install pingress charts/pingress --namespace x", PULLS_CHART);
});

Deno.test("commands that install it by name are found, and those of a file are not", () => {
  for (const text of ["npx pingress dev", "npx -y pingress", "npm i -g pingress", "npm:pingress"]) {
    assert.match(text, INSTALLS);
  }
  assert.doesNotMatch("npx ./dist/npm/pingress-0.1.0.tgz dev", INSTALLS);
});
