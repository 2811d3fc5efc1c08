import assert from "node:assert/strict";
import { keyRemedy, nginxRemedy, ownRemedy } from "./annotation_suggestion.ts";

for (
  const [kind, name, remedy] of [
    ["Ingress", "pingress.io/timeot", /^Remove the annotation, or use a name from/],
    ["Ingress", "pingress.io/x", /^Remove the annotation, or use a name from/],
    ["Service", "pingress.io/balanse", /^Write "pingress\.io\/balance"$/],
    ["Ingress", "pingress.io/balanse", /^Write "pingress\.io\/balance" on the Service that/],
    ["Service", "dev.pingress.io/endpont", /^Write "dev\.pingress\.io\/endpoint"$/],
    ["Service", "pingress.io/endpoint", /^Write "dev\.pingress\.io\/endpoint"$/],
    ["Ingress", "pingress.io/statsu", /^Write "pingress\.io\/status" on the IngressClass$/],
  ] as const
) {
  Deno.test(`for ${name} on ${kind}, only a name like it is suggested`, () => {
    assert.match(ownRemedy(kind, name), remedy);
  });
}

for (
  const [name, meant] of [
    ["allowlist-source-range", "whitelist-source-range"],
    ["allowlist-source-rang", "whitelist-source-range"],
    ["denylist-source-rang", "denylist-source-range"],
    ["blacklist-source-range", "denylist-source-range"],
    ["global-auth-urll", "global-auth-url"],
    ["auth-url", "global-auth-url"],
    ["no-auth-location", "no-auth-locations"],
    ["nothing-like-any-other-name", null],
  ] as const
) {
  Deno.test(`for the key ${name}, ${meant ?? "none"} is suggested`, () => {
    assert.equal(
      keyRemedy(name),
      meant === null
        ? "Remove the key, or use a name from docs/configmap.md"
        : `Write "${meant}" if you mean that`,
    );
  });
}

Deno.test("for the annotation blacklist-source-range, no list that admits is suggested", () => {
  const remedy = nginxRemedy("blacklist-source-range");
  assert.equal(remedy, 'Write "denylist-source-range" if you mean that');
});
