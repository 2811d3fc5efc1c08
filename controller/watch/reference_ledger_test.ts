import assert from "node:assert/strict";
import type { Identity } from "../base/identity.ts";
import { ReferenceLedger, type ReferenceUse } from "./reference_ledger.ts";

function owner(namespace: string, name: string, createdAt: number, kind = "Ingress"): Identity {
  const key = `${namespace}/${name}`;
  return { ref: { kind, namespace, name }, key, label: `${kind} ${key}`, createdAt };
}

/** An Ingress, the older the smaller its age, with certificates of its own namespace. */
function use(namespace: string, age: number, names: readonly string[], others: string[] = []) {
  const keys = (of: readonly string[]) => of.map((name) => `${namespace}/${name}`);
  return {
    owner: owner(namespace, `i${age}`, age),
    certificates: keys(names),
    listeners: [],
    others: keys(others),
  } satisfies ReferenceUse;
}

const many = (count: number, prefix = "s") =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);

interface CountCase {
  readonly title: string;
  readonly uses: readonly ReferenceUse[];
  readonly global?: readonly string[];
  readonly published?: readonly string[];
  readonly wanted: readonly string[];
  /** How many. */
  readonly refused: number;
}

const BOUNDS = { count: 3, bytes: 1000 };

const COUNTS: readonly CountCase[] = [
  {
    title: "as many as the bound are read",
    uses: [use("shop", 0, ["a", "b"]), use("shop", 1, ["b", "c"])],
    wanted: ["shop/a", "shop/b", "shop/c"],
    refused: 0,
  },
  {
    title: "of more, those of the oldest Ingress are read first",
    uses: [use("shop", 1, many(4_500)), use("shop", 0, ["a", "b"])],
    wanted: ["shop/a", "shop/b", "shop/s0"],
    refused: 4_499,
  },
  {
    title: "published ones are read first, whoever names them",
    uses: [use("shop", 0, many(100)), use("shop", 1, ["live", "s99"])],
    published: ["shop/live", "shop/gone"],
    wanted: ["shop/live", "shop/s0", "shop/s1"],
    refused: 98,
  },
  {
    title: "published ones that are more than the bound are all read",
    uses: [use("shop", 0, ["new"]), use("shop", 1, ["a", "b", "c", "d"])],
    published: ["shop/a", "shop/b", "shop/c", "shop/d"],
    wanted: ["shop/a", "shop/b", "shop/c", "shop/d"],
    refused: 1,
  },
  {
    title: "certificates take no place of passwords",
    uses: [use("shop", 0, many(100)), use("shop", 1, [], ["users"])],
    wanted: ["shop/s0", "shop/s1", "shop/s2", "shop/users"],
    refused: 97,
  },
  {
    title: "TLS entries take no place of listeners",
    uses: [
      use("shop", 0, many(100)),
      {
        owner: owner("shop", "edge", 1, "Gateway"),
        certificates: [],
        listeners: ["shop/one", "shop/two"],
        others: [],
      },
    ],
    wanted: ["shop/one", "shop/s0", "shop/s1", "shop/s2", "shop/two"],
    refused: 97,
  },
  {
    title: "no other namespace is concerned",
    uses: [use("flood", 0, many(100)), use("shop", 1, ["a", "b", "c"])],
    wanted: ["flood/s0", "flood/s1", "flood/s2", "shop/a", "shop/b", "shop/c"],
    refused: 97,
  },
  {
    title: "a Gateway that names Secrets of another namespace takes none of its places",
    uses: [
      {
        owner: owner("flood", "edge", 0, "Gateway"),
        certificates: [],
        listeners: many(100).map((name) => `shop/${name}`),
        others: [],
      },
      use("shop", 1, ["a", "b", "s99"]),
    ],
    wanted: ["shop/a", "shop/b", "shop/s0", "shop/s1", "shop/s2", "shop/s99"],
    refused: 96,
  },
  {
    title: "the default certificate is read whatever its namespace names",
    uses: [use("shop", 0, many(100))],
    global: ["shop/s99"],
    wanted: ["shop/s0", "shop/s1", "shop/s2", "shop/s99"],
    refused: 96,
  },
];

for (const { title, uses, global = [], published = [], wanted, refused } of COUNTS) {
  Deno.test(title, () => {
    for (const order of [uses, uses.toReversed()]) {
      const choice = new ReferenceLedger(BOUNDS).choose(
        { uses: order, global },
        new Set(published),
      );
      assert.deepEqual([...choice.wanted].sort(), wanted);
      assert.equal(choice.refused.size, refused);
    }
  });
}

interface BytesCase {
  readonly title: string;
  readonly uses: readonly ReferenceUse[];
  readonly global?: readonly string[];
  readonly published?: readonly string[];
  readonly sizes: Readonly<Record<string, number>>;
  readonly dropped: readonly string[];
}

const BYTES: readonly BytesCase[] = [
  {
    title: "Secrets with as many bytes as the bound are kept",
    uses: [use("shop", 0, ["a", "b"])],
    sizes: { "shop/a": 500, "shop/b": 500 },
    dropped: [],
  },
  {
    title: "with more bytes, those of the oldest Ingress are kept",
    uses: [use("shop", 1, ["a", "b"]), use("shop", 0, ["c"])],
    sizes: { "shop/a": 400, "shop/b": 400, "shop/c": 400 },
    dropped: ["shop/b"],
  },
  {
    title: "a smaller one has the room that a larger one does not fit",
    uses: [use("shop", 0, ["a", "b", "c"])],
    sizes: { "shop/a": 600, "shop/b": 600, "shop/c": 400 },
    dropped: ["shop/b"],
  },
  {
    title: "published ones are kept before others",
    uses: [use("shop", 0, ["a", "b"]), use("shop", 1, ["live"])],
    published: ["shop/live"],
    sizes: { "shop/a": 400, "shop/b": 400, "shop/live": 600 },
    dropped: ["shop/b"],
  },
  {
    title: "published ones may grow to twice the bound when they are renewed, and not further",
    uses: [use("shop", 0, ["new", "a", "b"])],
    published: ["shop/a", "shop/b"],
    sizes: { "shop/a": 1500, "shop/b": 900, "shop/new": 10 },
    dropped: ["shop/b", "shop/new"],
  },
  {
    title: "no other namespace loses a Secret",
    uses: [use("flood", 0, many(3)), use("shop", 1, ["a"])],
    sizes: { "flood/s0": 900, "flood/s1": 900, "flood/s2": 900, "shop/a": 900 },
    dropped: ["flood/s1", "flood/s2"],
  },
  {
    title: "what two namespaces name is kept while one has room for it",
    uses: [
      use("shop", 1, ["a"]),
      {
        owner: owner("flood", "edge", 0, "Gateway"),
        certificates: [],
        listeners: ["flood/large", "shop/a"],
        others: [],
      },
    ],
    sizes: { "shop/a": 900, "flood/large": 900 },
    dropped: [],
  },
  {
    title: "the default certificate is kept",
    uses: [use("shop", 0, ["a", "b"])],
    global: ["shop/b"],
    sizes: { "shop/a": 900, "shop/b": 900 },
    dropped: [],
  },
];

for (const { title, uses, global = [], published = [], sizes, dropped } of BYTES) {
  Deno.test(title, () => {
    const entries = Object.entries(sizes);
    for (const order of [entries, entries.toReversed()]) {
      const ledger = new ReferenceLedger(BOUNDS);
      ledger.choose({ uses, global }, new Set(published));
      const isDropped = new Map<string, boolean>();
      for (const [key, bytes] of order) {
        const changed = ledger.measure(key, bytes);
        for (const other of [...changed, key]) isDropped.set(other, ledger.isDropped(other));
      }
      const found = [...isDropped].filter(([, is]) => is).map(([key]) => key).sort();
      assert.deepEqual(found, dropped);
      assert.deepEqual(found, entries.map(([key]) => key).filter((key) => ledger.isDropped(key)));
    }
  });
}

Deno.test("a Secret that is not named any more makes room", () => {
  const ledger = new ReferenceLedger(BOUNDS);
  const uses = [use("shop", 0, ["a"]), use("shop", 1, ["b"])];
  ledger.choose({ uses, global: [] }, new Set());
  ledger.measure("shop/a", 900);
  ledger.measure("shop/b", 900);
  assert.ok(ledger.isDropped("shop/b"));
  ledger.choose({ uses: uses.slice(1), global: [] }, new Set());
  assert.ok(!ledger.isDropped("shop/b"));
});
