import assert from "node:assert/strict";
import type { Route } from "../../shared/snapshot/types.ts";
import { probesOf } from "./probe.ts";

function route(match: Partial<Route["match"]>, more: Partial<Route> = {}): Route {
  return {
    id: "a",
    host: "a.test",
    match: { path: { type: "Prefix", value: "/x" }, ...match },
    action: { kind: "reply", status: 503, reason: "" },
    origin: { kind: "Ingress", namespace: "default", name: "a", field: "" },
    ...more,
  };
}

/** What is asked for each route: `listener method host path?query header`. */
const PROBES: readonly (readonly [what: string, route: Route, probes: readonly string[]])[] = [
  ["a prefix", route({}), ["http GET a.test /x", "http GET a.test /x/pingress-diff"]],
  ["the root", route({ path: { type: "Prefix", value: "/" } }), [
    "http GET a.test /",
    "http GET a.test /pingress-diff",
  ]],
  ["an exact path", route({ path: { type: "Exact", value: "/x" } }), ["http GET a.test /x"]],
  ["a wildcard", route({ path: { type: "Exact", value: "/" } }, { host: "*.test" }), [
    "http GET pingress-diff.test /",
  ]],
  ["any host", route({ path: { type: "Exact", value: "/" } }, { host: "*" }), [
    "http GET pingress-diff.invalid /",
  ]],
  [
    "conditions",
    route({
      path: { type: "Exact", value: "/" },
      method: "POST",
      headers: [{ name: "x-beta", type: "Exact", value: "yes" }],
      query: [{ name: "a b", type: "Exact", value: "&" }],
    }),
    ["http POST a.test /?a%20b=%26 x-beta=yes"],
  ],
  [
    "a header with a regular expression",
    route({ headers: [{ name: "x", type: "Regex", value: "." }] }),
    [],
  ],
  [
    "listeners of Gateways",
    route({ path: { type: "Exact", value: "/" } }, {
      listeners: [
        "default/web/a",
        "default/web/b@http",
        "default/web/c@http",
        "default/web/d@https",
      ],
    }),
    ["default/web/a GET a.test /", "http GET a.test /", "https GET a.test /"],
  ],
];

for (const [what, of, probes] of PROBES) {
  Deno.test(`requests for ${what}: ${probes.length}`, () => {
    const shown = probesOf(of).map(({ listener, method, host, path, query, headers }) =>
      [`${listener} ${method} ${host} ${path}${query}`, ...headers.map((each) => each.join("="))]
        .join(" ")
    );
    assert.deepEqual(shown, probes);
  });
}
