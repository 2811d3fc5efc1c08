/** JSON of commands is as docs/schemas says. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Compile } from "typebox/schema";
import { checkFacts } from "../tests/support/check_facts.ts";
import { check } from "./check/check.ts";
import { countOf } from "./check/result.ts";
import { statusOf } from "./status/status.ts";

const SCHEMAS = join(import.meta.dirname!, "../docs/schemas");

async function schemaOf(command: string) {
  return Compile(JSON.parse(await Deno.readTextFile(join(SCHEMAS, `${command}.json`))));
}

Deno.test("the JSON of check is as its schema says", async () => {
  const groups = check(checkFacts());
  const value = { v: 1, server: "https://10.0.0.1", groups, counts: countOf(groups) };
  const schema = await schemaOf("check");
  assert.deepEqual(schema.Errors(JSON.parse(JSON.stringify(value))), [true, []]);
  assert.equal(schema.Check({ ...value, counts: {} }), false);
});

Deno.test("the JSON of status is as its schema says", async () => {
  const { now, installation, pages, certificates, ingresses, classes } = checkFacts();
  const none = { ok: true, value: [] } as const;
  const status = statusOf({
    ...{ now, installation, pages, certificates, events: null, stale: [] },
    objects: {
      ...{ ingresses, ingressClasses: classes, services: none, endpointSlices: none },
      ...{ gatewayClasses: none, gateways: none, httpRoutes: none },
    },
  });
  const value = { v: 1, server: "https://10.0.0.1", namespace: null, ...status };
  const schema = await schemaOf("status");
  assert.equal(status.served.length, 1);
  assert.deepEqual(schema.Errors(JSON.parse(JSON.stringify(value))), [true, []]);
  assert.equal(schema.Check({ ...value, served: [{}] }), false);
});
