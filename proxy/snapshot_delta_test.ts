import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { Redacted } from "../shared/redacted.ts";
import type { Snapshot } from "../shared/snapshot.ts";
import { Random } from "../tests/fuzz/random.ts";
import { type Configured, randomConfigurations } from "../tests/support/random_snapshot.ts";
import { type SnapshotDelta, SnapshotDiffer } from "./snapshot_delta.ts";
import { packDelta, unpackDelta } from "./worker_protocol.ts";

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

function namesOf(configured: Configured) {
  return configured.certificates.map(({ id, hosts }) => ({ id, hosts }));
}

Deno.test("the first delta is the whole snapshot", () => {
  for (const { snapshot, certificates } of randomConfigurations(new Random(1), 20)) {
    const delta = new SnapshotDiffer().diff(snapshot, certificates);
    assert.deepEqual(delta.hosts.flatMap(({ routes }) => routes), snapshot.routes);
    assert.deepEqual(delta.upstreams, snapshot.upstreams);
    assert.deepEqual(delta.removedUpstreams, []);
    assert.deepEqual(delta.certificates, certificates);
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
    const same = isSame(namesOf(before), namesOf(after)) &&
      before.snapshot.defaultCertificate === after.snapshot.defaultCertificate;
    assert.deepEqual(delta.certificates, same ? null : after.certificates);
  }
});

Deno.test("the order of a host's routes counts as a change, that of its neighbours does not", () => {
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

Deno.test("a certificate with new contents, and thus a new id, is a change", () => {
  const [first] = randomConfigurations(new Random(4), 1);
  const [one, two] = [["one"], ["two"]].map(([id]) => ({
    ...first,
    certificates: [{ ...CERTIFICATE, id }],
  }));
  assert.equal(deltaBetween(one, one).certificates, null);
  assert.deepEqual(deltaBetween(one, two).certificates, two.certificates);
});

Deno.test("a delta crosses to a worker whole, and its keys stay out of sight at both ends", () => {
  const [first] = randomConfigurations(new Random(5), 1);
  const delta = new SnapshotDiffer().diff(first.snapshot, [CERTIFICATE]);
  assert.equal(JSON.stringify(delta).includes("PRIVATE"), false);
  const crossed = unpackDelta(structuredClone(packDelta(delta)));
  assert.deepEqual(crossed, delta);
  assert.equal(crossed.certificates![0].key.reveal(), "PRIVATE KEY");
  assert.equal(JSON.stringify(crossed).includes("PRIVATE"), false);
});

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
      path: { type: "Prefix" as const, value },
      action: { kind: "answer" as const, status: 503 as const, reason: "" },
      origin: { kind: "Ingress", namespace: "a", name: "web", field: "" },
    }))
  );
  return { ...snapshot, routes };
}

function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}
