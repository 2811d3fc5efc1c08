/** JSON of commands is as their schemas say, which are closed. */
import assert from "node:assert/strict";
import { Compile } from "typebox/compile";
import { checkFacts, denied, ingress, problem, value } from "../tests/support/check_facts.ts";
import { pages } from "../tests/support/check_facts.ts";
import { capturedTerminal } from "../tests/support/captured_terminal.ts";
import { check } from "./check/check.ts";
import { CHECK_JSON } from "./check/check_schema.ts";
import { countOf } from "./check/result.ts";
import { CODES_JSON } from "./codes/codes_schema.ts";
import { COMPLETION_JSON } from "./completion/completion_schema.ts";
import { LINT_JSON } from "./lint/lint_schema.ts";
import { statusOf } from "./status/status.ts";
import { main } from "./main.ts";
import { STATUS_JSON } from "./status/status_schema.ts";
import { VERSION_JSON } from "./version/version_schema.ts";

Deno.test("the JSON of lint is as its schema says, for all that it finds", () => {
  const golden = new URL("../tests/golden/lint/json.out", import.meta.url);
  const json = JSON.parse(Deno.readTextFileSync(golden));
  assert.deepEqual([...Compile(LINT_JSON).Errors(json)], []);
  for (const list of ["ingresses", "cluster", "gatewayApi", "unreadable", "notChecked", "always"]) {
    assert.ok(json[list].length > 0, `${list} is empty, so its schema is not compared`);
  }
});

for (
  const [args, schema] of [
    [["version"], VERSION_JSON],
    [["codes"], CODES_JSON],
    [["codes", "no_endpoint"], CODES_JSON],
    [["completion"], COMPLETION_JSON],
  ] as const
) {
  Deno.test(`the JSON of ${args.join(" ")} is as its schema says`, async () => {
    const captured = capturedTerminal();
    assert.equal(await main([...args, "-o", "json"], captured.terminal), 0);
    assert.deepEqual([...Compile(schema).Errors(JSON.parse(captured.stdout()))], []);
  });
}

/** What a reader of the output gets. */
const read = (value: unknown) => JSON.parse(JSON.stringify(value));

for (
  const [name, facts] of [
    ["a sound installation", checkFacts()],
    ["an API server that does not answer", checkFacts({ kubernetes: denied("get", "version") })],
    ["a problem", checkFacts({ pages: pages({ problems: [problem("ServiceNotFound")] }) })],
  ] as const
) {
  Deno.test(`the JSON of check is as its schema says, for ${name}`, () => {
    const groups = check(facts);
    const value = { v: 1, server: facts.server, groups, counts: countOf(groups) };
    assert.deepEqual([...Compile(CHECK_JSON).Errors(read(value))], []);
  });
}

const FACTS = checkFacts({
  ingresses: value([ingress("web", { tls: [{ secretName: "web-tls" }] }), ingress("api")]),
});

for (
  const [name, facts] of [
    ["a sound installation", FACTS],
    ["a problem", { ...FACTS, pages: pages({ problems: [problem("ServiceNotFound")] }) }],
    ["certificates that cannot be read", { ...FACTS, certificates: denied("list", "secrets") }],
  ] as const
) {
  Deno.test(`the JSON of status is as its schema says, for ${name}`, () => {
    const { now, installation, pages, certificates, ingresses, classes, server } = facts;
    const none = value([]);
    const status = statusOf({
      ...{ now, installation, pages, certificates, events: null, stale: [] },
      missingNamespace: null,
      objects: {
        ...{ ingresses, ingressClasses: classes, services: none, endpointSlices: none },
        ...{ gatewayClasses: none, gateways: none, httpRoutes: none },
      },
    });
    assert.equal(status.served.length, 2);
    const json = read({ v: 1, server, namespace: null, ...status });
    assert.deepEqual([...Compile(STATUS_JSON).Errors(json)], []);
  });
}
