import assert from "node:assert/strict";
import { nextVersion, type SeenKind } from "./version.ts";

const CASES: readonly {
  readonly name: string;
  readonly kind: Omit<SeenKind, "kind">;
  readonly published: string | undefined;
  readonly version: string;
  readonly behind: boolean;
}[] = [
  {
    name: "the first version is the observed one",
    kind: { seen: "7", revision: "9", isFresh: false },
    published: undefined,
    version: "7",
    behind: false,
  },
  {
    name: "a later version is newer",
    kind: { seen: "1000", revision: "1000", isFresh: false },
    published: "999",
    version: "1000",
    behind: false,
  },
  {
    name: "a bookmark shows that nothing changed since another replica's version",
    kind: { seen: "90", revision: "120", isFresh: false },
    published: "100",
    version: "100",
    behind: false,
  },
  {
    name: "a replica behind the published state must catch up",
    kind: { seen: "90", revision: "95", isFresh: false },
    published: "100",
    version: "100",
    behind: true,
  },
  {
    name: "a later list covers more than was published, whatever its number",
    kind: { seen: "90", revision: "90", isFresh: true },
    published: "100",
    version: "100",
    behind: false,
  },
];

for (const { name, kind, published, version, behind } of CASES) {
  Deno.test(name, () => {
    const next = nextVersion(
      "a",
      [{ kind: "Ingress", ...kind }],
      published === undefined ? null : { epoch: "a", seen: { Ingress: published } },
    );
    assert.deepEqual(next, {
      version: { epoch: "a", seen: { Ingress: version } },
      behind: behind ? ["Ingress"] : [],
    });
  });
}

Deno.test("resource versions of another cluster do not count", () => {
  const kinds = [{ kind: "Ingress", seen: "5", revision: "5", isFresh: false }];
  const next = nextVersion("b", kinds, { epoch: "a", seen: { Ingress: "100" } });
  assert.deepEqual(next, { version: { epoch: "b", seen: { Ingress: "5" } }, behind: [] });
});

for (
  const [name, claimed, published, version, behind] of [
    ["what a proxy has is the least", "95", undefined, "95", false],
    ["a version later than a proxy's is kept", "80", undefined, "90", false],
    ["what a proxy has may be newer than what is published", "110", "100", "110", false],
    ["what is published may be newer than what a proxy has", "95", "100", "100", true],
  ] as const
) {
  Deno.test(name, () => {
    const next = nextVersion(
      "a",
      [{ kind: "Ingress", seen: "90", revision: "92", isFresh: false }],
      published === undefined ? null : { epoch: "a", seen: { Ingress: published } },
      new Map([["Ingress", claimed]]),
    );
    assert.deepEqual(next, {
      version: { epoch: "a", seen: { Ingress: version } },
      behind: behind ? ["Ingress"] : [],
    });
  });
}
