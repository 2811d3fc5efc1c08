import assert from "node:assert/strict";
import { canonicalPath } from "../../shared/path/canonical_path.ts";
import type { Action, PathMatch, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { PLAIN_REQUEST } from "./request_view.ts";
import { BAD_PATH, compileTable, NO_ROUTE } from "./table.ts";

const FORWARD: Action = { kind: "forward", backends: [{ upstream: "test/web:80" }] };
const CLOSED: Action = { kind: "reply", status: 503, reason: "not supported", closed: true };

function route(path: PathMatch, more: Partial<Route> = {}): Route {
  const origin = { kind: "Ingress", namespace: "test", name: "web", field: "spec" } as const;
  return { id: path.value, host: "a.test", match: { path }, action: FORWARD, origin, ...more };
}

function snapshotOf(routes: readonly Route[]): Snapshot {
  return {
    ...{ format: 2, version: { epoch: "test", seen: {} }, defaultAction: null, upstreams: [] },
    ...{ certificates: [], defaultCertificate: null, routes: [...routes] },
    filterSets: [
      { id: "list", filters: [{ kind: "access", allow: ["10.0.0.0/8"] }] },
      { id: "rewrite", filters: [{ kind: "hsts", maxAge: 1 }] },
    ],
  };
}

/** The path of the route for what a client sends; `refused` for 400, `none` for 404. */
function found(routes: readonly Route[], received: string): string {
  const table = compileTable(snapshotOf(routes), (_, route) => route!.match.path.value);
  const path = canonicalPath(received);
  assert.ok(path.ok);
  const place = table.find("a.test", path.path, { ...PLAIN_REQUEST, received });
  if (place === BAD_PATH) return "refused";
  return place === NO_ROUTE ? "none" : table.target(place);
}

const OPEN = route({ type: "Prefix", value: "/" });
const LISTED = route({ type: "Prefix", value: "/admin" }, { filterSet: "list" });
const SHUT = route({ type: "Prefix", value: "/admin" }, { action: CLOSED });
const PATTERN = route({ type: "Regex", value: "^/ad[a-z]+" }, { filterSet: "list" });
const PLAIN = route({ type: "Prefix", value: "/admin" }, { filterSet: "rewrite" });

const SPELLINGS: readonly string[] = [
  ...[
    "//admin",
    "/x/..%2fadmin",
    "/x%2f..%2fadmin",
    "/%2fadmin",
    "///admin/users",
    "/a//..//admin",
  ],
];

for (
  const [name, guarded] of [
    ["that is protected", LISTED],
    ["that is closed", SHUT],
    ["of a pattern that is protected", PATTERN],
  ] as const
) {
  const routes = [guarded, OPEN];
  const own = guarded.match.path.value;
  Deno.test(`no spelling of a path ${name} takes the open route beside it`, () => {
    for (const path of SPELLINGS) assert.equal(found(routes, path), "refused", path);
    for (const path of ["/admin", "/./admin", "/%61dmin", "/x/../admin", "/admin//b"]) {
      assert.equal(found(routes, path), own, path);
    }
  });

  Deno.test(`beside a path ${name} others are served in any spelling`, () => {
    for (const path of ["/", "/x", "//x", "/a%2Fb", "/%2561dmin", "/group%2Fproject//"]) {
      assert.equal(found(routes, path), "/", path);
    }
  });

  Deno.test(`no spelling of a path ${name} gets to the default backend`, () => {
    assert.equal(found([guarded], "/x%2f..%2fadmin"), "refused");
    assert.equal(found([guarded], "/x"), "none");
  });
}

Deno.test("a host whose routes protect nothing is compared with paths as they are", () => {
  for (const path of SPELLINGS) assert.equal(found([PLAIN, OPEN], path), "/", path);
});

Deno.test("a host that is protected as a whole takes any spelling", () => {
  const whole = route({ type: "Prefix", value: "/" }, { filterSet: "list" });
  for (const path of SPELLINGS) assert.equal(found([whole], path), "/", path);
});
