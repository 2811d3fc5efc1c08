import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { BY_NAME, isHonoured, ROWS } from "../controller/translate/annotations/nginx/table.ts";
import { HARMLESS, WARN_POLICY, warnPolicy } from "./warn_policy.ts";

interface Policy {
  readonly spec: {
    readonly validations: readonly { readonly expression: string; readonly message: string }[];
  };
}

Deno.test("overlays/warn is made from the table of annotations", () => {
  const text = Deno.readTextFileSync(new URL(`../${WARN_POLICY}`, import.meta.url));
  assert.equal(text, warnPolicy(), "run deno task docs:update");
});

Deno.test("every annotation that is not supported has a warning of its own", () => {
  const [policy] = parseAllDocuments(warnPolicy()).map((document) => document.toJS() as Policy);
  const messages = policy.spec.validations.map(({ expression, message }) => {
    const [, name] = /^!\('nginx\.ingress\.kubernetes\.io\/([a-z0-9-]+)' in /.exec(expression) ??
      [];
    return name === undefined || !message.startsWith(`${name} `) ? null : name;
  });
  const unsupported = [...BY_NAME].filter(([, { row }]) => !isHonoured(row)).map(([name]) => name);
  assert.deepEqual(messages, [...unsupported, null]);
  assert.ok(unsupported.length > 50);
});

Deno.test("values that the controller takes for harmless have an expression", () => {
  const judged = [...ROWS]
    .filter(([, row]) => row.isHarmless !== undefined && !isHonoured(row))
    .map(([name]) => name);
  assert.deepEqual(judged.sort(), Object.keys(HARMLESS).sort());
});
