import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { secureListener } from "../../tests/support/gateway_listeners.ts";
import {
  certificate,
  randomSnapshots,
  route,
  snapshotFrom,
  snapshotWith,
  takeLine,
  textOf,
  upstream,
} from "../../tests/support/streamed_snapshots.ts";
import { ALL_SHARING } from "../snapshot/listener_id.ts";
import type { Route, Snapshot } from "../snapshot/types.ts";
import { REST, SNAPSHOT } from "../snapshot/schema.ts";
import { parseSnapshot } from "../snapshot/parse.ts";
import { certificateText, routeText, upstreamText } from "../snapshot/serialise.ts";
import { deltaLine, wholeLine } from "./change.ts";
import { Content, hostText } from "./content.ts";
import { PART_LISTS } from "./part_lists.ts";
import { ReceivedContent } from "./received.ts";

const BASE = snapshotWith({
  routes: [route("a.test", "/"), route("a.test", "/b"), route("b.test", "/", "b/web:80")],
  upstreams: [upstream("a/web:80", "10.0.0.1"), upstream("b/web:80", "10.0.0.2")],
  certificates: [certificate("one", "key 1"), certificate("two", "key 2")],
  defaultCertificate: "one",
});

/** What a proxy has after the whole of `BASE`. */
function afterBase() {
  const received = new ReceivedContent();
  const from = Content.of(BASE);
  return { received, from, snapshot: snapshotFrom(received, wholeLine(from)) };
}

/** As a proxy would read it from a file. */
function parsed(snapshot: Snapshot): Snapshot {
  const read = parseSnapshot(textOf(snapshot)).snapshot;
  assert.ok(read !== null);
  return read;
}

/** What has the same text in both snapshots is the same object. */
function assertKeepsIdentity(before: Snapshot, now: Snapshot): void {
  const check = <T>(old: readonly T[], parts: readonly T[], text: (part: T) => string) => {
    const known = new Map(old.map((part) => [text(part), part]));
    for (const part of parts) assert.equal(known.get(text(part)) ?? part, part);
    if (old.length === parts.length && parts.every((part, i) => part === old[i])) {
      assert.equal(parts, old);
    }
  };
  check(before.routes, now.routes, routeText);
  check(before.upstreams, now.upstreams, upstreamText);
  check(before.certificates, now.certificates, certificateText);
}

Deno.test("a full snapshot and its deltas give the same as a file", () => {
  for (let seed = 0; seed < 20; seed++) {
    const received = new ReceivedContent();
    let sent: Content | undefined;
    let before: Snapshot | undefined;
    for (const snapshot of randomSnapshots(new Random(seed), 40)) {
      const content = Content.of(snapshot, sent);
      const line = sent === undefined ? wholeLine(content) : deltaLine(sent, content);
      const taken = takeLine(received, line);
      assert.ok(taken.ok);
      assert.equal(textOf(taken.snapshot), textOf(parsed(snapshot)));
      assert.equal(taken.hash, Content.of(parsed(snapshot)).hash);
      assert.equal(received.hash, content.hash);
      assert.deepEqual(taken.problems, []);
      if (before !== undefined) assertKeepsIdentity(before, taken.snapshot);
      before = taken.snapshot;
      sent = content;
    }
  }
});

Deno.test("a delta applies to any snapshot with the same content", () => {
  const random = new Random(77);
  for (let seed = 0; seed < 50; seed++) {
    const [a, , b, , c] = [...randomSnapshots(new Random(seed), 5)].map((one) => Content.of(one));
    // From a file, in whatever order it was written.
    const { routes } = a.snapshot;
    const hosts = [...Map.groupBy(routes, ({ host }) => host).values()];
    const file = Content.of({ ...parsed(a.snapshot), routes: hosts.reverse().flat() });
    const received = ReceivedContent.from(random.oneIn(2) ? file : a);
    assert.equal(received.hash, a.hash);
    for (const [from, to] of [[a, b], [b, c], [c, a]]) {
      const snapshot = snapshotFrom(received, deltaLine(from, to));
      assert.equal(
        Content.of(snapshot).hash,
        to.hash,
      );
      if (to !== a) assert.equal(textOf(snapshot), textOf(to.snapshot));
    }
  }
});

Deno.test("another full snapshot keeps the identity of common parts", () => {
  for (let seed = 0; seed < 20; seed++) {
    const received = new ReceivedContent();
    let before: Snapshot | undefined;
    for (const snapshot of randomSnapshots(new Random(seed), 10)) {
      const now = snapshotFrom(received, wholeLine(Content.of(snapshot)));
      assert.equal(textOf(now), textOf(snapshot));
      if (before !== undefined) assertKeepsIdentity(before, now);
      before = now;
    }
  }
});

Deno.test("only the changed host is parsed again, and its other routes keep their identity", () => {
  const { received, from, snapshot } = afterBase();
  const [first, , third] = BASE.routes;
  const to = Content.of({ ...BASE, routes: [first, route("a.test", "/c"), third] }, from);
  const next = snapshotFrom(received, deltaLine(from, to));
  assert.equal(next.routes[0], snapshot.routes[0]);
  assert.equal(next.routes[2], snapshot.routes[2]);
  assert.equal(next.routes[1].match.path.value, "/c");
  assert.equal(next.upstreams, snapshot.upstreams);
  assert.equal(next.certificates, snapshot.certificates);
});

Deno.test("an empty delta is a new version of the same lists", () => {
  const { received, from, snapshot } = afterBase();
  const version = { epoch: "cluster", seen: { Ingress: "8" } };
  const taken = takeLine(received, deltaLine(from, Content.of({ ...BASE, version }, from)));
  assert.ok(taken.ok);
  assert.deepEqual(taken.version, version);
  assert.deepEqual(taken.snapshot.version, version);
  assert.equal(taken.snapshot.routes, snapshot.routes);
});

Deno.test("a delta for another base is lost, and so are all until a full snapshot", () => {
  const { received, from, snapshot } = afterBase();
  const next = Content.of({ ...BASE, defaultCertificate: "two" }, from);
  const other = Content.of({ ...BASE, defaultCertificate: null }, from);
  const wrong = takeLine(received, deltaLine(other, next));
  assert.ok(!wrong.ok && wrong.kind === "lost");
  assert.match(wrong.reason, /^the delta is for [0-9a-f]{64}, and here is [0-9a-f]{64}$/);
  assert.equal(received.hash, null);
  const right = takeLine(received, deltaLine(from, next));
  assert.ok(!right.ok && right.kind === "lost");
  const whole = snapshotFrom(received, wholeLine(next));
  assert.equal(whole.defaultCertificate, "two");
  assert.equal(whole.routes, snapshot.routes);
  assert.equal(received.hash, next.hash);
});

Deno.test("a delta before anything else is lost", () => {
  const content = Content.of(BASE);
  const taken = takeLine(new ReceivedContent(), deltaLine(Content.of(snapshotWith({})), content));
  assert.ok(!taken.ok && taken.kind === "lost");
});

Deno.test("a delta with another resulting hash is lost, such a full snapshot is invalid", () => {
  const { received, from } = afterBase();
  const to = Content.of({ ...BASE, upstreams: [...BASE.upstreams, upstream("c/web:80")] }, from);
  const table: [line: string, kind: string][] = [
    [deltaLine(from, to).replace("c/web:80", "d/web:80"), "lost"],
    [deltaLine(from, to).replace(to.hash, from.hash), "lost"],
    [wholeLine(to).replace("c/web:80", "d/web:80"), "invalid"],
  ];
  for (const [line, kind] of table) {
    const taken = takeLine(received, line);
    assert.ok(!taken.ok);
    assert.equal(taken.kind, kind);
    assert.match(taken.reason, /^its hash is [0-9a-f]{64}, and should be [0-9a-f]{64}$/);
    assert.equal(received.hash, null);
    snapshotFrom(received, wholeLine(from));
  }
});

Deno.test("an unusable snapshot is still the base of the delta that repairs it", () => {
  const broken: [snapshot: Snapshot, reason: RegExp][] = [
    [
      { ...BASE, upstreams: [BASE.upstreams[0]] },
      /^route "b.test Prefix \/", action.backends\[0\].upstream: "b\/web:80" is the id of no upstream$/,
    ],
    [
      { ...BASE, certificates: [BASE.certificates[1]] },
      /^\$.defaultCertificate: "one" is the id of no certificate$/,
    ],
    [
      { ...BASE, listeners: [secureListener("web", 10_000, { certificates: ["two", "gone"] })] },
      /^listener "test\/gw\/web", certificates\[1\]: "gone" is the id of no certificate$/,
    ],
    [
      { ...BASE, defaultAction: { kind: "forward", backends: [{ upstream: "gone" }] } },
      /^\$.defaultAction.backends\[0\].upstream: "gone" is the id of no upstream$/,
    ],
    [
      { ...BASE, routes: [...BASE.routes, { ...route("c.test", "/"), id: "a.test Prefix /b" }] },
      /^two routes have the id "a.test Prefix \/b"$/,
    ],
    [
      { ...BASE, upstreams: [upstream("a/web:80", "not an address"), BASE.upstreams[1]] },
      /^upstream "a\/web:80", addresses.endpoints\[0\].address: "not an address" is no IP address; /,
    ],
    [
      { ...BASE, certificates: [certificate("one", ""), BASE.certificates[1]] },
      /^certificate "one", key.pem: it is empty; write a name here$/,
    ],
    [
      { ...BASE, routes: [route("a..test", "/"), ...BASE.routes] },
      /^host "a..test", routes\[0\].host: the host "a..test" has an empty label; /,
    ],
    [
      { ...BASE, routes: [{ ...route("A.test", "/") }, ...BASE.routes] },
      /^host "A.test", routes\[0\].host: it is not "A.test"; write a route under its own host$/,
    ],
  ];
  const mended = { ...BASE, upstreams: [...BASE.upstreams, upstream("z/web:80")] };
  for (const [snapshot, reason] of broken) {
    const { received, from, snapshot: before } = afterBase();
    const bad = Content.of(snapshot, from);
    const still = Content.of({ ...snapshot, version: { epoch: "cluster", seen: {} } }, bad);
    const good = Content.of(mended, still);
    for (const line of [deltaLine(from, bad), deltaLine(bad, still), wholeLine(still)]) {
      const taken = takeLine(received, line);
      assert.ok(!taken.ok && taken.kind === "invalid");
      assert.match(taken.reason, reason);
      assert.equal(received.hash, bad.hash);
    }
    const after = snapshotFrom(received, deltaLine(still, good));
    assert.equal(textOf(after), textOf(mended));
    after.routes.forEach((route, i) => assert.equal(route, before.routes[i]));
  }
});

Deno.test("an upstream may be removed together with its last route, and not before", () => {
  const { received, from } = afterBase();
  const without = Content.of({ ...BASE, upstreams: [BASE.upstreams[0]] }, from);
  const both = Content.of({ ...without.snapshot, routes: BASE.routes.slice(0, 2) }, without);
  assert.ok(!takeLine(received, deltaLine(from, without)).ok);
  assert.equal(snapshotFrom(received, deltaLine(without, both)).routes.length, 2);
});

Deno.test("a certificate may be removed together with the last listener that has it, and not before", () => {
  const { received, from } = afterBase();
  const listeners = [secureListener("web", 10_000, { certificates: ["two"] })];
  const used = Content.of({ ...BASE, listeners }, from);
  snapshotFrom(received, deltaLine(from, used));
  const certificates = BASE.certificates.filter(({ id }) => id !== "two");
  const bereft = Content.of({ ...BASE, listeners, certificates }, used);
  assert.ok(!takeLine(received, deltaLine(used, bereft)).ok);
  const both = Content.of({
    ...BASE,
    listeners: [secureListener("web", 10_000, { certificates: [] })],
    certificates,
  }, bereft);
  const { listeners: left } = snapshotFrom(received, deltaLine(bereft, both));
  assert.deepEqual(left?.map(({ certificates }) => certificates), [[]]);
});

Deno.test("a route for all Gateways that share a socket is taken, whole and by a delta", () => {
  const guard: Route = {
    ...BASE.routes[0],
    id: "c.test guard",
    host: "c.test",
    listeners: Object.values(ALL_SHARING),
    action: { kind: "reply", status: 404, reason: "no route" },
  };
  const guarded = { ...BASE, routes: [...BASE.routes, guard] };
  const { received, from } = afterBase();
  const next = Content.of(guarded, from);
  assert.equal(snapshotFrom(received, deltaLine(from, next)).routes.length, guarded.routes.length);
  const whole = snapshotFrom(received, wholeLine(next));
  assert.deepEqual(whole.routes.find(({ id }) => id === guard.id)?.listeners, ["@http", "@https"]);
});

Deno.test("received keys are printed nowhere", () => {
  const { received, snapshot } = afterBase();
  for (const thing of [received, snapshot]) {
    assert.ok(!Deno.inspect(thing, { depth: 99, showHidden: true }).includes("key 1"));
    assert.ok(!JSON.stringify(thing).includes("key 1"));
  }
  const { key } = snapshot.certificates[0];
  assert.equal(key.kind === "secret" && key.pem.reveal(), "key 1");
});

Deno.test("the change that a message makes names what differs, and nothing that it repeats", () => {
  const { received, from, snapshot } = afterBase();
  const moved = upstream("a/web:80", "10.0.0.9");
  const to = Content.of({
    ...BASE,
    routes: [...BASE.routes.slice(0, 2), route("c.test", "/")],
    upstreams: [moved],
  }, from);
  // Of the host that stays, as it is.
  const fields = JSON.parse(deltaLine(from, to));
  fields.hosts.push(JSON.parse(hostText("a.test", BASE.routes.slice(0, 2))));
  const taken = takeLine(received, JSON.stringify(fields));
  assert.ok(taken.ok && taken.change !== null);
  assert.equal(taken.change.base, snapshot);
  const hosts = taken.change.hosts.map(({ host, before, routes }) => [
    host,
    before.map(({ id }) => id),
    routes.map(({ id }) => id),
  ]);
  assert.deepEqual(hosts, [
    ["b.test", ["b.test Prefix /"], []],
    ["c.test", [], ["c.test Prefix /"]],
  ]);
  const { upstreams, certificates } = taken.change.parts;
  assert.deepEqual(upstreams.changed, [moved]);
  assert.deepEqual(upstreams.replaced.map(({ id }) => id), ["a/web:80", "b/web:80"]);
  assert.deepEqual(upstreams.removed, ["b/web:80"]);
  assert.deepEqual(certificates, { changed: [], replaced: [], removed: [] });
});

const BROKEN: readonly [name: string, parts: Partial<Snapshot>, reason: RegExp][] = [
  [
    "an upstream that goes while a route leads to it",
    { upstreams: BASE.upstreams.slice(0, 1) },
    /^route "b\.test Prefix \/", action\.backends\[0\]\.upstream: /,
  ],
  [
    "a route of another host with an id that there is",
    { routes: [...BASE.routes, { ...route("c.test", "/"), id: BASE.routes[0].id }] },
    /^two routes have the id "a\.test Prefix \/"$/,
  ],
];

for (const [name, parts, reason] of BROKEN) {
  Deno.test(`a delta is not used that brings ${name}, whatever the state before came from`, () => {
    const from = Content.of(BASE);
    const line = deltaLine(from, Content.of({ ...BASE, ...parts }, from));
    for (const received of [afterBase().received, ReceivedContent.from(from)]) {
      const taken = takeLine(received, line);
      assert.ok(!taken.ok && taken.kind === "invalid");
      assert.match(taken.reason, reason);
    }
  });
}

Deno.test("each field of a snapshot travels: as its version, its routes, a list of parts or the rest", () => {
  const fields = ["version", "routes", ...PART_LISTS, ...Object.keys(REST.properties)];
  assert.deepEqual(fields.toSorted(), Object.keys(SNAPSHOT.properties).toSorted());
});
