/** The lines that `deno task dev` prints after a save. */
import assert from "node:assert/strict";
import { planFor, readTexts } from "../tests/support/dev_plan.ts";
import { servedChanges } from "../cli/diff/route_changes.ts";
import { formatChange } from "./change_report.ts";

type Files = Readonly<Record<string, string>>;

function textFor(before: Files, after: Files): string | null {
  const plan = planFor(after);
  return formatChange(
    servedChanges(planFor(before), plan),
    readTexts(after),
    plan.problems.length,
    41.2,
  );
}

function ingress(paths: readonly string[], service = "web"): string {
  const list = paths.map((path) =>
    `      - { path: ${path}, pathType: Prefix, backend: { service: { name: ${service}, port: { number: 80 } } } }\n`
  );
  return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: { name: app }\nspec:\n" +
    `  rules:\n  - host: app.example.com\n    http:\n      paths:\n${list.join("")}`;
}

const WEB =
  "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { ports: [{ port: 80 }] }\n";

Deno.test("a change of one route is one line, with its place, its time and the problems", () => {
  const files = (path: string) => ({ "3-app.yaml": ingress([path]), "web.yaml": WEB });
  assert.equal(
    textFor(files("/api"), files("/v2")),
    "~ app.example.com /api → /v2 (3-app.yaml:9)  applied in 41 ms · 0 problems",
  );
});

Deno.test("a mended problem is counted", () => {
  const broken = { "3-app.yaml": ingress(["/"]) };
  const line = textFor(broken, { ...broken, "web.yaml": WEB });
  assert.match(
    line ?? "",
    /^~ app\.example\.com \/: 503: .+ → default\/web:80 \(3-app\.yaml:9\) {2}applied in 41 ms · 0 problems \(1 mended\)$/,
  );
  assert.match(textFor({ ...broken, "web.yaml": WEB }, broken) ?? "", /· 1 problem \(1 new\)$/);
});

Deno.test("several routes have a line each, and many are counted", () => {
  const two = textFor(
    { "a.yaml": ingress(["/a"]), "web.yaml": WEB },
    { "a.yaml": ingress(["/a", "/b", "/c"]), "web.yaml": WEB },
  );
  assert.equal(
    two,
    "+ app.example.com /b to default/web:80 (a.yaml:10)\n" +
      "+ app.example.com /c to default/web:80 (a.yaml:11)\n" +
      "applied in 41 ms · 0 problems",
  );
  const paths = Array.from({ length: 12 }, (_, i) => `/${String.fromCharCode(97 + i)}`);
  const many = textFor({ "web.yaml": WEB }, { "a.yaml": ingress(paths), "web.yaml": WEB });
  assert.match(many ?? "", /\n… and 2 more\napplied in 41 ms · 0 problems$/);
});

Deno.test("a save that changes nothing has no text", () => {
  const files = { "a.yaml": ingress(["/"]), "web.yaml": WEB };
  assert.equal(textFor(files, files), null);
  assert.equal(textFor(files, { ...files, "a.yaml": `# a comment\n${ingress(["/"])}` }), null);
});
