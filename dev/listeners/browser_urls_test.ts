import assert from "node:assert/strict";
import { planFor } from "../../tests/support/dev_plan.ts";
import { browserHint } from "./browser_urls.ts";

function hintFor(hosts: readonly string[]): string | null {
  const rules = hosts.map((host) =>
    `  - { ${host === "" ? "" : `host: "${host}", `}http: { paths: [{ path: /, pathType: Prefix, ` +
    "backend: { service: { name: web, port: { number: 80 } } } }] } }\n"
  );
  const text = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: { name: web }\n" +
    `spec:\n  rules:\n${rules.join("")}`;
  const { snapshot } = planFor({ "a.yaml": text });
  return browserHint(snapshot, { hostname: "127.0.0.1", port: 8080 });
}

Deno.test("names that machines do not resolve are one line of the hosts file", () => {
  const hint = hintFor(["app.example.com", "*.example.com", "", "api.example.com"]);
  assert.match(hint ?? "", /\/etc\/hosts:\n {2}127\.0\.0\.1 api\.example\.com app\.example\.com$/);
});

Deno.test("names below localhost are URLs to open", () => {
  assert.equal(hintFor(["app.localhost"]), "In a browser:\n  http://app.localhost:8080/");
  assert.match(
    hintFor(["app.localhost", "a.test"]) ?? "",
    /^In a browser:\n[^]*127\.0\.0\.1 a\.test$/,
  );
});

Deno.test("many names are counted, and none have no hint", () => {
  const hosts = Array.from({ length: 12 }, (_, i) => `h${i}.test`);
  assert.match(hintFor(hosts) ?? "", /\(2 more are served\)/);
  assert.equal(hintFor(["*.example.com", ""]), null);
});
