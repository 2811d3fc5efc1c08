import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { planFor } from "../../tests/support/dev_plan.ts";
import { formatProblems, PLAIN } from "./problem_text.ts";
import { styleOf } from "./style.ts";

const WEB = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
`;

function ingress(name: string, service: string, annotation = ""): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: ${name}
  annotations: {${annotation}}
spec:
  rules:
    - host: ${name}.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service: { name: ${service}, port: { number: 80 } }
`;
}

function problemsOf(...texts: readonly string[]) {
  return planFor(Object.fromEntries([
    ...texts.map((text, i) => [`${i}.yaml`, text]),
    ["web.yaml", WEB],
  ])).problems;
}

Deno.test("a problem has code, place, field, the line with a caret, message and remedy", () => {
  assert.deepEqual(formatProblems(problemsOf(ingress("a", "shop")), PLAIN).split("\n"), [
    "1 error, 0 warnings:",
    "",
    "Ingress default/a",
    "  error  ServiceNotFound  0.yaml:14:26  spec.rules[0].http.paths[0].backend.service.name",
    "    > 14 | service: { name: shop, port: { number: 80 } }",
    "         |            ^^^^",
    "    there is no Service shop in namespace default, so requests get 503",
    "    → Create the Service, or write the name of one that exists",
  ]);
  assert.equal(formatProblems([], PLAIN), "No problems");
  assert.equal(
    formatProblems([], { ...PLAIN, about: "about this host" }),
    "No problems about this host",
  );
});

Deno.test("problems are grouped by object, the worst object first", () => {
  const unknown = "nginx.ingress.kubernetes.io/brew-coffee: x";
  const text = formatProblems(
    problemsOf(ingress("a", "web", unknown), ingress("b", "gone", unknown)),
    PLAIN,
  );
  assert.deepEqual(text.match(/^(?:Ingress.*| {2}\w+ {2}\w+)/gm), [
    "Ingress default/b",
    "  error  ServiceNotFound",
    "  warning  NginxAnnotation",
    "Ingress default/a",
    "  warning  NginxAnnotation",
  ]);
});

Deno.test("one message about many objects is printed once, with all their places", () => {
  const unknown = "nginx.ingress.kubernetes.io/brew-coffee: x";
  const texts = Array.from({ length: 150 }, (_, i) => ingress(`a${i}`, "web", unknown));
  const lines = formatProblems(problemsOf(...texts), PLAIN).split("\n");
  assert.equal(lines[2], "150 objects");
  assert.equal(lines.filter((line) => /Ingress default\/a\d+/.test(line)).length, 150);
  assert.equal(lines.filter((line) => /150 times: annotation/.test(line)).length, 1);
});

Deno.test("a problem of a cluster has its object as its place", () => {
  const problem = (name: string | null) => ({
    problem: {
      object: name === null ? null : { kind: "Ingress", namespace: "shop", name },
      field: "spec.rules[0]",
      reason: "ServiceNotFound",
      message: "there is no Service web",
      remedy: "Create it",
      severity: "error" as const,
    },
    at: null,
  });
  const places = (names: readonly (string | null)[]) =>
    formatProblems(names.map(problem), PLAIN).match(/^.*spec\.rules\[0\]$/gm);
  assert.deepEqual(places(["web"]), [
    "  error  ServiceNotFound  Ingress shop/web  spec.rules[0]",
  ]);
  assert.deepEqual(places(["a", "b", "c", "d"]), [
    "  error  ServiceNotFound  Ingress shop/a  spec.rules[0]",
    "    Ingress shop/b  spec.rules[0]",
    "    Ingress shop/c  spec.rules[0]",
    "    Ingress shop/d  spec.rules[0]",
  ]);
  assert.deepEqual(places([null]), ["  error  ServiceNotFound  (command line)  spec.rules[0]"]);
});

Deno.test("problems with nothing to do are counted, and listed on request", () => {
  const problems = problemsOf("apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: a }\n");
  assert.equal(
    formatProblems(problems, PLAIN),
    "No problems\n\n1 info with nothing to do: 1 KindIgnored",
  );
  assert.match(formatProblems(problems, { ...PLAIN, listsInfo: true }), /info {2}KindIgnored/);
});

Deno.test("no line with several words is longer than the terminal, with colours and without", () => {
  const long = "x".repeat(300);
  const problems = problemsOf(
    ingress("a", long.slice(0, 60), `nginx.ingress.kubernetes.io/rewrite-targt: "/${long}"`),
    `{"apiVersion":"v1","kind":"Service","metadata":{"name":"b"},"spec":{"ports":[{"port":"80"}]},"x":"${long}"}`,
  );
  for (const columns of [40, 80, 120]) {
    const plain = formatProblems(problems, { columns, style: styleOf(false) });
    for (const line of plain.split("\n")) {
      const isOneWord = !/\S \S/.test(line.trim());
      assert.ok(line.length <= columns || isOneWord, `${columns}: ${line}`);
    }
    const coloured = formatProblems(problems, { columns, style: styleOf(true) });
    assert.notEqual(coloured, plain);
    assert.equal(stripVTControlCharacters(coloured), plain);
  }
});

Deno.test("a caret stands below what is meant in a long line, and below a tab", () => {
  const json = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"b"},"spec":{"ports":[` +
    `${'{"port":1,"name":"p"},'.repeat(20)}{"prt":80}]}}`;
  for (const text of [json, "kind: Service\nmetadata:\n\tname: a\n"]) {
    const lines = formatProblems(problemsOf(text), { columns: 60, style: styleOf(false) }).split(
      "\n",
    );
    const at = lines.findIndex((line) => /\^/.test(line));
    const [from, to] = [lines[at].indexOf("^"), lines[at].lastIndexOf("^") + 1];
    assert.equal(lines[at - 1].slice(from, to), text === json ? '"prt"' : "→");
  }
});

Deno.test("control characters of manifests are escaped in messages and in lines", () => {
  const text = formatProblems(
    problemsOf(ingress("a", '"sh\u001b[2Jop"'), "kind: \u202eX\n\u009b: {"),
    PLAIN,
  );
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(text.replaceAll("\n", ""), /[\x00-\x1f\x7f-\x9f\u202e]/);
});
