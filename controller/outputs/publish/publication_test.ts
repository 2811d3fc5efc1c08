import assert from "node:assert/strict";
import type { Problem } from "../../../shared/problem.ts";
import type { Route, Snapshot, Upstream } from "../../../shared/snapshot/types.ts";
import { Publication, type PublicationOptions } from "./publication.ts";
import type { PublishResult } from "./publisher.ts";
import type { PublishedState, Reconciliation } from "../../reconcile/reconciler.ts";

const VERSION = { epoch: "cluster", seen: { Ingress: "1" } };
const WEB = { kind: "Ingress", namespace: "default", name: "web" };
const INDEX = { kind: "ConfigMap", namespace: "pingress-system", name: "pingress-config-v2" };

const TOO_LARGE: Problem = {
  object: INDEX,
  field: "data",
  reason: "TooLarge",
  message: "it does not fit",
  remedy: "write less",
  severity: "error",
};

const ROUTE: Route = {
  id: "app.example.com Prefix /",
  host: "app.example.com",
  match: { path: { type: "Prefix", value: "/" } },
  action: { kind: "forward", backends: [{ upstream: "default/web:80" }] },
  origin: { ...WEB, kind: "Ingress", field: "" },
};

function upstream(address: string): Upstream {
  return {
    id: "default/web:80",
    protocol: "http",
    addresses: { kind: "endpoints", endpoints: [{ address, port: 80 }] },
  };
}

function snapshot(parts: Partial<Snapshot> = {}): Snapshot {
  return {
    format: 2,
    version: VERSION,
    routes: [ROUTE],
    defaultAction: null,
    upstreams: [upstream("10.0.0.1")],
    certificates: [],
    defaultCertificate: null,
    ...parts,
  };
}

function result(of: Snapshot, rest: Partial<Reconciliation> = {}): Reconciliation {
  const statuses = [{ object: WEB, accepted: "all", paths: [], tls: [] }] as const;
  const base = { problems: [], statuses, gateway: null, claims: null, behind: [] };
  return { snapshot: of, ...base, served: 1, servedGateways: 0, ...rest };
}

/** A publisher that takes whatever it gets, unless it is told what to answer. */
function scene() {
  let now = 0;
  let state: PublishedState = { snapshot: null, version: null, digest: null };
  let answer: PublishResult | null = null;
  let meanwhile: (() => void) | null = null;
  const written: Snapshot[] = [];
  const ok = {
    ok: true as const,
    written: [INDEX],
    removed: [],
    sizes: [{ ...INDEX, kind: "ConfigMap" as const, bytes: 100 }],
    warnings: [],
    again: null,
  };
  const publisher: PublicationOptions["publisher"] = {
    published: () => state,
    sync(next) {
      if (answer !== null) return Promise.resolve(answer);
      written.push(next);
      const digest = String(written.length);
      state = { snapshot: next, version: next.version, digest };
      meanwhile?.();
      meanwhile = null;
      return Promise.resolve({ ...ok, digest });
    },
    remove: () => Promise.resolve({ ...ok, written: [], digest: null }),
    reset: () => {},
  };
  let staleResults = 0;
  const publication = new Publication({
    publisher,
    endpointInterval: 10_000,
    onStale: () => staleResults++,
    now: () => now,
  });
  return {
    publication,
    written,
    staleResults: () => staleResults,
    publish: (other: Snapshot) => {
      state = { snapshot: other, version: other.version, digest: "of another replica" };
    },
    /** Before the next write is answered. */
    meanwhile: (act: () => void) => meanwhile = act,
    pass: (ms: number) => now += ms,
    answer: (next: PublishResult | null) => answer = next,
  };
}

Deno.test("nothing is published where no Ingress was ever served", async () => {
  const one = scene();
  await one.publication.run(null);
  await one.publication.run(result(snapshot({ routes: [] }), { served: 0 }));
  assert.deepEqual(one.written, []);
  await one.publication.run(result(snapshot()));
  await one.publication.run(result(snapshot({ routes: [] }), { served: 0 }));
  assert.equal(one.written.length, 2);
});

Deno.test("a replica with another loop mark does not replace the published one", async () => {
  const one = scene();
  one.publish(snapshot({ loopMark: "published" }));
  for (const loopMark of ["own", undefined]) {
    const of = snapshot({ ...(loopMark === undefined ? {} : { loopMark }), routes: [] });
    assert.deepEqual(await one.publication.run(result(of)), { kind: "done" });
  }
  assert.deepEqual(one.written, []);
  assert.equal(one.staleResults(), 2);
  await one.publication.run(result(snapshot({ loopMark: "published", routes: [] })));
  assert.equal(one.written.length, 1);
  one.publish(snapshot());
  await one.publication.run(result(snapshot({ loopMark: "own" })));
  assert.equal(one.written.length, 2);
});

Deno.test("a replica that has not seen another replica's publication publishes nothing", async () => {
  const one = scene();
  await one.publication.run(result(snapshot(), { behind: ["Ingress"] }));
  assert.deepEqual(one.written, []);
});

Deno.test("a translation older than another replica's publication never replaces it", async () => {
  const at = (Ingress: string, Service: string) =>
    snapshot({ version: { epoch: "cluster", seen: { Ingress, Service } } });
  for (const stale of [at("1", "2"), at("3", "1")]) {
    const one = scene();
    one.publish(at("2", "2"));
    assert.deepEqual(await one.publication.run(result(stale)), { kind: "done" });
    assert.deepEqual(one.written, []);
    assert.equal(one.staleResults(), 1);
    await one.publication.run(result(at("3", "2")));
    assert.equal(one.written.length, 1);
    assert.equal(one.staleResults(), 1);
  }
});

Deno.test("changes of endpoints only are rate limited, other changes are not", async () => {
  const one = scene();
  const first = snapshot();
  await one.publication.run(result(first));
  one.pass(4000);
  const endpoints = { ...first, upstreams: [upstream("10.0.0.2")] };
  assert.deepEqual(await one.publication.run(result(endpoints)), { kind: "again", after: 6000 });
  assert.equal(one.written.length, 1);
  const routes = { ...endpoints, routes: [{ ...ROUTE, host: "other.example.com" }] };
  assert.deepEqual(await one.publication.run(result(routes)), { kind: "done" });
  one.pass(10_000);
  const later = { ...routes, upstreams: [upstream("10.0.0.3")] };
  assert.deepEqual(await one.publication.run(result(later)), { kind: "done" });
  assert.deepEqual(one.written, [first, routes, later]);
});

Deno.test("an edit between a write and its response is reverted", async () => {
  const one = scene();
  const ours = snapshot({ routes: [ROUTE, { ...ROUTE, id: "other", host: "other.example.com" }] });
  one.meanwhile(() => one.publish(snapshot()));
  await one.publication.run(result(ours));
  assert.deepEqual(await one.publication.run(result(ours)), { kind: "done" });
  assert.deepEqual(one.written, [ours, ours]);
});

Deno.test("a change of an upstream's protocol does not count as a change of endpoints", async () => {
  const one = scene();
  const first = snapshot();
  await one.publication.run(result(first));
  const secure: Upstream = { ...upstream("10.0.0.1"), protocol: "https" };
  await one.publication.run(result({ ...first, upstreams: [secure] }));
  assert.equal(one.written.length, 2);
});

Deno.test("a configuration that does not fit is a problem until it fits or another replica leads", async () => {
  for (const end of ["fits", "leads"] as const) {
    const one = scene();
    one.answer({ ok: false, kind: "too-large", problem: TOO_LARGE });
    const outcome = await one.publication.run(result(snapshot()));
    assert.equal(outcome.kind, "failed");
    assert.deepEqual(one.publication.problems, [TOO_LARGE]);
    one.answer(null);
    if (end === "fits") await one.publication.run(result(snapshot()));
    else one.publication.forget();
    assert.deepEqual(one.publication.problems, []);
  }
});

Deno.test("a failed write is retried no sooner than the API server's Retry-After", async () => {
  const one = scene();
  const error = { code: 429, reason: "TooManyRequests", message: "later", retryAfter: 7000 };
  one.answer({ ok: false, kind: "failed", object: INDEX, error });
  assert.deepEqual(await one.publication.run(result(snapshot())), {
    kind: "failed",
    reason: "ConfigMap pingress-system/pingress-config-v2: later",
    retryAfter: 7000,
  });
});

Deno.test("a missing permission to publish is a problem with its remedy until it is granted", async () => {
  const one = scene();
  const denied = 'cannot patch resource "configmaps" in API group "" in the namespace "a"';
  const error = { code: 403, reason: "Forbidden", message: denied, retryAfter: null };
  one.answer({ ok: false, kind: "failed", object: INDEX, error });
  await one.publication.run(result(snapshot()));
  const [problem, ...others] = one.publication.problems;
  assert.deepEqual(others, []);
  assert.equal(problem.reason, "ConfigurationNotPublished");
  assert.match(problem.message, /pingress-system\/pingress-config-v2 \(cannot patch resource/);
  assert.match(problem.remedy, /^Apply the manifests of this version, .*create, patch and delete/);
  assert.equal(one.publication.isDenied, true);
  one.answer(null);
  await one.publication.run(result(snapshot()));
  assert.deepEqual(one.publication.problems, []);
  assert.equal(one.publication.isDenied, false);
});

Deno.test("a write that a quota denies does not blame the permissions", async () => {
  const one = scene();
  const error = { code: 403, reason: "Forbidden", message: "exceeded quota", retryAfter: null };
  one.answer({ ok: false, kind: "failed", object: INDEX, error });
  await one.publication.run(result(snapshot()));
  assert.deepEqual(one.publication.problems, []);
  assert.equal(one.publication.isDenied, false);
});

Deno.test("the time of publication is that of the last other content", async () => {
  const one = scene();
  assert.equal(one.publication.publishedAt, null);
  const begun = Date.now();
  await one.publication.run(result(snapshot()));
  const first = one.publication.publishedAt;
  assert.ok(first !== null && first >= begun);
  const ok = { ok: true as const, removed: [], sizes: [], warnings: [], again: null };
  // Labels of the objects, or what somebody else has put in their place.
  one.answer({ ...ok, written: [INDEX], digest: "1" });
  await one.publication.run(result(snapshot()));
  one.publish(snapshot({ routes: [] }));
  await one.publication.run(result(snapshot()));
  // Nothing was to be written.
  one.answer({ ...ok, written: [], digest: "2" });
  await one.publication.run(result(snapshot()));
  assert.equal(one.publication.publishedAt, first);
});
