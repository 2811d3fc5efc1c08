import assert from "node:assert/strict";
import { capturedTerminal } from "../../tests/support/captured_terminal.ts";
import { ERROR_REMEDIES } from "../../shared/error_remedies.ts";
import { REMEDIES } from "../../controller/problems/remedies.ts";
import { GATEWAY_REASONS } from "../../controller/problems/gateway/reasons.ts";
import { main } from "../main.ts";
import { CODES, EXAMPLES, isSituation } from "./catalogue.ts";
import { MANIFEST_REASONS } from "./manifest_reasons.ts";

const ROOT = new URL("../../", import.meta.url);

async function codes(args: readonly string[], columns?: number) {
  const captured = capturedTerminal({ isTerminal: columns !== undefined, columns });
  const code = await main(["codes", ...args], captured.terminal);
  return { code, stdout: captured.stdout(), stderr: captured.stderr() };
}

Deno.test("codes lists every code once, by section", async () => {
  const { code, stdout } = await codes([]);
  assert.equal(code, 0);
  for (const title of ["Hosts and paths", "Gateway API", "Responses of proxies"]) {
    assert.ok(stdout.includes(`${title}\n  `), title);
  }
  for (const { code } of CODES) {
    assert.equal(stdout.match(new RegExp(`^  ${code} `, "mg"))?.length, 1, code);
  }
});

Deno.test("the list fits a narrow terminal", async () => {
  for (const columns of [40, 60, 80, 120]) {
    const { stdout } = await codes([], columns);
    for (const line of stdout.split("\n")) {
      assert.ok(line.length <= columns || !/\S \S/.test(line.trim()), line);
    }
  }
});

Deno.test("one code has its severity, kinds, meaning, remedy and page", async () => {
  const { code, stdout } = await codes(["servicenotfound"]);
  assert.equal(code, 0);
  assert.equal(
    stdout,
    `ServiceNotFound
  error or warning, on Ingress, Service

  The Service does not exist; the path returns 503. On a Service it is about --default-backend, and
  no Event.

Example
  backend:
    service: { name: shop, port: { number: 80 } }   # the namespace has no Service shop

Remedy
  Create the Service, or write the name of one that exists in the namespace.

docs/codes.md#servicenotfound
`,
  );
});

Deno.test("a code that is worse in files than in the controller says so", async () => {
  const { stdout } = await codes(["CertificateExpired"]);
  assert.match(
    stdout,
    /^ {2}warning \(error in dev, explain and diff\), on Ingress, Secret, Service$/m,
  );
});

Deno.test("a response of a proxy has its status and whose doing it is", async () => {
  const { stdout } = await codes(["no_endpoint"]);
  assert.match(
    stdout,
    /^no_endpoint\n {2}response 503; caused by the backend\n\n {2}No backend is ready\.\n/,
  );
  assert.match((await codes(["client_gone"])).stdout, /no response, as the client is gone/);
});

Deno.test("rules of lint lead to the code of their problem", async () => {
  assert.match((await codes(["problem/PathConflict"])).stdout, /^PathConflict\n/);
  assert.match((await codes(["gateway/BackendNotFound"])).stdout, /^BackendNotFound\n/);
});

Deno.test("an unknown code gets the nearest one, and exit code 2", async () => {
  const { code, stdout, stderr } = await codes(["ServiceNotFuond"]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.equal(
    stderr,
    'There is no code "ServiceNotFuond"; did you mean ServiceNotFound?\npingress codes lists all\n',
  );
  const strange = await codes(["\x1b[31m\u202e"]);
  assert.equal(strange.code, 2);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(strange.stderr, /[\x00-\x09\x0b-\x1f\u202e]/);
});

Deno.test("JSON has all codes, or the one, with the same fields", async () => {
  const all = JSON.parse((await codes(["-o", "json"])).stdout);
  assert.equal(all.v, 1);
  assert.equal(all.codes.length, CODES.length);
  const one = JSON.parse((await codes(["NO_ROUTE", "-ojson"])).stdout);
  assert.deepEqual(
    one.codes,
    all.codes.filter(({ code }: { code: string }) => code === "no_route"),
  );
  assert.deepEqual(
    Object.keys(one.codes[0]).sort(),
    [
      "code",
      "example",
      "kinds",
      "meaning",
      "remedy",
      "section",
      "severities",
      "severityInFiles",
      "side",
      "status",
    ],
  );
});

Deno.test("of two codes that differ in letter case alone, each is found as it is written", async () => {
  for (const code of ["HostNameConflict", "HostnameConflict"]) {
    assert.match((await codes([code])).stdout, new RegExp(`^${code}\n`));
  }
  assert.equal(new Set(CODES.map(({ code }) => code)).size, CODES.length);
});

Deno.test("every reason of the manifest reader is a code", () => {
  const known = new Set(CODES.map(({ code }) => code));
  const words = [...sources(new URL("dev/", ROOT))].flatMap((text) =>
    text.match(/(?<=\breason: ")[A-Z]\w+(?=")/g) ?? []
  );
  assert.ok(words.length > 10);
  assert.deepEqual(words.filter((word) => !known.has(word)), []);
});

Deno.test("every code of a problem has an example of its own, in YAML or as a sentence", () => {
  const problems = CODES.filter(({ side }) => side === null);
  for (const { code, example } of problems) {
    assert.ok(example !== null, code);
    assert.ok(isSituation(example) ? /^[A-Z-]/.test(example) : /[:=]/.test(example), code);
  }
  assert.equal(new Set(problems.map(({ example }) => example)).size, problems.length);
  const known = new Set(problems.map(({ code }) => code));
  assert.deepEqual([...EXAMPLES.keys()].filter((code) => !known.has(code)), []);
});

Deno.test("remedies name flags and pages that exist", () => {
  const flags = Deno.readTextFileSync(new URL("docs/flags.md", ROOT));
  const remedies = [
    ...Object.values(ERROR_REMEDIES),
    ...Object.values(REMEDIES),
    ...[...GATEWAY_REASONS, ...MANIFEST_REASONS].map(({ remedy }) => remedy),
  ].map((text) => text.replace("kubectl logs --previous", ""));
  for (const remedy of remedies) {
    for (const [flag] of remedy.matchAll(/--[a-z-]+/g)) {
      assert.match(flags, new RegExp(`\`${flag}[ \`[]`), remedy);
    }
    for (const [page] of remedy.matchAll(/docs\/[\w-]+\.md/g)) {
      Deno.statSync(new URL(page, ROOT));
    }
  }
});

function* sources(folder: URL): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* sources(new URL(`${name}/`, folder));
    else if (/(?<!_test)\.ts$/.test(name)) yield Deno.readTextFileSync(new URL(name, folder));
  }
}
