import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { checkImports, readModules } from "./check_imports.ts";
import { isTest } from "./import_rules.ts";
import { FOLDERS, rowOf } from "./import_table.ts";
import { codeOf, importsOf } from "./source.ts";

/** The breaches of a repository that holds these files. */
async function breachesOf(files: Record<string, string>): Promise<readonly string[]> {
  const root = await Deno.makeTempDir();
  try {
    const config = JSON.stringify({ tasks: { explain: { command: "deno run dev/explain.ts" } } });
    for (const [path, text] of Object.entries({ "deno.json": config, ...files })) {
      await Deno.mkdir(join(root, dirname(path)), { recursive: true });
      await Deno.writeTextFile(join(root, path), text);
    }
    return checkImports(root).breaches;
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const ALLOWED: Record<string, string> = {
  "shared/snapshot/types.ts": "export interface Snapshot {}\n",
  "shared/clock.ts": "export interface Clock {}\nexport const system = () => Date.now();\n",
  "shared/path/canonical_path.ts": "export const canonical = (path: string) => path;\n",
  "controller/translate/translator.ts": `import { isIP } from "node:net";
import { type Clock } from "../../shared/clock.ts";
import { canonical } from "../../shared/path/canonical_path.ts";
import { order } from "./order.ts";
// Deno.readTextFile, fetch() and setTimeout in a comment or a string are no breach.
export const translate = (clock: Clock) => [clock, isIP, canonical, order, "Deno.args; fetch("];
`,
  "controller/translate/order.ts": "export const order = (date: string) => new Date(date);\n",
  "controller/main.ts": 'import "./cli/options.ts";\nconsole.log(Deno.args);\n',
  "controller/cli/options.ts": 'export const token = Deno.env.get("X");\n',
  "proxy/errors.ts": "export interface ProxyError {}\n",
  "proxy/router/table.ts": `import type { Snapshot } from "../../shared/snapshot/types.ts";
export const table = (s: Snapshot) => s;
`,
  "proxy/upstream/pool.ts": "export class Pool {}\n",
  "proxy/http1/head.ts":
    'import type { ProxyError } from "../errors.ts";\nexport type X = ProxyError;\n',
  "proxy/forward/forwarder.ts": `import { table } from "../router/table.ts";
import { Pool } from "../upstream/pool.ts";
import type { X } from "../http1/head.ts";
export const forward = (x: X) => [x, table, new Pool()];
`,
  "dev/explain.ts": `import "../controller/translate/translator.ts";
import "../proxy/router/table.ts";
console.log(Deno.args);
`,
  "dev/long_test.ts": "//\n".repeat(2000),
  "tests/both_test.ts":
    'import "../controller/main.ts";\nimport "../proxy/forward/forwarder.ts";\nDeno.args;\n',
};

Deno.test("a repository that follows the rules has no breach", async () => {
  assert.deepEqual(await breachesOf(ALLOWED), []);
});

const BREACHES: { name: string; files: Record<string, string>; breach: RegExp }[] = [
  {
    name: "the controller imports the proxy",
    files: {
      "controller/kube/x.ts": 'import { y } from "../../proxy/y.ts";\nexport const x = y;\n',
    },
    breach:
      /^controller\/kube\/x\.ts imports proxy\/y\.ts: controller and proxy never import each other$/,
  },
  {
    name: "the proxy imports a type of the controller",
    files: {
      "proxy/io/x.ts": 'import type {\n  Y,\n} from "../../controller/y.ts";\nexport type X = Y;\n',
    },
    breach: /^proxy\/io\/x\.ts imports controller\/y\.ts: controller and proxy never/,
  },
  {
    name: "the proxy re-exports the controller",
    files: { "proxy/io/x.ts": 'export * from "../../controller/y.ts";\n' },
    breach: /^proxy\/io\/x\.ts imports controller\/y\.ts/,
  },
  {
    name: "the proxy loads the controller when it runs",
    files: { "proxy/io/x.ts": 'export const x = await import("../../controller/y.ts");\n' },
    breach: /^proxy\/io\/x\.ts imports controller\/y\.ts/,
  },
  {
    name: "the proxy starts the controller as a worker",
    files: {
      "proxy/io/x.ts":
        'new Worker(new URL("../../controller/y.ts", import.meta.url), { type: "module" });\n',
    },
    breach: /^proxy\/io\/x\.ts imports controller\/y\.ts/,
  },
  {
    name: "shared imports the proxy",
    files: { "shared/x.ts": 'import "../proxy/y.ts";\n' },
    breach: /^shared\/x\.ts imports proxy\/y\.ts: shared imports nothing of ours outside shared$/,
  },
  {
    name: "the proxy makes spans with a package that benchmarks compare with",
    files: {
      "proxy/io/x.ts": 'import { trace } from "@opentelemetry/api";\nexport const x = trace;\n',
    },
    breach: /^proxy\/io\/x\.ts imports @opentelemetry\/api: only benchmarks use it, to compare$/,
  },
  {
    name: "the proxy imports dev",
    files: { "proxy/io/x.ts": 'import "../../dev/y.ts";\n' },
    breach: /^proxy\/io\/x\.ts imports dev\/y\.ts: proxy imports shared and itself only$/,
  },
  {
    name: "dev imports test support",
    files: { "dev/x.ts": 'import "../tests/support/y.ts";\n' },
    breach: /^dev\/x\.ts imports tests\/support\/y\.ts/,
  },
  {
    name: "the router imports upstreams",
    files: {
      "proxy/router/x.ts": 'import type { P } from "../upstream/p.ts";\nexport type X = P;\n',
    },
    breach:
      /^proxy\/router\/x\.ts imports proxy\/upstream\/p\.ts: proxy\/router may not import proxy\/upstream/,
  },
  {
    name: "http1 imports http2",
    files: { "proxy/http1/x.ts": 'import "../http2/y.ts";\n' },
    breach: /: proxy\/http1 may not import proxy\/http2 /,
  },
  {
    name: "the pool knows messages",
    files: {
      "proxy/upstream/pool.ts":
        'import type { E } from "../http/message.ts";\nexport type P = E;\n',
    },
    breach: /: proxy\/upstream may not import proxy\/http /,
  },
  {
    name: "a folder has no row",
    files: { "proxy/extra/x.ts": "export {};\n" },
    breach: /^proxy\/extra\/x\.ts: proxy\/extra has no row in tools\/import_table\.ts$/,
  },
  {
    name: "a file beside main",
    files: { "proxy/x.ts": "export {};\n" },
    breach: /^proxy\/x\.ts: proxy\/x\.ts has no row/,
  },
  {
    name: "a folder is a hall",
    files: Object.fromEntries(
      Array.from({ length: 26 }, (_, i) => [`proxy/io/x${i}.ts`, "export {};\n"]),
    ),
    breach: /^proxy\/io has 26 files: split it/,
  },
  {
    name: "translate reads a file",
    files: {
      "controller/translate/translator.ts": 'export const x = () => Deno.readTextFileSync("x");\n',
    },
    breach: /^controller\/translate\/translator\.ts uses Deno: translate is a pure function/,
  },
  {
    name: "translate uses the network",
    files: { "controller/translate/x.ts": 'export const x = () => fetch("http://x");\n' },
    breach: /^controller\/translate\/x\.ts uses fetch/,
  },
  {
    name: "translate waits",
    files: { "controller/translate/x.ts": "export const x = () => setTimeout(x, 1);\n" },
    breach: /^controller\/translate\/x\.ts uses timers/,
  },
  {
    name: "translate looks at the clock",
    files: { "controller/translate/x.ts": "export const x = () => `${new Date()}`;\n" },
    breach: /^controller\/translate\/x\.ts uses the system's clock/,
  },
  {
    name: "translate runs something that is not pure",
    files: {
      "controller/translate/x.ts": 'import { y } from "../../shared/y.ts";\nexport const x = y;\n',
      "shared/y.ts": "export const y = Math.random();\n",
    },
    breach: /^controller\/translate\/x\.ts runs shared\/y\.ts, which uses random numbers/,
  },
  {
    name: "translate opens a socket",
    files: { "controller/translate/x.ts": 'import { connect } from "node:net";\nconnect(1);\n' },
    breach: /^controller\/translate\/x\.ts imports node:net/,
  },
  {
    name: "translate remembers between calls",
    files: { "controller/translate/x.ts": "const known = new WeakMap();\nexport { known };\n" },
    breach: /^controller\/translate\/x\.ts keeps known, made by new WeakMap: only a Translator /,
  },
  {
    name: "a module under translate counts its calls",
    files: { "controller/base/x.ts": "let calls = 0;\nexport const x = () => calls++;\n" },
    breach: /^controller\/base\/x\.ts declares calls with let: only a Translator remembers/,
  },
  {
    name: "a connection's callback is assigned as it is written",
    files: { "proxy/http1/x.ts": "export const x = (a: A) => {\n  a.onEnd = () => a.end();\n};\n" },
    breach: /^proxy\/http1\/x\.ts assigns a function to onEnd as it is written: V8 keeps it/,
  },
  ...["Deno.args", "Deno.env", "process.env", "process.argv"].map((name) => ({
    name: `a file that is neither main nor options uses ${name}`,
    files: { "proxy/io/x.ts": `export const x = ${name};\n` },
    breach: new RegExp(`^proxy/io/x\\.ts uses ${name}: only main and options`),
  })),
  {
    name: "a worker loads the schema of snapshots",
    files: {
      "proxy/process/worker.ts": 'import "../listen/x.ts";\n',
      "proxy/listen/x.ts": 'import { y } from "../../shared/snapshot/y.ts";\nexport const x = y;\n',
      "shared/snapshot/y.ts":
        'import type { T } from "typebox/type";\nimport T1 from "typebox";\nexport const y: T = T1;\n',
    },
    breach:
      /^proxy\/process\/worker\.ts imports proxy\/listen\/x\.ts, which .* which imports typebox: a thread's start loads nothing/,
  },
  {
    name: "the thread of a command loads the Kubernetes client",
    files: {
      "cli/cluster/thread.ts": 'import "../../controller/kube/x.ts";\n',
      "controller/kube/x.ts":
        'import { KubeConfig } from "@kubernetes/client-node";\nexport const x = KubeConfig;\n',
    },
    breach:
      /^cli\/cluster\/thread\.ts imports controller\/kube\/x\.ts, which imports @kubernetes\/client-node: a thread's start loads nothing/,
  },
  {
    name: "a file is too long",
    files: { "proxy/io/x.ts": "//\n".repeat(501) },
    breach: /^proxy\/io\/x\.ts has 501 lines/,
  },
  {
    name: "a dependency does not stand in deno.json",
    files: { "proxy/x_test.ts": 'import "npm:left-pad@1";\n' },
    breach: /^proxy\/x_test\.ts imports npm:left-pad@1: dependencies stand in deno\.json/,
  },
  {
    name: "an import is computed",
    files: { "proxy/io/x.ts": "export const x = (y: string) => import(y);\n" },
    breach: /^proxy\/io\/x\.ts imports a computed path/,
  },
  {
    name: "a test swallows uncaught errors",
    files: { "proxy/x_test.ts": `addEventListener("unhandled${"rejection"}", () => {});\n` },
    breach: /^proxy\/x_test\.ts listens for what nobody caught: only a main or a worker may/,
  },
  {
    name: "modules go in a circle",
    files: {
      "proxy/io/a.ts": 'import { b } from "./b.ts";\nexport const a = () => b;\n',
      "proxy/io/b.ts": 'import { c } from "./c.ts";\nexport const b = () => c;\n',
      "proxy/io/c.ts":
        'import type { a } from "./a.ts";\nexport const c = () => null as unknown as typeof a;\n',
    },
    breach:
      /^proxy\/io\/a\.ts imports proxy\/io\/b\.ts, which imports proxy\/io\/c\.ts, which imports proxy\/io\/a\.ts: modules/,
  },
];

for (const { name, files, breach } of BREACHES) {
  Deno.test(`rejected: ${name}`, async () => {
    const breaches = await breachesOf(files);
    assert.equal(breaches.length, 1, breaches.join("\n"));
    assert.match(breaches[0], breach);
  });
}

Deno.test("comments, strings, templates and regular expressions are not code", () => {
  const table: [string, string][] = [
    ["a // b\nc", "a     \nc"],
    ["a /* b\n */ c", "a     \n    c"],
    ['f("a\\"b", \'c\')', "f(\"    \", ' ')"],
    ["`a ${b} c` d", "     b     d"],
    ["`${`${{ a }}`}` b", "      { a }     b"],
    ['x = /"/.test(y); "z"', 'x =    .test(y); " "'],
    ['x = /[/"]/g; a / b / c', "x =       g; a / b / c"],
    ["(a) / b; return /x/;", "(a) / b; return    ;"],
    ["'unfinished\nb", "'          \nb"],
  ];
  for (const [text, code] of table) assert.equal(codeOf(text), code, text);
});

Deno.test("imports are found in every form", () => {
  const text = `import a, { b as c, type D } from "./one.ts";
import * as e from './two.ts';
import type { F } from "./three.ts";
import { type G, type H } from "./four.ts";
export { i } from "./five.ts";
export type { J } from "./six.ts";
import "./seven.ts";
const k = "from './not.ts'"; // import "./not.ts"
export const l = "./not.ts";
const m = await import("./eight.ts");
`;
  assert.deepEqual(importsOf(text), [
    { specifier: "./one.ts", typeOnly: false, names: ["b", "D"] },
    { specifier: "./two.ts", typeOnly: false, names: [] },
    { specifier: "./three.ts", typeOnly: true, names: ["F"] },
    { specifier: "./four.ts", typeOnly: true, names: ["G", "H"] },
    { specifier: "./five.ts", typeOnly: false, names: ["i"] },
    { specifier: "./six.ts", typeOnly: true, names: ["J"] },
    { specifier: "./seven.ts", typeOnly: false, names: [] },
    { specifier: "./eight.ts", typeOnly: false, names: [] },
  ]);
});

Deno.test("the table of folders has no circles, and allows only imports that exist", () => {
  const used = new Map<string, Set<string>>();
  for (const { path, imports } of readModules(".")) {
    if (isTest(path) || !FOLDERS.has(rowOf(path))) continue;
    const row = used.get(rowOf(path)) ?? new Set();
    used.set(rowOf(path), row);
    for (const { target } of imports) if (target !== null) row.add(rowOf(target));
  }
  for (const [row, may] of FOLDERS) {
    const unused = may.filter((one) => !used.get(row)?.has(one));
    assert.deepEqual(unused, [], `${row} imports none of these: take them out of the table`);
    const seen = new Set(may);
    for (const one of seen) for (const next of FOLDERS.get(one) ?? []) seen.add(next);
    assert.ok(!seen.has(row), `${row} leads back to itself`);
  }
});
