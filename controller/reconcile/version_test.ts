import assert from "node:assert/strict";
import { nextVersion, type SeenKind, type VersionContext } from "./version.ts";

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
      blocking: behind ? ["Ingress"] : [],
      keepsGateways: false,
    });
  });
}

Deno.test("resource versions of another cluster do not count", () => {
  const kinds = [{ kind: "Ingress", seen: "5", revision: "5", isFresh: false }];
  const next = nextVersion("b", kinds, { epoch: "a", seen: { Ingress: "100" } });
  assert.deepEqual(next.version, { epoch: "b", seen: { Ingress: "5" } });
  assert.deepEqual(next.behind, []);
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
      { claimed: new Map([["Ingress", claimed]]) },
    );
    assert.deepEqual(next, {
      version: { epoch: "a", seen: { Ingress: version } },
      behind: behind ? ["Ingress"] : [],
      blocking: behind ? ["Ingress"] : [],
      keepsGateways: false,
    });
  });
}

/** A kind of Gateway API as one replica knows it; `seen` alone where it has heard of nothing since. */
function gatewayKind(kind: string, seen: string, isFresh = false): SeenKind {
  return { kind, seen, revision: seen, isFresh, isOfGateways: true };
}

const INGRESS: SeenKind = { kind: "Ingress", seen: "50", revision: "50", isFresh: false };

const GATEWAY_CASES: readonly {
  readonly name: string;
  readonly kinds: readonly SeenKind[];
  readonly published: Readonly<Record<string, string>>;
  readonly context?: VersionContext;
  readonly version: Readonly<Record<string, string>>;
  readonly behind?: readonly string[];
  readonly blocking?: readonly string[];
  readonly keepsGateways?: boolean;
}[] = [
  {
    name: "a kind that was never found is older than any other",
    kinds: [gatewayKind("HTTPRoute", "0")],
    published: {},
    version: { HTTPRoute: "0" },
  },
  {
    name: "a replica that is behind in HTTPRoutes keeps published routes, and publishes all else",
    kinds: [gatewayKind("Gateway", "60"), gatewayKind("HTTPRoute", "70"), {
      ...INGRESS,
      seen: "90",
      revision: "90",
    }],
    published: { Gateway: "55", HTTPRoute: "80", Ingress: "50" },
    // Gateways are those of what is published, too.
    version: { Gateway: "55", HTTPRoute: "80", Ingress: "90" },
    behind: ["HTTPRoute"],
    keepsGateways: true,
  },
  {
    name: "without a readable published configuration, a replica that is behind publishes nothing",
    kinds: [gatewayKind("HTTPRoute", "70")],
    published: { HTTPRoute: "80" },
    context: { canKeep: false },
    version: { HTTPRoute: "80" },
    behind: ["HTTPRoute"],
    blocking: ["HTTPRoute"],
  },
  {
    name: "a kind that another replica has found is looked for before it counts as gone",
    kinds: [gatewayKind("HTTPRoute", "0")],
    published: { HTTPRoute: "80" },
    version: { HTTPRoute: "80" },
    behind: ["HTTPRoute"],
    keepsGateways: true,
  },
  {
    name: "a kind that was looked for and has gone keeps its version, without its objects",
    kinds: [gatewayKind("HTTPRoute", "0", true)],
    published: { HTTPRoute: "80" },
    version: { HTTPRoute: "80" },
  },
  {
    name: "a kind that was installed again is newer than before",
    kinds: [gatewayKind("HTTPRoute", "95")],
    published: { HTTPRoute: "80" },
    version: { HTTPRoute: "95" },
  },
  {
    name: "while kinds are not known yet, the version is that of published Gateways",
    kinds: [gatewayKind("Gateway", "90"), gatewayKind("HTTPRoute", "0"), INGRESS],
    published: { Gateway: "55", Ingress: "40" },
    context: { isGatewayPending: true, claimed: new Map([["Gateway", "88"]]) },
    version: { Gateway: "55", HTTPRoute: "0", Ingress: "50" },
    keepsGateways: true,
  },
  {
    name: "of a kind that cannot be listed, the newest confirmed version is that of a proxy",
    kinds: [gatewayKind("HTTPRoute", "0")],
    published: { HTTPRoute: "80" },
    context: { isGatewayPending: true, claimed: new Map([["HTTPRoute", "88"]]) },
    version: { HTTPRoute: "88" },
    keepsGateways: true,
  },
  {
    name: "an Ingress that is behind blocks, whatever is known of Gateways",
    kinds: [gatewayKind("HTTPRoute", "70"), INGRESS],
    published: { HTTPRoute: "80", Ingress: "60" },
    version: { HTTPRoute: "80", Ingress: "60" },
    behind: ["HTTPRoute", "Ingress"],
    blocking: ["Ingress"],
    keepsGateways: true,
  },
];

for (const { name, kinds, published, context, ...wanted } of GATEWAY_CASES) {
  Deno.test(name, () => {
    const { version, ...next } = nextVersion("a", kinds, { epoch: "a", seen: published }, context);
    const { behind = [], blocking = [], keepsGateways = false } = wanted;
    assert.deepEqual(version.seen, wanted.version);
    assert.deepEqual(next, { behind, blocking, keepsGateways });
  });
}
