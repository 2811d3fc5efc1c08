import assert from "node:assert/strict";
import { NGINX_ANNOTATIONS, reportNginxAnnotations } from "./annotations.ts";
import { NGINX_PREFIX } from "./refusals.ts";
import { ProblemList } from "../../../base/problems.ts";

Deno.test("every annotation of ingress-nginx has a verdict, and each is listed once", () => {
  assert.ok(NGINX_ANNOTATIONS.length >= 120);
  assert.deepEqual([...new Set(NGINX_ANNOTATIONS)].sort(), NGINX_ANNOTATIONS);
  const named = Object.fromEntries(NGINX_ANNOTATIONS.map((name) => [NGINX_PREFIX + name, "x"]));
  const problems = problemsOf(named);
  assert.equal(problems.length, NGINX_ANNOTATIONS.length);
  assert.ok(problems.every(({ message }) => !message.includes("none that ingress-nginx")));
});

Deno.test("flags named as replacements of an annotation exist", () => {
  const page = Deno.readTextFileSync(new URL("../../../../docs/flags.md", import.meta.url));
  const flags = NGINX_ANNOTATIONS.flatMap((name) => {
    const [{ remedy }] = problemsOf({ [NGINX_PREFIX + name]: "x" });
    return [...remedy.matchAll(/--[a-z-]+/g)].map(([flag]) => flag);
  });
  assert.ok(new Set(flags).size >= 12);
  for (const flag of flags) {
    assert.ok(page.includes(`| \`${flag} `) || page.includes(`| \`${flag}\``), flag);
  }
});

Deno.test("an annotation that a proxy flag replaces is reported with that flag", () => {
  const table: [name: string, severity: string, remedy: RegExp][] = [
    ["ssl-redirect", "warning", /sent to HTTPS unless the proxy's --ssl-redirect is false/],
    ["proxy-read-timeout", "warning", /--response-head-timeout \(1m\)/],
    ["proxy-connect-timeout", "warning", /--connect-timeout \(3s\)/],
    ["proxy-body-size", "warning", /--body-limit/],
    ["limit-connections", "warning", /--connections-per-address/],
  ];
  for (const [name, severity, remedy] of table) {
    const [problem] = problemsOf({ [NGINX_PREFIX + name]: "x" });
    assert.equal(problem.severity, severity, name);
    assert.match(problem.remedy, remedy);
  }
});

Deno.test("the problem names the annotation, whatever its value and name", () => {
  for (const value of ["x", 5, null, {}]) {
    const [{ field, message }] = problemsOf({ [`${NGINX_PREFIX}a"b\u001b`]: value });
    assert.equal(field, `metadata.annotations[${JSON.stringify(`${NGINX_PREFIX}a"b\u001b`)}]`);
    assert.ok(!message.includes("\u001b"));
    assert.match(message, /none that ingress-nginx documents/);
  }
});

Deno.test("other annotations and annotations of an invalid type are ignored", () => {
  for (const annotations of [undefined, null, 5, ["x"], { "example.com/own": "x" }]) {
    assert.deepEqual(problemsOf(annotations), []);
  }
});

function problemsOf(annotations: unknown) {
  const problems = new ProblemList();
  const object = { kind: "Ingress", namespace: "default", name: "web" };
  reportNginxAnnotations(annotations, new Set(), problems.about(object));
  return problems.sorted();
}
