import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { BY_NAME, isHonoured, ROWS } from "../controller/translate/annotations/nginx/table.ts";
import { HARMLESS, hasWarning, WARN_POLICY, warnPolicy } from "./warn_policy.ts";

interface Policy {
  readonly spec: {
    readonly validations: readonly { readonly expression: string; readonly message: string }[];
  };
}

Deno.test("overlays/warn is made from the table of annotations", () => {
  const text = Deno.readTextFileSync(new URL(`../${WARN_POLICY}`, import.meta.url));
  assert.equal(text, warnPolicy(), "run deno task docs:update");
});

Deno.test("every annotation without an effect, or that needs the profile, has a warning of its own", () => {
  const [policy] = parseAllDocuments(warnPolicy()).map((document) => document.toJS() as Policy);
  const messages = policy.spec.validations.map(({ expression, message }) => {
    const [, name] =
      /^(?:variables\.hasProfile \|\| )?!\('nginx\.ingress\.kubernetes\.io\/([a-z0-9-]+)' in /.exec(
        expression,
      ) ??
        [];
    return name === undefined || !message.startsWith(`${name} `) ? null : name;
  });
  const warned = [...BY_NAME].filter(([, { row }]) => hasWarning(row)).map(([name]) => name);
  assert.deepEqual(messages, [...warned, null]);
  assert.ok(warned.length > 50);
  assert.deepEqual(warned.filter((name) => isHonoured(BY_NAME.get(name)!.row)), [
    ...["force-ssl-redirect", "allowlist-source-range", "whitelist-source-range"],
    ...["denylist-source-range", "enable-global-auth", "auth-type", "auth-secret", "auth-url"],
    ...["proxy-body-size", "backend-protocol", "proxy-ssl-secret"],
  ]);
});

Deno.test("values that the controller takes for harmless have an expression", () => {
  const judged = [...ROWS]
    .filter(([, row]) => row.isHarmless !== undefined && hasWarning(row))
    .map(([name]) => name);
  // The controller judges it apart.
  judged.push("enable-global-auth");
  assert.deepEqual(judged.sort(), Object.keys(HARMLESS).sort());
});
