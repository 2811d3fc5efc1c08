/** Gateways on the ports of Ingresses: which of both has the host of a request. */
import assert from "node:assert/strict";
import { sharedListenerId } from "../../shared/snapshot/listener_id.ts";
import type {
  Action,
  HostSettings,
  Listener,
  Route,
  Snapshot,
} from "../../shared/snapshot/types.ts";
import { listener } from "../../tests/support/gateway_listeners.ts";
import { explain } from "./explain.ts";
import { PLAIN_DETAILS } from "./losers.ts";
import { compileTable, RouteTable } from "./table.ts";

const LISTENERS: readonly Listener[] = [
  listener("a", "http", { id: sharedListenerId("shop/a", "main", "http") }),
  listener("b", "http", { id: sharedListenerId("shop/b", "main", "http") }),
  listener("tls", "https", { id: sharedListenerId("shop/a", "tls", "https"), protocol: "HTTPS" }),
];

const [A, B, TLS] = LISTENERS.map(({ id }) => id);

/** `"host path"` as a route that forwards to an upstream of that name; on `listeners`, or of an Ingress. */
function route(text: string, ...listeners: readonly string[]): Route {
  const [host, value] = text.split(" ");
  return {
    id: text,
    ...(listeners.length === 0 ? {} : { listeners: listeners.toSorted() }),
    host,
    match: { path: { type: "Prefix", value } },
    action: { kind: "forward", backends: [{ upstream: text }] },
    origin: {
      ...{ kind: listeners.length === 0 ? "Ingress" : "HTTPRoute", namespace: "shop" },
      ...{ name: "web", field: "" },
    },
  };
}

const DEFAULT: Action = { kind: "forward", backends: [{ upstream: "default" }] };

function snapshot(
  routes: readonly Route[],
  { listeners = LISTENERS, hostSettings }: {
    readonly listeners?: readonly Listener[];
    readonly hostSettings?: readonly HostSettings[];
  } = {},
): Snapshot {
  return {
    format: 2,
    version: { epoch: "test", seen: {} },
    ...{ routes, listeners },
    ...(hostSettings === undefined ? {} : { hostSettings }),
    defaultAction: DEFAULT,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
  };
}

function compile(...args: Parameters<typeof snapshot>) {
  return compileTable(snapshot(...args), (_action, route) => route?.id ?? "default");
}

interface Rule {
  readonly says: string;
  readonly routes: readonly Route[];
  /** `"host path"` → the id of the winner, "default", or null; on `http` unless `"https host path"`. */
  readonly requests: Readonly<Record<string, string | null>>;
}

const RULES: readonly Rule[] = [
  {
    says: "the most specific host of both decides",
    routes: [
      route("a.example.com /"),
      route("b.example.com /", A),
      route("*.example.com /"),
      route("*.b.example.com /", A),
      route("*.com /", B),
      route("* /", A),
    ],
    requests: {
      "a.example.com /": "a.example.com /",
      "b.example.com /": "b.example.com /",
      "c.example.com /": "*.example.com /",
      "c.b.example.com /": "*.b.example.com /",
      "c.d.example.com /": "*.com /",
      "example.com /": "*.com /",
      "example.org /": "* /",
      " /": "* /",
    },
  },
  {
    says: "a star stands for one label of an Ingress, and for several of a Gateway",
    routes: [route("*.example.com /"), route("*.example.org /", A)],
    requests: {
      "a.example.com /": "*.example.com /",
      "a.b.example.com /": "default",
      "a.example.org /": "*.example.org /",
      "a.b.example.org /": "*.example.org /",
      "example.org /": "default",
    },
  },
  {
    says: "an Ingress has its host alone, and a Gateway with the same pattern comes after it",
    routes: [
      route("a.example.com /only"),
      route("a.example.com /", A),
      route("*.example.com /", A),
      route("* /only"),
      route("* /", A),
    ],
    requests: {
      "a.example.com /only": "a.example.com /only",
      "a.example.com /": "default",
      "b.example.com /": "*.example.com /",
      "other.org /only": "* /only",
      "other.org /": "default",
    },
  },
  {
    says: "requests go on to broader hosts of Gateways, never to an Ingress or its default backend",
    routes: [
      route("a.example.com /a", A),
      route("*.example.com /b", B),
      route("*.com /"),
      route("* /"),
    ],
    requests: {
      "a.example.com /a": "a.example.com /a",
      "a.example.com /b": "*.example.com /b",
      "a.example.com /c": null,
      "b.example.com /c": null,
      "other.com /": "*.com /",
    },
  },
  {
    says: "requests for any host that no route takes get the default backend",
    routes: [route("* /a", A), route("a.example.com /a", A)],
    requests: {
      "other.org /a": "* /a",
      "other.org /": "default",
      "a.example.com /": null,
    },
  },
  {
    says: "each port has its own hosts",
    routes: [
      route("a.example.com /", A),
      route("b.example.com /", TLS),
      route("c.example.com /", A, TLS),
      route("d.example.com /", "https"),
      route("*.example.com /"),
    ],
    requests: {
      "a.example.com /": "a.example.com /",
      "https a.example.com /": "*.example.com /",
      "b.example.com /": "*.example.com /",
      "https b.example.com /": "b.example.com /",
      "c.example.com /": "c.example.com /",
      "https c.example.com /": "c.example.com /",
      "https d.example.com /": "d.example.com /",
      "d.example.com /": "*.example.com /",
    },
  },
  {
    says: "of two Gateways with routes of one host the order of the snapshot decides",
    routes: [route("a.example.com /b", B), route("a.example.com /", A, B)],
    requests: { "a.example.com /b": "a.example.com /b", "a.example.com /": "a.example.com /" },
  },
];

Deno.test("on a port that Gateways share a route is chosen by host, then by path", async (t) => {
  for (const { says, routes, requests } of RULES) {
    await t.step(says, () => {
      const table = compile(routes);
      for (const [request, wanted] of Object.entries(requests)) {
        const [path, host, listener = "http"] = request.split(" ").toReversed();
        assert.equal(table.match(host, path, undefined, listener), wanted, request);
        // What explains it finds the same, and names every other route of a host that takes it.
        const explanation = explain(snapshot(routes), host, path, undefined, {
          ...PLAIN_DETAILS,
          listener,
        });
        const { outcome } = explanation;
        const found = outcome.kind === "route"
          ? outcome.route.id
          : outcome.kind === "default"
          ? "default"
          : null;
        assert.equal(found, wanted, request);
        for (const { lostBecause } of explanation.considered) assert.match(lostBecause, /\w/);
      }
    });
  }
});

Deno.test("Gateways that come and go leave requests of Ingresses where they are", () => {
  const table = new RouteTable<string>();
  const bind = (route: Route) => ({ target: route.id, counters: 0 });
  const at = (host: string) => table.match(host, "/", undefined, "http");
  table.replaceHost("a.example.com", [route("a.example.com /")], bind);
  table.replaceListeners(LISTENERS);
  table.replaceHost("b.example.com", [route("b.example.com /", A)], bind);
  table.replaceHost("*.example.com", [route("*.example.com /", A)], bind);
  assert.deepEqual(
    ["a.example.com", "b.example.com", "x.y.example.com"].map(at),
    ["a.example.com /", "b.example.com /", "*.example.com /"],
  );
  assert.equal(table.namesHost("b.example.com", "http"), true);
  assert.equal(table.namesHost("b.example.com", "https"), false);
  // The Ingress's host becomes the Gateway's in one call, and back.
  table.replaceHost("a.example.com", [route("a.example.com /", A)], bind);
  assert.equal(at("a.example.com"), "a.example.com /");
  assert.equal(table.match("a.example.com", "/", undefined, "https"), null);
  table.replaceHost("a.example.com", [route("a.example.com /")], bind);
  assert.equal(table.match("a.example.com", "/", undefined, "https"), "a.example.com /");
  table.replaceListeners([]);
  for (const host of ["b.example.com", "*.example.com"]) table.replaceHost(host, [], bind);
  assert.deepEqual(["a.example.com", "b.example.com"].map(at), ["a.example.com /", null]);
});

Deno.test("an alias of an Ingress's host comes before a Gateway's broader one", () => {
  const table = compile([route("a.example.com /"), route("*.example.com /", A)], {
    hostSettings: [{ id: "alias.example.com", aliasOf: "a.example.com" }],
  });
  assert.equal(table.match("alias.example.com", "/"), "a.example.com /");
  assert.equal(table.match("other.example.com", "/"), "*.example.com /");
});

Deno.test("an alias of an Ingress's host stays there, whatever Gateways name it", () => {
  const own = listener("own", "8081", { id: "evil/own/main" });
  const routes = [
    route("a.example.com /"),
    route("alias.example.com /", own.id),
    route("alias.example.com /shared", A),
    route("*.example.com /", A),
    route("*.example.com /own", own.id),
  ];
  const hostSettings = [{ id: "alias.example.com", aliasOf: "a.example.com" }];
  const table = compile(routes, { listeners: [...LISTENERS, own], hostSettings });
  const at = (listener: string) => table.match("alias.example.com", "/", undefined, listener);
  assert.equal(at("http"), "a.example.com /");
  assert.equal(at("https"), "a.example.com /");
  assert.equal(at(own.id), "alias.example.com /");
  const bind = ({ id }: Route) => ({ target: id, counters: 0 });
  // A change of either leaves the other's in place.
  table.replaceHost("a.example.com", [route("a.example.com /new")], bind);
  assert.equal(table.match("alias.example.com", "/new"), "a.example.com /new");
  assert.equal(at(own.id), "alias.example.com /");
  table.replaceHost("alias.example.com", [], bind);
  assert.equal(table.match("alias.example.com", "/new"), "a.example.com /new");
  assert.equal(table.match("alias.example.com", "/own", undefined, own.id), "*.example.com /own");
  table.replaceHost("alias.example.com", [route("alias.example.com /")], bind);
  assert.equal(at("http"), "alias.example.com /");
  table.replaceHost("alias.example.com", [], bind);
  assert.equal(table.match("alias.example.com", "/new"), "a.example.com /new");
  table.updateHostSettings([], ["alias.example.com"]);
  assert.equal(at("http"), "*.example.com /");
});

Deno.test("explain says of routes on a port that Gateways share why they lose", async (t) => {
  const routes = [
    route("a.example.com /a", A),
    route("a.example.com /b", B),
    route("b.example.com /only"),
    route("b.example.com /", A),
    route("*.example.com /a", B),
    route("*.com /"),
    route("* /"),
  ];
  const reasons = (host: string, path: string) => {
    const { outcome, considered } = explain(snapshot(routes), host, path);
    const winner = outcome.kind === "route" ? outcome.route.id : outcome.kind;
    return [winner, ...considered.map(({ route, lostBecause }) => `${route.id}: ${lostBecause}`)];
  };
  const noIngress = (host: string, than: string) =>
    `its host ${host} is less specific than ${than}, which Gateways have: requests that none of their ` +
    "routes takes go to no Ingress";
  await t.step("a request continues with broader hosts of Gateways, never with Ingresses", () => {
    assert.deepEqual(reasons("a.example.com", "/c"), [
      "none",
      "a.example.com /a: Prefix /a does not match the start of the path",
      "a.example.com /b: Prefix /b does not match the start of the path",
      "*.example.com /a: Prefix /a does not match the start of the path",
      `* /: ${noIngress("*", "a.example.com")}`,
    ]);
  });
  await t.step("of Gateways, the first host with a route for the request has it", () => {
    assert.deepEqual(reasons("a.example.com", "/b"), [
      "a.example.com /b",
      "a.example.com /a: Prefix /a does not match the start of the path",
      "*.example.com /a: its host *.example.com is less specific than a.example.com, which has a route " +
      "for it",
      `* /: ${noIngress("*", "a.example.com")}`,
    ]);
    assert.deepEqual(reasons("c.com", "/"), [
      "*.com /",
      "* /: its host * is less specific than *.com, which decides alone",
    ]);
  });
  await t.step("a host of an Ingress decides alone, whatever Gateways have of it", () => {
    assert.deepEqual(reasons("b.example.com", "/x"), [
      "default",
      "b.example.com /only: Prefix /only does not match the start of the path",
      "b.example.com /: Ingresses have the host b.example.com, and decide alone",
      "*.example.com /a: its host *.example.com is less specific than b.example.com, which decides alone",
      "* /: its host * is less specific than b.example.com, which decides alone",
    ]);
  });
});
