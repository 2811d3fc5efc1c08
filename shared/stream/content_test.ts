import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Random } from "../../tests/fuzz/random.ts";
import {
  certificate,
  randomSnapshots,
  route,
  snapshotWith,
  textOf,
  upstream,
} from "../../tests/support/streamed_snapshots.ts";
import { parseSnapshot } from "../snapshot/parse.ts";
import { deltaLine, sameLine, wholeLine } from "./change.ts";
import { forwardTo } from "../snapshot/forward_action.ts";
import { Content } from "./content.ts";

/** Fields of a line that are one unit, in their order. */
const REST = [
  "format",
  "defaultAction",
  "defaultCertificate",
  "loopMark",
  "denied",
  "trustedProxies",
  "blockedClients",
  "globalConfig",
];

/** As the protocol words it, from the line alone. */
function hashOfLine(line: string): string {
  const sum = new Uint8Array(32);
  const add = (section: string, key: string, value: unknown) => {
    const text = `${section}\0${key}\0${JSON.stringify(value)}`;
    createHash("sha256").update(text).digest().forEach((byte, i) => sum[i] ^= byte);
  };
  const whole = JSON.parse(line);
  // Those that the line does not have are not in the text either.
  add("rest", "", Object.fromEntries(REST.map((name) => [name, whole[name]])));
  for (const host of whole.hosts) add("host", host.host, host);
  for (const one of whole.upstreams) add("upstream", one.id, one);
  for (const one of whole.certificates) add("certificate", one.id, one);
  return sum.toHex();
}

Deno.test("the hash is the XOR of the hashes of its units on the wire", () => {
  for (const snapshot of randomSnapshots(new Random(1), 200)) {
    const content = Content.of(snapshot);
    const line = wholeLine(content);
    assert.equal(content.hash, hashOfLine(line));
    assert.equal(JSON.parse(line).hash, content.hash);
  }
});

Deno.test("the hash is the same whatever the content was built from", () => {
  let before: Content | undefined;
  for (const snapshot of randomSnapshots(new Random(2), 300)) {
    const followed = Content.of(snapshot, before);
    assert.equal(followed.hash, Content.of(snapshot).hash);
    const read = parseSnapshot(textOf(snapshot)).snapshot;
    assert.ok(read !== null);
    assert.equal(Content.of(read).hash, followed.hash);
    before = followed;
  }
});

Deno.test("the hash does not depend on the order of lists or on the version", () => {
  for (const snapshot of randomSnapshots(new Random(3), 100)) {
    const shuffled = {
      ...snapshot,
      version: { epoch: "other", seen: {} },
      upstreams: snapshot.upstreams.toReversed(),
      certificates: snapshot.certificates.toReversed(),
      // The order inside of a host is content: hosts as a whole change places.
      routes: [...Map.groupBy(snapshot.routes, ({ host }) => host).values()].reverse().flat(),
    };
    assert.equal(Content.of(shuffled).hash, Content.of(snapshot).hash);
    assert.equal(Content.of(shuffled, Content.of(snapshot)).hash, Content.of(snapshot).hash);
  }
});

Deno.test("each part of a snapshot changes the hash", () => {
  const base = snapshotWith({
    routes: [route("a.test", "/"), route("a.test", "/b"), route("b.test", "/")],
    upstreams: [upstream("a/web:80", "10.0.0.1"), upstream("b/web:80")],
    certificates: [certificate("one", "key 1"), certificate("two", "key 2")],
  });
  const [first, second, third] = base.routes;
  const others = [
    { ...base, routes: [second, first, third] },
    { ...base, routes: [first, second] },
    { ...base, routes: [first, second, { ...third, action: forwardTo("b") }] },
    { ...base, upstreams: [upstream("a/web:80", "10.0.0.2"), base.upstreams[1]] },
    { ...base, upstreams: [base.upstreams[0]] },
    { ...base, certificates: [certificate("one", "key 3"), base.certificates[1]] },
    { ...base, defaultCertificate: "one" },
    { ...base, trustedProxies: ["10.0.0.0/8"] },
    { ...base, defaultAction: { kind: "reply", status: 503, reason: "" } as const },
  ];
  const hashes = [base, ...others].map((snapshot) => Content.of(snapshot).hash);
  assert.equal(new Set(hashes).size, hashes.length);
  const contents = others.map((snapshot) => Content.of(snapshot, Content.of(base)).hash);
  assert.deepEqual(contents, hashes.slice(1));
});

Deno.test("routes of a host that are apart in the list are one unit", () => {
  const routes = [route("a.test", "/"), route("b.test", "/"), route("a.test", "/x")];
  const content = Content.of(snapshotWith({ routes }));
  assert.deepEqual(content.hosts.map(({ key, part }) => [key, part.length]), [
    ["a.test", 2],
    ["b.test", 1],
  ]);
});

Deno.test("units of unchanged parts are the same objects", () => {
  const base = snapshotWith({
    routes: [route("a.test", "/"), route("a.test", "/b"), route("b.test", "/")],
    upstreams: [upstream("a/web:80", "10.0.0.1"), upstream("b/web:80")],
    certificates: [certificate("one", "key 1"), certificate("two", "key 2")],
  });
  const before = Content.of(base);
  const changed = Content.of({
    ...base,
    routes: [base.routes[0], base.routes[1], route("b.test", "/", "b/web:80")],
    upstreams: [upstream("a/new:80"), base.upstreams[0], upstream("b/web:80", "10.0.0.9")],
    certificates: [base.certificates[1]],
  }, before);
  assert.equal(changed.hosts[0], before.hosts[0]);
  assert.notEqual(changed.hosts[1], before.hosts[1]);
  assert.equal(changed.parts.upstreams[1], before.parts.upstreams[0]);
  assert.equal(changed.parts.certificates[0], before.parts.certificates[1]);
  assert.equal(Content.of({ ...base }, before).hosts, before.hosts);
});

Deno.test("a delta has the changes and nothing else", () => {
  const base = snapshotWith({
    routes: [route("a.test", "/"), route("b.test", "/"), route("c.test", "/")],
    upstreams: [upstream("a/web:80", "10.0.0.1"), upstream("b/web:80"), upstream("c/web:80")],
    certificates: [certificate("one", "key 1"), certificate("two", "key 2")],
  });
  const next = {
    ...base,
    version: { epoch: "cluster", seen: { Ingress: "8" } },
    routes: [
      route("a.test", "/"),
      route("b.test", "/"),
      route("b.test", "/x"),
      route("d.test", "/"),
    ],
    // Made anew, but the same.
    upstreams: [upstream("a/web:80", "10.0.0.1"), upstream("c/web:80", "10.0.0.3")],
    certificates: [certificate("one", "key 1"), certificate("two", "key 3")],
    defaultCertificate: "two",
  };
  const [from, to] = [Content.of(base), Content.of(next)];
  const { hosts, upstreams, certificates, ...rest } = JSON.parse(deltaLine(from, to));
  assert.deepEqual(hosts.map(({ host }: { host: string }) => host), ["b.test", "d.test"]);
  assert.equal(hosts[0].routes.length, 2);
  assert.deepEqual(upstreams.map(({ id }: { id: string }) => id), ["c/web:80"]);
  assert.deepEqual(certificates.map(({ key }: { key: object }) => key), [
    { kind: "secret", pem: "key 3" },
  ]);
  assert.deepEqual(rest, {
    kind: "delta",
    base: from.hash,
    version: next.version,
    hash: to.hash,
    format: 2,
    defaultAction: null,
    defaultCertificate: "two",
    removed: { hosts: ["c.test"], upstreams: ["b/web:80"], certificates: [] },
  });
  assert.deepEqual(JSON.parse(sameLine(to)), {
    kind: "same",
    version: next.version,
    hash: to.hash,
  });
});

Deno.test("each message is one line", () => {
  const snapshot = snapshotWith({
    routes: [{ ...route("a.test", "/"), origin: { ...route("a.test", "/").origin, name: "a\nb" } }],
    upstreams: [upstream("a/web:80")],
    certificates: [certificate("one", "-----BEGIN\nkey\n-----END\n")],
  });
  const content = Content.of(snapshot);
  for (
    const line of [
      wholeLine(content),
      sameLine(content),
      deltaLine(Content.of(snapshotWith({})), content),
    ]
  ) {
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.equal(JSON.parse(line).hash, content.hash);
  }
});

Deno.test("keys are in the lines and nowhere else", () => {
  const content = Content.of(snapshotWith({ certificates: [certificate("one", "s3cret")] }));
  assert.ok(wholeLine(content).includes("s3cret"));
  assert.ok(deltaLine(Content.of(snapshotWith({})), content).includes("s3cret"));
  assert.ok(!JSON.stringify(content).includes("s3cret"));
  assert.ok(!Deno.inspect(content, { depth: 99, showHidden: true }).includes("s3cret"));
});

Deno.test("two upstreams with one id are an internal error", () => {
  const twice = snapshotWith({ upstreams: [upstream("a/web:80"), upstream("a/web:80")] });
  assert.throws(() => Content.of(twice), /two parts of a snapshot have the id a\/web:80/);
});
