import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { checkImports } from "./check_imports.ts";
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
  "shared/snapshot.ts": "export interface Snapshot {}\n",
  "shared/clock.ts": "export interface Clock {}\nexport const system = () => Date.now();\n",
  "shared/path.ts": "export const canonical = (path: string) => path;\n",
  "controller/translate.ts": `import { isIP } from "node:net";
import { type Clock } from "../shared/clock.ts";
import { canonical } from "../shared/path.ts";
import { order } from "./translate/order.ts";
// Deno.readTextFile, fetch() and setTimeout in a comment or a string are no breach.
export const translate = (clock: Clock) => [clock, isIP, canonical, order, "Deno.args; fetch("];
`,
  "controller/translate/order.ts": "export const order = (date: string) => new Date(date);\n",
  "controller/main.ts": 'import "./options.ts";\nconsole.log(Deno.args);\n',
  "controller/options.ts": 'export const token = Deno.env.get("X");\n',
  "proxy/message.ts": "export interface Exchange {}\n",
  "proxy/router/table.ts": `import type { Snapshot } from "../../shared/snapshot.ts";
import type { Exchange } from "../message.ts";
export const table = (s: Snapshot, e: Exchange) => [s, e];
`,
  "proxy/upstream/pool.ts": "export class Pool {}\n",
  "proxy/http1/head.ts":
    'import type { Exchange } from "../message.ts";\nexport type X = Exchange;\n',
  "proxy/forward.ts": `import { table } from "./router/table.ts";
import { Pool } from "./upstream/pool.ts";
import type { X } from "./http1/head.ts";
export const forward = (x: X) => [x, table, new Pool()];
`,
  "dev/explain.ts": `import "../controller/translate.ts";
import "../proxy/router/table.ts";
console.log(Deno.args);
`,
  "dev/long_test.ts": "//\n".repeat(2000),
  "tests/both_test.ts":
    'import "../controller/main.ts";\nimport "../proxy/forward.ts";\nDeno.args;\n',
};

Deno.test("a repository that keeps the rules has no breach", async () => {
  assert.deepEqual(await breachesOf(ALLOWED), []);
});

const BREACHES: { name: string; files: Record<string, string>; breach: RegExp }[] = [
  {
    name: "the controller imports the proxy",
    files: { "controller/x.ts": 'import { y } from "../proxy/y.ts";\nexport const x = y;\n' },
    breach:
      /^controller\/x\.ts imports proxy\/y\.ts: controller and proxy never import each other$/,
  },
  {
    name: "the proxy imports a type of the controller",
    files: {
      "proxy/x.ts": 'import type {\n  Y,\n} from "../controller/y.ts";\nexport type X = Y;\n',
    },
    breach: /^proxy\/x\.ts imports controller\/y\.ts: controller and proxy never/,
  },
  {
    name: "the proxy re-exports the controller",
    files: { "proxy/x.ts": 'export * from "../controller/y.ts";\n' },
    breach: /^proxy\/x\.ts imports controller\/y\.ts/,
  },
  {
    name: "the proxy loads the controller when it runs",
    files: { "proxy/x.ts": 'export const x = await import("../controller/y.ts");\n' },
    breach: /^proxy\/x\.ts imports controller\/y\.ts/,
  },
  {
    name: "the proxy starts the controller as a worker",
    files: {
      "proxy/x.ts":
        'new Worker(new URL("../controller/y.ts", import.meta.url), { type: "module" });\n',
    },
    breach: /^proxy\/x\.ts imports controller\/y\.ts/,
  },
  {
    name: "shared imports the proxy",
    files: { "shared/x.ts": 'import "../proxy/y.ts";\n' },
    breach: /^shared\/x\.ts imports proxy\/y\.ts: shared imports nothing of ours outside shared$/,
  },
  {
    name: "the proxy imports dev",
    files: { "proxy/x.ts": 'import "../dev/y.ts";\n' },
    breach: /^proxy\/x\.ts imports dev\/y\.ts: proxy imports shared and itself only$/,
  },
  {
    name: "dev imports test support",
    files: { "dev/x.ts": 'import "../tests/support/y.ts";\n' },
    breach: /^dev\/x\.ts imports tests\/support\/y\.ts/,
  },
  {
    name: "the router imports the forwarding of messages",
    files: { "proxy/router/x.ts": 'import type { F } from "../fields.ts";\nexport type X = F;\n' },
    breach: /^proxy\/router\/x\.ts imports proxy\/fields\.ts: proxy\/router knows only/,
  },
  {
    name: "http1 reaches upstreams by another file",
    files: {
      "proxy/http1/x.ts": 'import { m } from "../m.ts";\nexport const x = m;\n',
      "proxy/m.ts": 'import { p } from "./upstream/p.ts";\nexport const m = p;\n',
      "proxy/upstream/p.ts": "export const p = 1;\n",
    },
    breach:
      /^proxy\/http1\/x\.ts imports proxy\/m\.ts, which imports proxy\/upstream\/p\.ts: http1 and http2 know/,
  },
  {
    name: "http1 imports http2",
    files: {
      "proxy/http1/x.ts": 'import "../http2/y.ts";\n',
      "proxy/http2/y.ts": "export {};\n",
    },
    breach: /: http1 and http2 never know each other$/,
  },
  {
    name: "the pool knows messages",
    files: {
      "proxy/upstream/pool.ts": 'import type { E } from "../message.ts";\nexport type P = E;\n',
      "proxy/message.ts": "export type E = 1;\n",
    },
    breach: /^proxy\/upstream\/pool\.ts imports proxy\/message\.ts: upstream\/pool and/,
  },
  {
    name: "a second file joins router and upstream",
    files: {
      "proxy/x.ts": 'import "./router/table.ts";\nimport "./upstream/pool.ts";\n',
    },
    breach: /^proxy\/x\.ts joins router and upstream: only proxy\/forward\.ts joins/,
  },
  {
    name: "translate reads a file",
    files: { "controller/translate.ts": 'export const x = Deno.readTextFileSync("x");\n' },
    breach: /^controller\/translate\.ts uses Deno: translate is a pure function/,
  },
  {
    name: "translate asks the network",
    files: { "controller/translate/x.ts": 'export const x = fetch("http://x");\n' },
    breach: /^controller\/translate\/x\.ts uses fetch/,
  },
  {
    name: "translate waits",
    files: { "controller/translate/x.ts": "export const x = () => setTimeout(x, 1);\n" },
    breach: /^controller\/translate\/x\.ts uses timers/,
  },
  {
    name: "translate looks at the clock",
    files: { "controller/translate/x.ts": "export const x = `${new Date()}`;\n" },
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
  ...["Deno.args", "Deno.env", "process.env", "process.argv"].map((name) => ({
    name: `a file that is neither main nor options uses ${name}`,
    files: { "proxy/x.ts": `export const x = ${name};\n` },
    breach: new RegExp(`^proxy/x\\.ts uses ${name}: only main and options`),
  })),
  {
    name: "a file is too long",
    files: { "proxy/x.ts": "//\n".repeat(501) },
    breach: /^proxy\/x\.ts has 501 lines/,
  },
  {
    name: "a dependency does not stand in deno.json",
    files: { "proxy/x_test.ts": 'import "npm:left-pad@1";\n' },
    breach: /^proxy\/x_test\.ts imports npm:left-pad@1: dependencies stand in deno\.json/,
  },
  {
    name: "an import is computed",
    files: { "proxy/x.ts": "export const x = (y: string) => import(y);\n" },
    breach: /^proxy\/x\.ts imports a computed path/,
  },
  {
    name: "a test swallows what nobody caught",
    files: { "proxy/x_test.ts": `addEventListener("unhandled${"rejection"}", () => {});\n` },
    breach: /^proxy\/x_test\.ts listens for what nobody caught: only a main or a worker may/,
  },
  {
    name: "modules go in a circle",
    files: {
      "proxy/a.ts": 'import { b } from "./b.ts";\nexport const a = () => b;\n',
      "proxy/b.ts": 'import { c } from "./c.ts";\nexport const b = () => c;\n',
      "proxy/c.ts": 'import { a } from "./a.ts";\nexport const c = () => a;\n',
    },
    breach:
      /^proxy\/a\.ts imports proxy\/b\.ts, which imports proxy\/c\.ts, which imports proxy\/a\.ts: modules/,
  },
];

for (const { name, files, breach } of BREACHES) {
  Deno.test(`refused: ${name}`, async () => {
    const breaches = await breachesOf(files);
    assert.equal(breaches.length, 1, breaches.join("\n"));
    assert.match(breaches[0], breach);
  });
}

Deno.test("comments, strings, templates and regular expressions are no code", () => {
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
