/** A proxy's page /explain as `pingress explain --proxy` reads it, of this version and of older ones. */
import assert from "node:assert/strict";
import { proxyExplanation } from "../../cli/explain/proxy_page.ts";
import { shortText } from "../../cli/explain/short_text.ts";
import { styleOf } from "../../cli/terminal/style.ts";
import { parseRequestedUrl } from "../../shared/path/requested_url.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

function guardedSnapshot(): Snapshot {
  const base = snapshotOf([{ address: "10.9.8.7", port: 80 }]);
  const [route] = base.routes;
  const at = (path: string, more: Partial<typeof route> = {}) => ({
    ...route,
    id: `a.test Prefix ${path}`,
    host: "a.test",
    match: { path: { type: "Prefix" as const, value: path } },
    ...more,
  });
  return {
    ...base,
    routes: [
      at("/admin", { filterSet: "guarded" }),
      at("/exempt", { filterSet: "exempt" }),
      at("/old", { filterSet: "moved" }),
      at("/closed", {
        action: {
          kind: "reply",
          status: 503,
          reason: "the annotation x is not supported",
          closed: true,
        },
      }),
      at("/shares", {
        action: {
          kind: "forward",
          backends: [
            { upstream: base.upstreams[0].id, weight: 1 },
            { upstream: "test/gone:80", fault: "rules[0].backendRefs[1] is gone.", weight: 1 },
          ],
          keepsShares: true,
        },
        origin: { kind: "HTTPRoute", namespace: "test", name: "shares", field: "spec.rules[0]" },
      }),
      at("/"),
    ],
    defaultAction: {
      kind: "forward",
      backends: [{ upstream: base.upstreams[0].id, filterSet: "guarded" }],
    },
    filterSets: [
      {
        id: "guarded",
        filters: [
          { kind: "request-headers", set: [{ name: "x-key", value: "not-to-be-shown" }] },
          {
            kind: "access",
            allow: ["10.0.0.0/8"],
            basic: { credentials: "test/users auth-file", realm: "" },
          },
        ],
      },
      {
        id: "exempt",
        filters: [{ kind: "access", requiredUsers: "test/users auth-file" }],
      },
      { id: "moved", filters: [{ kind: "redirect", status: 301, location: "https://b.test/" }] },
    ],
    credentials: [{ id: "test/users auth-file", users: { kind: "missing" } }],
  };
}

/** By URL, what one line says of it. */
const LINES: readonly (readonly [url: string, line: RegExp])[] = [
  ["http://a.test/x", /→ \S+ \(10\.9\.8\.7:80\) Ingress test\/\S+$/],
  ["http://a.test/admin", /→ 503: the users of test\/users auth-file cannot be read /],
  ["http://a.test/exempt", /→ 503: the users of test\/users auth-file cannot be read /],
  ["http://a.test/old/x", /→ 301 https:\/\/b\.test\/ /],
  ["http://a.test/closed", /→ 503: the annotation x is not supported /],
  ["http://b.test/", /→ 503: the users of test\/users auth-file cannot be read/],
  ["http://a.test/%zz", /→ 400: the path has a broken escape/],
];

Deno.test("a proxy's page becomes the same explanation as that of manifests", async () => {
  await using proxy = await ProxyProcess.start({ snapshot: guardedSnapshot() });
  const pageOf = async (text: string): Promise<unknown> => {
    const query = new URLSearchParams({ url: text });
    const page = await proxy.admin(`/explain?${query}`, { accept: "application/json" });
    assert.ok(!page.text.includes("not-to-be-shown"), page.text);
    return JSON.parse(page.text);
  };
  const explain = (text: string, page: unknown) => {
    const explanation = proxyExplanation(
      page,
      { url: parseRequestedUrl(text)!, method: "GET" },
      [],
    );
    assert.ok(explanation !== null, text);
    return explanation;
  };
  for (const [url, line] of LINES) {
    assert.match(shortText(explain(url, await pageOf(url)), styleOf(false)), line);
  }
  const page = await pageOf("http://a.test/admin") as Record<string, unknown>;
  const { filters, losers, route, notes } = explain("http://a.test/admin", page);
  assert.deepEqual(filters?.map(({ kind, text, requires }) => [kind, text, requires]), [
    ["access", "admits clients of 10.0.0.0/8; others get 403", ["allow-list", "basic-auth"]],
    [
      "access",
      "returns 503: the users of test/users auth-file cannot be read",
      ["allow-list", "basic-auth"],
    ],
    ["request-headers", "headers of the request: sets x-key", []],
  ]);
  const other = "http://b.test/";
  assert.deepEqual(explain(other, await pageOf(other)).filters, filters);
  assert.equal(route?.id, "a.test Prefix /admin");
  assert.deepEqual(losers.map(({ route, isMatch }) => [route, isMatch]), [
    ["a.test Prefix /", true],
    ["a.test Prefix /exempt", false],
    ["a.test Prefix /old", false],
    ["a.test Prefix /closed", false],
    ["a.test Prefix /shares", false],
  ]);
  assert.deepEqual(notes, []);
  const shares = "http://a.test/shares";
  assert.deepEqual(explain(shares, await pageOf(shares)).notes, [
    "the remedy for the backend that gets no requests: the condition ResolvedRefs has it " +
    "(kubectl describe httproute -n test shares)",
  ]);
  // As versions before have it.
  const { settings: _, considered, ...older } = page;
  const old = explain("http://a.test/admin", {
    ...older,
    considered: (considered as Record<string, unknown>[]).map(({ isMatch: _, ...each }) => each),
  });
  assert.equal(old.filters, null);
  assert.equal(old.losers.length, 5);
  assert.match(old.notes[0], /^the filters of the route: this version of the proxy/);
});

Deno.test("a page that is another program's gives no explanation, and none throws", () => {
  const asked = { url: parseRequestedUrl("http://a.test/")!, method: "GET" };
  for (const page of [null, [], "text", 1, {}, { outcome: null }, { outcome: { kind: 1 } }]) {
    assert.equal(proxyExplanation(page, asked, []), null);
  }
  const hostile = {
    outcome: { kind: "route", route: { id: 1, action: "x", origin: [] } },
    upstream: "x",
    upstreams: [null, {}],
    considered: [null, { route: 7 }],
    certificate: { origin: 3 },
    settings: { filters: [{ kind: "new" }], missingUsers: {}, bodyLimit: "many" },
  };
  const explanation = proxyExplanation(hostile, asked, []);
  assert.equal(explanation?.answer.kind, "error");
  assert.equal(explanation?.losers.length, 2);
});
