import assert from "node:assert/strict";
import { ownRemedy } from "./annotation_suggestion.ts";

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
