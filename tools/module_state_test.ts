import assert from "node:assert/strict";
import { mutableState } from "./module_state.ts";
import { codeOf } from "./source.ts";

const KEPT: readonly [code: string, state: string][] = [
  ["let last = null;", "declares last with let"],
  ["export let last: string | null = null;", "declares last with let"],
  ["var count = 0;", "declares count with var"],
  ["const known = new Map();", "keeps known, made by new Map"],
  ["const known = new Map([[1, 2]]);", "keeps known, made by new Map"],
  ["const known: Map<string, string> = new Map();", "keeps known, made by new Map"],
  ["const known = new WeakMap<\n  object,\n  string\n>();", "keeps known, made by new WeakMap"],
  ["const NAMES = new Set<string>();", "keeps NAMES, made by new Set"],
  ["const last = new LastResult<Inputs, string>();", "keeps last, made by new LastResult"],
  [
    "export const BY_ID = new SortedList<A>((a, b) => a.id - b.id);",
    "keeps BY_ID, made by new SortedList",
  ],
  ["const stages = {\n  routes: new RouteBuilder(),\n};", "keeps stages, made by new RouteBuilder"],
  ["const [a, b] = [new Map(), 1];", "keeps [a, b], made by new Map"],
  ["const f: (a: string) => void = new Recorder().add;", "keeps f, made by new Recorder"],
  ["const seen: string[] = [];", "keeps seen, which is there to be filled"],
  ["const seen: Record<string, number> = {};", "keeps seen, which is there to be filled"],
  [
    "const model = oncePerObject((object) => read(object));",
    "keeps model, made by oncePerObject()",
  ],
  ["export class A {\n  static #last = null;\n}", "has a static #last that can be set"],
  ["class A {\n  static last: A | null = null;\n}", "has a static last that can be set"],
  ["class A {\n  static readonly all = new Map();\n}", "keeps all, made by new Map"],
];

for (const [code, state] of KEPT) {
  Deno.test(`module state: ${code.replaceAll("\n", " ")}`, () => {
    assert.deepEqual(mutableState(codeOf(`import "x";\n\n/** What it is. */\n${code}\n`)), [state]);
  });
}

const ALLOWED: readonly string[] = [
  'const NAME = "let x = new Map();";',
  "// let x = 1;",
  "const LIMIT = 3 / 4;",
  "const NAMES: ReadonlySet<string> = new Set(names);",
  "const VERBS: ReadonlyMap<string, string> = new Map([\n  [a, b],\n]);",
  "const NONE: readonly string[] = [];",
  "const TABLE: Readonly<Record<string, ReadonlySet<string>>> = { a: new Set() };",
  "const DNS_LABEL = new RegExp(`^${LABEL}$`);",
  "const RULE: Rule = { scope, counts: (value) => new Set(value).size > 1 };",
  "export const read = (text: string) => new Map([[text, 1]]);",
  "export const read = function (text: string) {\n  return new Map([[text, 1]]);\n};",
  "const RULE = {\n  make() {\n    return new Map();\n  },\n};",
  "export function read() {\n  let last = 0;\n  const known = new Map();\n  return [last, known];\n}",
  "export class A {\n  #known = new Map();\n  readonly last = new LastResult();\n}",
  "export class A {\n  static of(text: string): A {\n    let a = 1;\n    return new A(text, a);\n  }\n}",
  "export class A {\n  static readonly names: readonly string[] = [];\n}",
];

for (const code of ALLOWED) {
  Deno.test(`no module state: ${code.replaceAll("\n", " ")}`, () => {
    assert.deepEqual(mutableState(codeOf(`${code}\n`)), []);
  });
}
