import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { serialize } from "node:v8";
import { Redacted } from "../../shared/redacted.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Random } from "../../tests/fuzz/random.ts";
import { type Configured, randomConfigurations } from "../../tests/support/random_snapshot.ts";
import { type SnapshotDelta, SnapshotDiffer } from "./diff.ts";
import { packDelta, unpackDelta } from "../process/worker_protocol.ts";

/** What the next snapshot's delta holds when `differ` has seen one before. */
function deltaBetween(before: Configured, after: Configured): SnapshotDelta {
  const differ = new SnapshotDiffer();
  differ.diff(before.snapshot, before.certificates);
  return differ.diff(after.snapshot, after.certificates);
}

/** Two configurations in a row that differ somewhere. */
function* pairs(seed: number): Generator<readonly [Configured, Configured]> {
  let before: Configured | null = null;
  for (const after of randomConfigurations(new Random(seed), 60)) {
    if (before !== null) yield [before, after];
    before = after;
  }
}

function routesOf({ routes }: Snapshot, host: string) {
  return routes.filter((route) => route.host === host);
}

Deno.test("the first delta is the full snapshot", () => {
  for (const { snapshot, certificates } of randomConfigurations(new Random(1), 20)) {
    const delta = new SnapshotDiffer().diff(snapshot, certificates);
    assert.deepEqual(delta.hosts.flatMap(({ routes }) => routes), snapshot.routes);
    assert.deepEqual(delta.upstreams, snapshot.upstreams);
    assert.deepEqual(delta.removedUpstreams, []);
    assert.deepEqual(delta.certificates.changed, certificates);
  }
});

Deno.test("a delta has the hosts, upstreams and certificates that changed, and no others", () => {
  for (const [before, after] of pairs(2)) {
    const delta = deltaBetween(before, after);
    const hosts = [before, after].flatMap(({ snapshot }) => snapshot.routes.map((r) => r.host));
    for (const host of new Set(hosts)) {
      const [was, is] = [routesOf(before.snapshot, host), routesOf(after.snapshot, host)];
      const entry = delta.hosts.find((entry) => entry.host === host);
      assert.deepEqual(entry?.routes, isSame(was, is) ? undefined : is);
    }
    assert.ok(delta.hosts.every(({ host }) => hosts.includes(host)));
    const old = new Map(before.snapshot.upstreams.map((upstream) => [upstream.id, upstream]));
    assert.deepEqual(
      delta.upstreams,
      after.snapshot.upstreams.filter((upstream) => !isSame(old.get(upstream.id), upstream)),
    );
    const kept = new Set(after.snapshot.upstreams.map(({ id }) => id));
    assert.deepEqual(delta.removedUpstreams, [...old.keys()].filter((id) => !kept.has(id)));
    const { changed, removed } = delta.certificates;
    const used = new Map(before.certificates.map(({ id, hosts }) => [id, hosts]));
    assert.deepEqual(
      changed,
      after.certificates.filter(({ id, hosts }) => !isSame(used.get(id), hosts)),
    );
    const left = new Set(after.certificates.map(({ id }) => id));
    assert.deepEqual(removed, [...used.keys()].filter((id) => !left.has(id)));
  }
});

Deno.test("the order of a host's routes counts as a change, that of other hosts does not", () => {
  const [first] = randomConfigurations(new Random(3), 1);
  const base: Configured = { ...first, snapshot: withRoutes(first.snapshot, ["a.test", "b.test"]) };
  const { routes } = base.snapshot;
  const mine = routes.filter(({ host }) => host === "a.test");
  const others = routes.filter(({ host }) => host !== "a.test");
  const moved = { ...base, snapshot: { ...base.snapshot, routes: [...others, ...mine] } };
  assert.deepEqual(deltaBetween(base, moved).hosts, []);
  const turned = {
    ...base,
    snapshot: { ...base.snapshot, routes: [...mine.reverse(), ...others] },
  };
  assert.deepEqual(deltaBetween(base, turned).hosts.map(({ host }) => host), ["a.test"]);
});

Deno.test("identical objects are not compared, and equal ones are not a change", () => {
  const [first] = randomConfigurations(new Random(7), 1);
  const base = withRoutes(first.snapshot, ["a.test", "b.test"]);
  const differ = new SnapshotDiffer();
  let looks = 0;
  const watched = base.routes.map((route) => ({
    ...route,
    get action() {
      looks++;
      return route.action;
    },
  }));
  differ.diff({ ...base, routes: watched }, []);
  assert.deepEqual(differ.diff({ ...base, routes: watched }, []).hosts, []);
  assert.deepEqual(differ.diff({ ...base, routes: [...watched] }, []).hosts, []);
  assert.equal(looks, 0);
  assert.deepEqual(differ.diff(structuredClone(base), []).hosts, []);
  assert.ok(looks > 0);
});

Deno.test("a certificate with new contents, and thus a new id, is a change", () => {
  const [first] = randomConfigurations(new Random(4), 1);
  const [one, two] = [["one"], ["two"]].map(([id]) => ({
    ...first,
    certificates: [{ ...CERTIFICATE, id }],
  }));
  assert.deepEqual(deltaBetween(one, one).certificates, UNCHANGED);
  assert.deepEqual(deltaBetween(one, two).certificates, {
    changed: two.certificates,
    removed: ["one"],
    hosts: [["a.test", "two"]],
    ids: [["two", "two"], ["one", null]],
  });
});

Deno.test("a delta reaches a worker completely, and its keys are redacted at both ends", () => {
  const [first] = randomConfigurations(new Random(5), 1);
  const delta = new SnapshotDiffer().diff(first.snapshot, [CERTIFICATE]);
  assert.equal(JSON.stringify(delta).includes("PRIVATE"), false);
  const crossed = unpackDelta(structuredClone(packDelta(delta)));
  const hosts = delta.hosts.map(({ host, routes }) => ({ host, routes }));
  assert.deepEqual(crossed, { ...delta, hosts });
  assert.equal(crossed.certificates.changed[0].key.reveal(), "PRIVATE KEY");
  assert.equal(JSON.stringify(crossed).includes("PRIVATE"), false);
});

Deno.test("of ten thousand routes and certificates only the change is posted", () => {
  const names = Array.from({ length: 10_000 }, (_, index) => `h${index}.test`);
  const [first] = randomConfigurations(new Random(6), 1);
  const base: Configured = {
    snapshot: withRoutes(first.snapshot, names),
    certificates: names.map((name) => ({ ...CERTIFICATE, id: `of ${name}`, hosts: [name] })),
  };
  const differ = new SnapshotDiffer();
  const whole = bytesOf(differ.diff(base.snapshot, base.certificates));
  for (const index of [0, 5_000, 9_999]) {
    const routes = base.snapshot.routes.with(2 * index, {
      ...base.snapshot.routes[2 * index],
      action: { kind: "reply", status: 404, reason: "" },
    });
    const certificates = base.certificates.with(index, {
      ...base.certificates[index],
      id: `another of h${index}.test`,
    });
    const bytes = bytesOf(differ.diff({ ...base.snapshot, routes }, certificates));
    // Those of the change before go back to what they were, so there are two of each.
    assert.ok(bytes < 4_000 && whole > 1_000_000, `${bytes} bytes of ${whole}`);
  }
});

/** What is posted to a worker. */
function bytesOf(delta: SnapshotDelta): number {
  return serialize(packDelta(delta)).length;
}

const UNCHANGED = { changed: [], removed: [], hosts: [], ids: [] };

const CERTIFICATE = {
  id: "one",
  hosts: ["a.test"],
  chain: "CHAIN",
  key: new Redacted("PRIVATE KEY"),
};

function withRoutes(snapshot: Snapshot, hosts: readonly string[]): Snapshot {
  const routes = hosts.flatMap((host) =>
    (["/", "/api"] as const).map((value) => ({
      id: `${host} Prefix ${value}`,
      host,
      match: { path: { type: "Prefix" as const, value } },
      action: { kind: "reply" as const, status: 503 as const, reason: "" },
      origin: { kind: "Ingress", namespace: "a", name: "web", field: "" },
    }))
  );
  return { ...snapshot, routes };
}

function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}
