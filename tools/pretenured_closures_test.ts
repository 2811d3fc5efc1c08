import assert from "node:assert/strict";
import { pretenuredClosures } from "./pretenured_closures.ts";
import { codeOf } from "./source.ts";

const FOUND: readonly [code: string, property: string][] = [
  ["this.input.onWatched = () => this.#moved();", "onWatched"],
  ["this.onWait = (waiting) => {\n  this.a = waiting;\n};", "onWait"],
  ["this.#ended = async () => {};", "#ended"],
  ["body.onEnd ??= () => this.#end();", "onEnd"],
  ["socket.onEnd = function () {};", "onEnd"],
  ["socket.onEnd = async function () {};", "onEnd"],
  ["socket.onData = bytes => bytes.length;", "onData"],
  ["socket.onData = ({ data }: Event<A>): void => this.#take(data);", "onData"],
  ["socket.onData = (bytes, f = (a) => a) => f(bytes);", "onData"],
];

for (const [code, property] of FOUND) {
  Deno.test(`pretenured: ${code.replaceAll("\n", " ")}`, () => {
    assert.deepEqual(pretenuredClosures(codeOf(`${code}\n`)), [property]);
  });
}

const OTHERS: readonly string[] = [
  "const moved = () => this.#moved();\nthis.input.onWatched = moved;",
  "readonly broke = (error: unknown) => this.fail(error);",
  "#ended: () => void = () => {};",
  "this.a = (b + c) * d;",
  "this.a = (await b).c((d) => d);",
  "this.a = new Output(() => this.b);",
  "this.a = isOpen ? () => this.b : null;",
  "if (this.a === (b)) return () => c;",
  "// this.a = () => b;",
  'this.a = "b.c = () => d";',
];

for (const code of OTHERS) {
  Deno.test(`not pretenured: ${code.replaceAll("\n", " ")}`, () => {
    assert.deepEqual(pretenuredClosures(codeOf(`${code}\n`)), []);
  });
}
