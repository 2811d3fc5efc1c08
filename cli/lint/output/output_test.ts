import assert from "node:assert/strict";
import { join } from "node:path";
import { folderTexts, lintTexts } from "../../../tests/golden/lint_case.ts";
import { type Finding, type LintResult, redact } from "../finding.ts";
import { githubOutput } from "./github_output.ts";
import { exitCode, OUTPUTS } from "../main.ts";
import { FORMATS } from "../options.ts";
import { snippetLines } from "../snippet.ts";

const ROOT = join(import.meta.dirname!, "../../..");

function resultOf(findings: readonly Finding[]): LintResult {
  return {
    ingresses: [{ name: "default/web", verdict: "OPENS", at: null, findings }],
    cluster: [],
    gatewayApi: [],
    unreadable: [],
    notChecked: [],
    always: [],
  };
}

const FINDING: Finding = {
  verdict: "OPENS",
  rule: "annotation/auth-url",
  effect: "authenticates",
  difference: "it does not",
  remedy: "Remove it",
  field: "",
  at: { file: "a b/ü.yaml", line: 3, column: 5 },
};

Deno.test("no output of lint shows passwords of URLs or arguments of snippets", () => {
  for (const format of FORMATS) {
    const text = OUTPUTS[format](lintTexts(folderTexts()));
    assert.doesNotMatch(text, /hunter2|s3cr3t|t0ken/, format);
  }
});

Deno.test("passwords of URLs are redacted, other text is not", () => {
  assert.equal(redact('to "https://u:p@a.test/x@y"'), 'to "https://REDACTED@a.test/x@y"');
  assert.equal(redact("https://u:p@q@a.test/"), "https://REDACTED@a.test/");
  assert.equal(redact('https://u:p"w@a.test/'), "https://REDACTED@a.test/");
  assert.equal(redact("https://a.test/?mail=a@b"), "https://a.test/?mail=a@b");
});

Deno.test("directives of a snippet are named with their lines, without arguments", () => {
  const text = `# a; b
proxy_set_header X "a;
b"; if ($x = "}") { return 403; }
set $y \${z}a;
`;
  assert.deepEqual(snippetLines(text).map(({ line, directive }) => `${line} ${directive}`), [
    "2 proxy_set_header",
    "3 if",
    "3 return",
    "4 set",
  ]);
  assert.deepEqual(snippetLines('"s3cr3t'), [{
    line: 1,
    directive: "(no directive)",
    remedy: "Remove the line: it does not begin with the name of a directive",
  }]);
});

Deno.test("lines in a block of Lua are no directives", () => {
  const text = `access_by_lua_block {
  if x then y = { "s3cr3t" } end
}
deny all;
content_by_lua_block { { }
allow all;`;
  assert.deepEqual(snippetLines(text).map(({ line, directive }) => `${line} ${directive}`), [
    "1 access_by_lua_block",
    "4 deny",
    "5 content_by_lua_block",
  ]);
});

Deno.test("a line break in a message begins no workflow command of its own", () => {
  const text = githubOutput(resultOf([{ ...FINDING, effect: "a\n::error::b%0A" }]));
  assert.equal(text.split("\n").filter((line) => line.startsWith("::")).length, 1);
  assert.match(text, /a%0A::error::b%250A/);
});

Deno.test("no output of lint has characters that a terminal acts on", () => {
  const text = "\x1b[31m\x9b2J\x7f\u202e";
  const finding = { ...FINDING, effect: text, at: { file: `${text}.yaml`, line: 1, column: 1 } };
  const result = {
    ...resultOf([finding]),
    unreadable: [{ message: text, remedy: text, at: null }],
  };
  for (const format of FORMATS) {
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(OUTPUTS[format](result), /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/, format);
  }
  assert.equal(JSON.parse(OUTPUTS.json(result)).ingresses[0].findings[0].effect, text);
});

Deno.test("control characters of manifests reach neither terminal nor Markdown", () => {
  const result = resultOf([{ ...FINDING, difference: "\x1b[31m<script>|" }]);
  assert.ok(!OUTPUTS.text(result).includes("\x1b"));
  assert.match(OUTPUTS.markdown(result), /\\\\u001b\\\[31m\\<script\\>\\\|/);
});

Deno.test("SARIF output has all that SARIF 2.1.0 requires", () => {
  const log = JSON.parse(OUTPUTS.sarif(lintTexts(folderTexts())));
  assert.equal(log.version, "2.1.0");
  assert.equal(log.runs.length, 1);
  const [run] = log.runs;
  const { driver } = run.tool;
  assert.equal(typeof driver.name, "string");
  const ids: string[] = driver.rules.map(({ id }: { id: string }) => id);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(run.results.length > 10);
  for (const { ruleId, level, message, locations } of run.results) {
    assert.ok(ids.includes(ruleId));
    assert.ok(["error", "warning", "note"].includes(level));
    assert.ok(message.text.length > 0);
    for (const { physicalLocation: { artifactLocation, region } } of locations) {
      assert.ok(folderTexts()[artifactLocation.uri] !== undefined);
      assert.ok(region.startLine >= 1 && region.startColumn >= 1);
    }
  }
  const [invocation] = run.invocations;
  assert.equal(invocation.executionSuccessful, false);
  for (const { level, message } of invocation.toolExecutionNotifications) {
    assert.ok(["error", "note"].includes(level) && message.text.length > 0);
  }
});

Deno.test("names of files are escaped in URIs of SARIF", () => {
  assert.match(OUTPUTS.sarif(resultOf([FINDING])), /"uri": "a%20b\/%C3%BC.yaml"/);
});

Deno.test("the exit code is 1 from --fail-on upwards, and 2 for an incomplete result", () => {
  const opens = resultOf([FINDING]);
  const differs: LintResult = {
    ...opens,
    ingresses: [{ ...opens.ingresses[0], verdict: "DIFFERS" }],
  };
  assert.equal(exitCode(opens, "OPENS"), 1);
  assert.equal(exitCode(differs, "OPENS"), 0);
  assert.equal(exitCode(differs, "BREAKS"), 0);
  assert.equal(exitCode(differs, "DIFFERS"), 1);
  assert.equal(exitCode({ ...differs, cluster: [FINDING] }, "OPENS"), 1);
  const unreadable = [{ message: "x", remedy: "y", at: null }];
  assert.equal(exitCode({ ...differs, unreadable }, "OPENS"), 2);
});

const SAME = "tests/golden/lint/folder/1-same.yaml";

/** Runs the task's program with the task's permissions. */
async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-P=lint", "--no-prompt", "--no-check", "cli/lint/main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  });
  const { code, stdout, stderr } = await command.output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: decode(stdout), err: decode(stderr) };
}

Deno.test("the task lints a folder, with short and long flags", async () => {
  const { code, out } = await run("-o", "json", SAME);
  assert.equal(code, 0);
  assert.equal(JSON.parse(out).totals.same, 1);
  const folder = await run("tests/golden/lint/folder", "--output=text");
  assert.equal(folder.code, 2);
  assert.match(folder.out, /6-broken\.yaml:3:12/);
  const opens = await run(
    "tests/golden/lint/folder/3-breaks.yaml",
    "tests/golden/lint/folder/4-opens.yaml",
  );
  assert.equal(opens.code, 1);
});

Deno.test("bad use of lint exits with 2 and says what helps", async () => {
  for (
    const [args, text] of [
      [[], /needs DIR/],
      [["tests/golden/lint/missing"], /There is no file or folder/],
      [["tests/golden/lint/folder", "-o", "xml"], /--output/],
      [["examples", "--configmap", "a/b"], /neither a file nor a ConfigMap/],
      [["tests/golden/lint/folder/5-controller.yaml"], /There is no Ingress/],
      [[SAME, "--watch-namespace=elsewhere"], /No Ingress was checked/],
      [[SAME, "--nginx-class=elsewhere"], /No Ingress was checked/],
    ] as const
  ) {
    const { code, err } = await run(...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(err, text);
  }
});

Deno.test("a folder with a Gateway and without Ingresses is linted", async () => {
  const { code, out } = await run("tests/golden/lint/folder/7-gateway.yaml");
  assert.equal(code, 0);
  assert.match(out, /\n0 Ingresses: .*; 4 of Gateway API not served as written; /);
});

Deno.test("a file for --configmap that cannot be read is refused with the place", async () => {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata:\n  a: b: c\n";
    for (
      const [bytes, expected] of [
        [
          new TextEncoder().encode(text),
          /^--configmap: \S*:5:6: this document does not parse: a colon/,
        ],
        [
          Uint8Array.of(0xff, 0xfe, 0x61, 0),
          /^--configmap: \S*:1:1: it is encoded in UTF-16LE, not in/,
        ],
        [
          new TextEncoder().encode(text.replace("a: b: c", "a: b").replace("name: a", "name: B")),
          /^--configmap: \S*:3:13: its name is "B", which the API server refuses/,
        ],
        [
          new TextEncoder().encode("kind: Pod\napiVersion: v1\n"),
          /^--configmap: \S* has 0 ConfigMaps/,
        ],
      ] as const
    ) {
      await Deno.writeFile(file, bytes);
      const { code, err } = await run(SAME, "--configmap", file);
      assert.equal(code, 2);
      assert.match(err, expected);
    }
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("a ConfigMap in a file of its own is read", async () => {
  const config = "tests/golden/lint/folder/5-controller.yaml";
  const { out } = await run(SAME, "--configmap", config);
  assert.match(out, /global-auth-url: authenticates the requests of all Ingresses/);
});
