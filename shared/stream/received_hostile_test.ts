import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import {
  certificate,
  randomSnapshots,
  route,
  snapshotFrom,
  snapshotWith,
  takeLine,
  upstream,
} from "../../tests/support/streamed_snapshots.ts";
import type { JsonObject } from "../snapshot/config_check.ts";
import { deltaLine, wholeLine } from "./change.ts";
import { Content } from "./content.ts";
import { readUpdate } from "./messages.ts";
import { ReceivedContent } from "./received.ts";
import { HashSum, type Section, unitHash } from "./unit.ts";

const BASE = Content.of(snapshotWith({
  routes: [route("a.test", "/"), route("b.test", "/")],
  upstreams: [upstream("a/web:80", "10.0.0.1")],
  certificates: [certificate("one", "key 1")],
}));

/** A whole line with other fields, its hash made to fit wherever that can be. */
function wholeWith(change: Record<string, unknown>): string {
  const fields = { ...JSON.parse(wholeLine(BASE)), ...change };
  const sum = new HashSum();
  const toggle = (section: Section, key: string, value: unknown) =>
    sum.toggle({ key, hash: unitHash(section, key, JSON.stringify(value)) });
  const lists = [["host", "hosts"], ["upstream", "upstreams"], ["certificate", "certificates"]];
  for (const [section, name] of lists) {
    const list = Array.isArray(fields[name]) ? fields[name] : [];
    for (const one of list) toggle(section as Section, one?.host ?? one?.id, one);
  }
  const { kind: _kind, version: _version, hash: _hash, hosts: _h, upstreams: _u, ...others } =
    fields;
  const { certificates: _c, ...rest } = others;
  toggle("rest", "", rest);
  return JSON.stringify({ ...fields, hash: sum.toHex() });
}

const PLAIN: Record<string, JsonObject[]> = JSON.parse(wholeLine(BASE));
const [HOST] = PLAIN.hosts;
const [UPSTREAM] = PLAIN.upstreams;
const [CERTIFICATE] = PLAIN.certificates;
const [ROUTE] = HOST.routes as JsonObject[];

function withRoute(change: object) {
  return { hosts: [{ ...HOST, routes: [{ ...ROUTE, ...change }] }] };
}

Deno.test("a full snapshot with invalid parts is invalid, and says which", () => {
  const proto = JSON.parse('{"__proto__":{"id":"x"}}');
  const table: [change: Record<string, unknown>, reason: RegExp][] = [
    [{ format: 3 }, /^format 3 is newer than 2, .*; run a proxy of the controller's version$/],
    [{ format: "1" }, /^\$.format: "1" is none of 2$/],
    [{ format: undefined }, /^\$.format: nothing is none of 2$/],
    [{ hosts: undefined }, /^\$.hosts: an array is needed, not nothing$/],
    [{ hosts: {} }, /^\$.hosts: an array is needed, not an object$/],
    [{ hosts: [7] }, /^\$.hosts\[0\]: an object is needed, not a number$/],
    [{ hosts: [null] }, /^\$.hosts\[0\]: an object is needed, not null$/],
    [{ hosts: [{ routes: [] }] }, /^\$.hosts\[0\].host: a text is needed, not nothing$/],
    [{ hosts: [HOST, HOST] }, /^\$.hosts: "a.test" is in it twice$/],
    [{ hosts: [{ host: "a.test" }] }, /^host "a.test", routes: an array is needed, not nothing; /],
    [{ hosts: [{ ...HOST, host: "b.test" }] }, /^host "b.test", routes\[0\].host: it is not "b/],
    [{ upstreams: "all" }, /^\$.upstreams: an array is needed, not a text$/],
    [{ upstreams: [proto] }, /^\$.upstreams\[0\].id: a text is needed, not nothing$/],
    [{ upstreams: [UPSTREAM, UPSTREAM] }, /^\$.upstreams: "a\/web:80" is in it twice$/],
    [{ upstreams: [{ ...UPSTREAM, id: 7 }] }, /^\$.upstreams\[0\].id: a text is needed/],
    [
      { upstreams: [{ ...UPSTREAM, protocol: "h3" }] },
      /^upstream "a\/web:80", protocol: "h3" is none of .*; .* not older than the controller$/,
    ],
    [{ upstreams: [{ ...UPSTREAM, addresses: 7 }] }, /^upstream "a\/web:80", addresses: an object/],
    [{ certificates: [{ id: "" }] }, /^\$.certificates\[0\].id: it is empty$/],
    [{ certificates: [{ ...CERTIFICATE, key: null }] }, /^certificate "one", key: an object is/],
    [
      { certificates: [{ ...CERTIFICATE, key: { kind: "secret", pem: 12345 } }] },
      /^certificate "one", key.pem: a text is needed, not a number/,
    ],
    [
      { certificates: [{ ...CERTIFICATE, key: { kind: "secret", pem: "[redacted]" } }] },
      /^certificate "one", key.pem: the key was left out/,
    ],
    [{ defaultCertificate: 7 }, /^\$, defaultCertificate: a text is needed|^\$: a text is needed/],
    [{ defaultCertificate: "gone" }, /^\$.defaultCertificate: "gone" is the id of no certificate$/],
    [{ loopMark: "a b" }, /loopMark: "a b" is no mark for CDN-Loop; write 1 to 64 letters/],
    [{ defaultAction: { kind: "redirect" } }, /: "redirect" is none of "forward", "reply"; /],
    [
      withRoute({ caseless: true }),
      /^host "a.test", routes\[0\].caseless: the field is not known; .* not older than the contr/,
    ],
    [withRoute({ id: 7 }), /^host "a.test", routes\[0\].id: a text is needed, not a number; /],
    [
      withRoute({ match: { path: "/" } }),
      /^host "a.test", routes\[0\].match.path: an object is needed/,
    ],
    [
      withRoute({ match: { path: { type: "Glob", value: "/" } } }),
      /"Glob" is none of "Exact", "Prefix", "StringPrefix", "Regex"; /,
    ],
    [
      withRoute({ action: { kind: "forward", backends: [{ upstream: "x" }] } }),
      /"x" is the id of no upstream$/,
    ],
    [withRoute({ action: { kind: "split" } }), /"split" is none of "forward", "reply"; /],
    [{ hosts: [{ ...HOST, routes: [ROUTE, ROUTE] }] }, /routes\[1\]: it has the host and match of/],
  ];
  for (const [change, reason] of table) {
    const received = ReceivedContent.from(BASE);
    const taken = takeLine(received, wholeWith(change));
    assert.ok(!taken.ok, JSON.stringify(change));
    assert.equal(taken.kind, "invalid");
    assert.match(taken.reason, reason);
    // The controller's next whole is taken as if nothing had been.
    snapshotFrom(received, wholeLine(BASE));
  }
});

Deno.test("additions by a newer controller are reported once a kind, and have no effect", () => {
  const taken = takeLine(
    new ReceivedContent(),
    wholeWith({
      hosts: PLAIN.hosts.map((host) => ({ ...host, timeouts: { idle: 5 } })),
      upstreams: [{ ...UPSTREAM, weight: 7 }],
      later: [1, 2, 3],
    }),
  );
  assert.ok(taken.ok);
  const warned = taken.problems.map(({ path, severity }) => [path, severity]);
  assert.deepEqual(warned.sort(), [
    ["$.hosts[0].timeouts", "warning"],
    ["$.later", "warning"],
    ["$.upstreams[0].weight", "warning"],
  ]);
  assert.match(
    taken.problems.find(({ path }) => path.includes("timeouts"))!.message,
    /here and in 1 more place/,
  );
});

Deno.test("a field called __proto__ is an ordinary field", () => {
  const proto = '{"__proto__":{"hosts":[],"id":"x","routes":[]}}';
  const line = wholeWith({
    ...JSON.parse(proto),
    upstreams: [{ ...UPSTREAM, x: JSON.parse(proto) }],
  });
  assert.equal(line.match(/__proto__/g)?.length, 2);
  const taken = takeLine(new ReceivedContent(), line);
  assert.ok(taken.ok);
  assert.deepEqual(taken.problems.map(({ path }) => path), ["$.__proto__", "$.upstreams[0].x"]);
  const key = wholeWith({ hosts: [{ host: "__proto__", routes: [] }, ...PLAIN.hosts] });
  assert.ok(takeLine(new ReceivedContent(), key).ok);
});

Deno.test("an invalid delta counts as lost, so that a full snapshot is sent", () => {
  const to = Content.of(snapshotWith({ ...BASE.snapshot, defaultCertificate: "one" }), BASE);
  const fields = JSON.parse(deltaLine(BASE, to));
  const table: [change: object, reason: RegExp][] = [
    [{ removed: undefined }, /^\$.removed: an object is needed, not nothing$/],
    [{ removed: [] }, /^\$.removed: an object is needed, not an array$/],
    [{ removed: { hosts: "a.test" } }, /^\$.removed.hosts: an array is needed, not a text$/],
    [{ removed: { hosts: [7] } }, /^\$.removed.hosts\[0\]: a text is needed, not a number$/],
    [
      { hosts: [HOST], removed: { hosts: ["a.test"] } },
      /^\$.removed.hosts: "a.test" is in it twice$/,
    ],
    [{ removed: { hosts: ["a.test"] } }, /^its hash is /],
    [{ upstreams: [UPSTREAM, UPSTREAM] }, /^\$.upstreams: "a\/web:80" is in it twice$/],
    [{ upstreams: [{ ...UPSTREAM, id: 7 }] }, /^\$.upstreams\[0\].id: a text is needed/],
    [{ upstreams: [{ ...UPSTREAM, protocol: "h3" }] }, /^its hash is /],
    [{ hosts: undefined }, /^\$.hosts: an array is needed, not nothing$/],
    [{ format: null }, /^\$.format: null is none of 2$/],
  ];
  for (const [change, reason] of table) {
    const received = ReceivedContent.from(BASE);
    const taken = takeLine(received, JSON.stringify({ ...fields, ...change }));
    assert.ok(!taken.ok, JSON.stringify(change));
    assert.equal(taken.kind, "lost");
    assert.match(taken.reason, reason);
    assert.equal(received.hash, null);
    snapshotFrom(received, wholeLine(to));
  }
});

Deno.test("a resource that a delta removes twice, or that does not exist, is gone", () => {
  const empty = Content.of(snapshotWith({}));
  const fields = JSON.parse(deltaLine(BASE, empty));
  fields.removed.hosts.push("never.test", "a.test");
  const snapshot = snapshotFrom(ReceivedContent.from(BASE), JSON.stringify(fields));
  assert.deepEqual(snapshot.routes, []);
});

Deno.test("a delta in a newer format is invalid whatever its base", () => {
  const fields = { ...JSON.parse(deltaLine(BASE, BASE)), format: 3, base: "0".repeat(64) };
  const taken = takeLine(ReceivedContent.from(BASE), JSON.stringify(fields));
  assert.ok(!taken.ok && taken.kind === "invalid");
  assert.match(taken.reason, /^format 3 is newer than 2/);
});

Deno.test("endless nesting is rejected", () => {
  const depth = 200_000;
  const nested = `${'{"1":'.repeat(depth)}0${"}".repeat(depth)}`;
  const table: [line: string, reason: string][] = [
    [
      wholeLine(BASE).replace('"upstreams":[', `"upstreams":[{"id":"deep","x":${nested}},`),
      "$.upstreams[0]: it is nested too deeply",
    ],
    [wholeLine(BASE).replace('"hosts":', `"x":${nested},"hosts":`), "$: it is nested too deeply"],
  ];
  for (const [line, reason] of table) {
    const taken = takeLine(new ReceivedContent(), line);
    assert.deepEqual(taken, { ok: false, kind: "invalid", reason });
  }
});

Deno.test("no randomly corrupted line throws, or is taken for another message", () => {
  const random = new Random(9);
  const snapshots = [...randomSnapshots(random.fork(), 60)].map((one) => Content.of(one));
  const pieces = ["{", "}", "[", "]", '"', ",", ":", "0", "null", "\\u0000", "é", '"__proto__":1,'];
  let taken = 0;
  for (let round = 0; round < 6000; round++) {
    const i = random.below(snapshots.length - 1);
    const [from, to] = [snapshots[i], snapshots[i + 1]];
    const isWhole = random.oneIn(2);
    let line = (isWhole ? wholeLine(to) : deltaLine(from, to)).trimEnd();
    for (let changes = random.between(1, 3); changes > 0; changes--) {
      const at = random.below(line.length);
      const end = at + random.below(3);
      line = line.slice(0, at) + (random.oneIn(3) ? "" : random.pick(pieces)) + line.slice(end);
      if (random.oneIn(20)) line = line.slice(0, at);
    }
    const read = readUpdate(line);
    if (!read.ok || (read.message.kind !== "snapshot" && read.message.kind !== "delta")) continue;
    const received = ReceivedContent.from(from);
    const result = received.take(read.message);
    if (!result.ok) {
      assert.ok(!result.reason.includes("\n") && result.reason.length < 2000);
      continue;
    }
    taken++;
    assert.equal(result.hash, read.message.hash);
    if (result.problems.length === 0) assert.equal(Content.of(result.snapshot).hash, to.hash);
  }
  assert.ok(taken > 0);
});
