import assert from "node:assert/strict";
import type { Certificate, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { explain } from "./explain.ts";

const ORIGIN = { kind: "Ingress", namespace: "default", name: "web", field: "" };

function route(text: string): Route {
  const [host, type, value] = text.split(" ");
  return {
    id: text,
    host,
    match: { path: { type: type as "Exact" | "Prefix", value } },
    action: { kind: "forward", backends: [{ upstream: "default/web:80" }] },
    origin: ORIGIN,
  };
}

function certificate(id: string, ...hosts: string[]): Certificate {
  return {
    id,
    hosts,
    chain: { kind: "file", path: `${id}.cert` },
    key: { kind: "file", path: `${id}.key` },
    origin: ORIGIN,
  };
}

function snapshot(routes: readonly string[], rest: Partial<Snapshot> = {}): Snapshot {
  return {
    format: 2,
    version: { epoch: "test", seen: {} },
    routes: routes.map(route),
    defaultAction: null,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
    ...rest,
  };
}

/** The explanation in lines: the outcome, then why each other route lost. */
function lines(source: Snapshot, host: string, path: string): string[] {
  const { outcome, considered } = explain(source, host, path);
  const first = outcome.kind === "route" ? outcome.route.id : outcome.kind;
  return [first, ...considered.map(({ route, lostBecause }) => `${route.id}: ${lostBecause}`)];
}

Deno.test("explain says which route wins and why each other lost", () => {
  const source = snapshot([
    "* Prefix /",
    "app.example.com Exact /api/v1",
    "app.example.com Prefix /api",
    "app.example.com Prefix /ap",
    "app.example.com Prefix /web",
    "app.example.com Prefix /",
    "*.example.com Prefix /api",
    "other.org Prefix /api",
  ]);
  assert.deepEqual(lines(source, "app.example.com", "/x/%2e./api/v2"), [
    "app.example.com Prefix /api",
    "app.example.com Exact /api/v1: Exact /api/v1 takes only that very path",
    "app.example.com Prefix /ap: Prefix /ap takes whole segments, and the path goes on within one",
    "app.example.com Prefix /web: Prefix /web is not how the path begins",
    "app.example.com Prefix /: the longer Prefix /api goes before /",
    "*.example.com Prefix /api: its host *.example.com is less specific than app.example.com, " +
    "which decides alone",
    "* Prefix /: its host * is less specific than app.example.com, which decides alone",
  ]);
  assert.deepEqual(lines(source, "app.example.com", "/api/v1").slice(0, 2), [
    "app.example.com Exact /api/v1",
    "app.example.com Prefix /api: an Exact path goes before every Prefix",
  ]);
});

Deno.test("explain says when the deciding host has no path, and less specific hosts do not help", () => {
  const routes = ["app.example.com Prefix /web", "*.example.com Prefix /"];
  const lost = [
    "app.example.com Prefix /web: Prefix /web is not how the path begins",
    "*.example.com Prefix /: its host *.example.com is less specific than app.example.com, " +
    "which decides alone",
  ];
  assert.deepEqual(lines(snapshot(routes), "app.example.com", "/"), ["none", ...lost]);
  const answer = { kind: "reply", status: 503, reason: "no backend" } as const;
  const source = snapshot(routes, { defaultAction: answer });
  assert.deepEqual(lines(source, "app.example.com", "/"), ["default", ...lost]);
  assert.deepEqual(explain(source, "nobody.org", "/").outcome, { kind: "default", action: answer });
});

Deno.test("explain names a route that repeats an earlier one", () => {
  const source = snapshot(["h Prefix /a", "h Prefix /a"]);
  assert.deepEqual(lines(source, "h", "/a"), [
    "h Prefix /a",
    "h Prefix /a: a route before it has the same host and path",
  ]);
});

Deno.test("explain says why a path is refused", () => {
  const source = snapshot(["h Prefix /"]);
  assert.deepEqual(explain(source, "h", "/a/%2e%2e/../x"), {
    host: "h",
    rawPath: "/a/%2e%2e/../x",
    path: { ok: false, reason: "leads above the root" },
    outcome: { kind: "refused", reason: "the path leads above the root" },
    considered: [],
    certificate: {
      by: "none",
      certificate: null,
      because: "no certificate names it and there is no default",
    },
  });
});

Deno.test("explain says which certificate a name gets", () => {
  const certificates = [
    certificate("first", "app.example.com"),
    certificate("second", "app.example.com", "*.example.com"),
    certificate("third", "third.org"),
  ];
  const source = snapshot([], { certificates, defaultCertificate: "third" });
  const chosen = (host: string, from = source) => {
    const { by, certificate, because } = explain(from, host, "/").certificate;
    return `${certificate?.id} by ${by}: ${because}`;
  };
  assert.equal(chosen("app.example.com"), "first by exact: it names app.example.com");
  assert.equal(
    chosen("web.example.com"),
    "second by wildcard: its *.example.com takes web.example.com",
  );
  assert.equal(
    chosen("a.b.example.com"),
    "third by default: no certificate names it, so it gets the default",
  );
  assert.equal(
    chosen("other.org", snapshot([], { certificates })),
    "undefined by none: no certificate names it and there is no default",
  );
});
