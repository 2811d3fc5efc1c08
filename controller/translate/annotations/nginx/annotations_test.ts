import assert from "node:assert/strict";
import { reportNginxAnnotations } from "./annotations.ts";
import { NginxAnnotations } from "./nginx_annotations.ts";
import { NGINX_PREFIX } from "./table.ts";
import { ProblemList } from "../../../base/problems.ts";

Deno.test("a flag that replaces an annotation is named with its default", () => {
  const table: [name: string, remedy: RegExp][] = [
    ["limit-connections", /--connections-per-address/],
    ["proxy-buffer-size", /--response-head-limit \(64 KiB\)/],
  ];
  for (const [name, remedy] of table) {
    const [problem] = problemsOf({ [NGINX_PREFIX + name]: "x" });
    assert.equal(problem.severity, "warning", name);
    assert.match(problem.remedy, remedy);
  }
});

Deno.test("the problem is at the annotation, whatever its value and name", () => {
  for (const value of ["x", 5, null, {}]) {
    const [{ field, message }] = problemsOf({ [`${NGINX_PREFIX}a"b\u001b`]: value });
    assert.equal(field, `metadata.annotations[${JSON.stringify(`${NGINX_PREFIX}a"b\u001b`)}]`);
    assert.ok(!message.includes("\u001b"));
    assert.match(message, /ingress-nginx does not document it/);
  }
});

Deno.test("other annotations have no problem, nor have annotations that are no object", () => {
  for (const annotations of [undefined, null, 5, ["x"], { "example.com/own": "x" }]) {
    assert.deepEqual(problemsOf(annotations), []);
  }
});

Deno.test("an annotation that adds to another one names it", () => {
  const burst = `${NGINX_PREFIX}limit-burst-multiplier`;
  const [alone] = problemsOf({ [burst]: "5" });
  assert.match(alone.message, /has no effect without limit-connections or limit-rps or limit-rpm$/);
  const [besideRate] = problemsOf({ [burst]: "5", [`${NGINX_PREFIX}limit-rpm`]: "5" });
  assert.match(besideRate.message, /as limit-rpm is not supported$/);
  assert.match(besideRate.remedy, /together with limit-rpm$/);
});

Deno.test("an alias beside its newer name is reported as without effect", () => {
  const found = problemsOf({
    [`${NGINX_PREFIX}allowlist-source-range`]: "0.0.0.0/0,::/0",
    [`${NGINX_PREFIX}whitelist-source-range`]: "10.0.0.0/8",
  });
  assert.deepEqual(found.map(({ message }) => /no effect beside/.test(message)), [true]);
});

function problemsOf(annotations: unknown) {
  const problems = new ProblemList();
  const object = { kind: "Ingress", namespace: "default", name: "web" };
  const read = new NginxAnnotations(annotations, undefined);
  reportNginxAnnotations(read, new Set(), problems.about(object));
  return problems.sorted();
}
