import assert from "node:assert/strict";
import process from "node:process";
import { setImmediate } from "node:timers";
import { readGuardedYaml } from "./guarded_yaml.ts";

const MANIFEST = `apiVersion: v1
kind: Config
users:
- name: hunter2
  user:
    token: "hunter2"
    client-key-data: hunter2
    key: |
      hunter2
    list: [hunter2, { hunter2: hunter2 }]
`;

/** What a slip of the keyboard may leave behind. */
const SLIPS = [
  ..." \t\n\"'[]{}*&!%@:#-|>`\\,?",
  "---\n",
  "...\n",
  "<<: *",
  "!!hunter2 ",
  "*hunter2",
  "&hunter2 ",
  "%hunter2\n",
];

Deno.test("whatever slip a text has, what is said of it cites nothing", async () => {
  const warnings: string[] = [];
  const warn = ({ message }: Error) => warnings.push(message);
  process.on("warning", warn);
  let refused = 0;
  for (const [i, slip] of SLIPS.entries()) {
    // At every place, and each slip at every third.
    for (let at = i % 3; at <= MANIFEST.length; at += 3) {
      const text = MANIFEST.slice(0, at) + slip + MANIFEST.slice(at + at % 2);
      const reading = readGuardedYaml(text);
      if (reading.ok) continue;
      refused++;
      assert.doesNotMatch(reading.message, /hunter|unter2|\n/, `${reading.message}\n${text}`);
      assert.match(reading.message, /^(?:line \d+, column \d+: |it)/);
    }
  }
  assert.ok(refused > 500, `${refused}`);
  const { promise, resolve } = Promise.withResolvers<void>();
  setImmediate(resolve);
  await promise;
  process.off("warning", warn);
  assert.deepEqual(warnings, []);
});

for (
  const [name, text, message] of [
    ["an alias without an anchor", "a: *b", /^line 1, column 4: what begins with \* is an alias/],
    ["an unknown tag", "a: !b c", /^line 1, column 4: what begins with ! is a tag/],
    ["a second document", "a: b\n---\nc: d\n", /^line 2, column 1: a second document begins/],
    [
      "a separator of two dashes",
      "a: b\n--\nc: d\n",
      /^line 2, column 1: documents are separated by a line of three dashes$/,
    ],
    [
      "a separator of four dashes",
      "a: b\n----\nc: d\n",
      /^line 2, column 1: documents are separated by a line of three dashes$/,
    ],
    [
      "an alias of itself",
      "a: &a [*a]",
      /^its aliases are too many, or one is of what it stands in$/,
    ],
    [
      "aliases without end",
      `a: &a [${"x,".repeat(50)}]\nb: &b [${"*a,".repeat(50)}]\nc: [${"*b,".repeat(50)}]\n`,
      /^its aliases are too many/,
    ],
    ["depth without end", "[".repeat(100_000), /^(?:line 1, column |it is not valid YAML)/],
  ] as const
) {
  Deno.test(`YAML with ${name} is refused with the reason`, () => {
    const reading = readGuardedYaml(text);
    assert.match(reading.ok ? "" : reading.message, message);
  });
}

Deno.test("values are those that the text has, anchors and merged keys with them", () => {
  assert.deepEqual(readGuardedYaml("a: &a { b: 1 }\nc: { <<: *a, d: [x, null, true] }\n"), {
    ok: true,
    value: { a: { b: 1 }, c: { b: 1, d: ["x", null, true] } },
  });
  assert.deepEqual(readGuardedYaml(""), { ok: true, value: null });
});
