/** Snapshots over real sockets: from the controller's stream, beside files. */
import assert from "node:assert/strict";
import { layPublishedSet } from "../../controller/outputs/publish/layout.ts";
import { Content } from "../../shared/stream/content.ts";
import type { Report } from "../../shared/stream/messages.ts";
import { largeSnapshot, toFiles } from "../support/published_scene.ts";
import { seeing, StreamScene, until } from "../support/stream_scene.ts";

Deno.test("in a fresh cluster without a file the stream alone provides the configuration, which is reported", async () => {
  await using scene = await StreamScene.start();
  const stream = await scene.controller.stream(0);
  assert.match(scene.lacks, /^the file: it does not exist; the controller: it has sent none yet$/);
  const { version, hash, formats } = await stream.report("hello");
  assert.deepEqual([version, hash, formats], [null, null, [2]]);
  assert.equal(stream.headers.authorization, "Bearer token-1");
  assert.equal(stream.headers["pingress-protocol"], "1");
  stream.hello("zone-a");
  const content = stream.whole(seeing(5));
  const applied = await stream.report("applied");
  assert.deepEqual([applied.version, applied.hash], [content.version, content.hash]);
  await scene.sources.first;
  assert.deepEqual(scene.revisions, [5]);
  assert.deepEqual(scene.zones, ["zone-a"]);
  const { stream: state, ...inForce } = scene.sources.state;
  assert.deepEqual([inForce.origin, inForce.hash], ["stream", content.hash]);
  assert.deepEqual(state?.controller, { name: "test", build: "0" });
});

Deno.test("a zone that one replica does not know is still the one from another replica", async () => {
  await using scene = await StreamScene.start(seeing(5));
  const first = await scene.controller.stream(0);
  first.hello("zone-a");
  first.same(seeing(5));
  await first.report("applied");
  first.cut();
  const second = await scene.controller.stream(1);
  second.hello(null);
  second.same(seeing(5));
  await second.report("applied");
  assert.deepEqual(scene.zones, ["zone-a"]);
  assert.equal(scene.sources.state.stream?.zone, "zone-a");
});

Deno.test("deltas follow the full snapshot, and unchanged parts stay the same objects", async () => {
  await using scene = await StreamScene.start();
  const stream = await scene.controller.stream(0);
  stream.hello();
  const first = stream.whole(seeing(5, ["a.test", "b.test"]));
  const second = stream.delta(first, seeing(6, ["a.test", "b.test", "c.test"]));
  stream.delta(second, seeing(7, ["a.test", "c.test"]));
  await stream.reportsOf("applied", 3);
  assert.deepEqual(scene.applied.map(({ routes }) => routes.map(({ host }) => host)), [
    ["a.test", "b.test"],
    ["a.test", "b.test", "c.test"],
    ["a.test", "c.test"],
  ]);
  assert.equal(scene.applied[2].routes[0], scene.applied[0].routes[0]);
  assert.equal(scene.applied[2].upstreams, scene.applied[0].upstreams);
});

Deno.test("with the file's content the controller sends no snapshot, and deltas apply to it", async () => {
  const file = seeing(5, ["a.test", "b.test"]);
  await using scene = await StreamScene.start(file);
  assert.deepEqual(scene.revisions, [5]);
  const stream = await scene.controller.stream(0);
  const hello = await stream.report("hello");
  assert.equal(hello.hash, Content.of(file).hash);
  assert.deepEqual(hello.version, file.version);
  stream.hello();
  const content = stream.same(file);
  await stream.report("applied");
  assert.deepEqual(scene.revisions, [5], "nothing is applied twice");
  stream.delta(content, seeing(6, ["a.test"]));
  await stream.reportsOf("applied", 2);
  assert.deepEqual(scene.revisions, [5, 6]);
  assert.equal(scene.applied[1].upstreams[0], scene.applied[0].upstreams[0]);
});

function hashIn(report: Report): string | null {
  return "hash" in report ? report.hash : null;
}

Deno.test("the version that a proxy reports is the one that every worker serves, not one in transit", async () => {
  await using scene = await StreamScene.start(null, { stream: { times: { alive: 50 } } });
  const first = await scene.controller.stream(0);
  first.hello();
  const before = first.whole(seeing(5));
  await first.report("applied");
  const slow = Promise.withResolvers<void>();
  scene.gate = slow.promise;
  const after = first.delta(before, seeing(6, ["a.test", "b.test"]));
  await until(() => scene.revisions.length === 2, "it is being applied");
  const { length } = first.reports;
  await until(() => first.reports.length > length + 2, "words that it is alive");
  assert.deepEqual(
    new Set(first.reports.slice(length).map((report) => `${report.kind} ${hashIn(report)}`)),
    new Set([`alive ${before.hash}`]),
  );
  assert.equal(scene.sources.state.hash, before.hash);
  first.cut();
  const second = await scene.controller.stream(1);
  const { version, hash } = await second.report("hello");
  assert.deepEqual([version, hash], [before.version, before.hash]);
  second.hello();
  // It is on its way already, so it is not begun again, nor called applied before it is.
  second.delta(before, after.snapshot);
  await until(() => second.reports.length > 3, "words that it is alive");
  assert.equal(second.reports.some(({ kind }) => kind === "applied"), false);
  slow.resolve();
  assert.equal((await second.report("applied")).hash, after.hash);
  assert.deepEqual(scene.revisions, [5, 6]);
  await until(() => hashIn(second.reports.at(-1)!) === after.hash, "the new one");
  assert.equal(scene.sources.state.hash, after.hash);
});

Deno.test("mounted files and the stream have the same hash for the same content, including keys, in one part or many", async () => {
  for (const size of [{ routes: 20, certificates: 3 }, { routes: 6000, certificates: 30 }]) {
    const snapshot = largeSnapshot({ ...size, seen: "5" });
    const fill = (folder: string) => {
      for (const [name, bytes] of Object.entries(toFiles(layPublishedSet(snapshot)))) {
        Deno.writeFileSync(`${folder}/${name}`, bytes);
      }
    };
    await using scene = await StreamScene.start(fill);
    assert.deepEqual(scene.revisions, [5]);
    const stream = await scene.controller.stream(0);
    const { hash } = await stream.report("hello");
    assert.equal(hash, Content.of(snapshot).hash);
    stream.hello();
    stream.same(snapshot);
    await stream.report("applied");
    // And the other way round: what came by the stream comes as files, a minute later.
    stream.whole({ ...snapshot, version: { epoch: "cluster", seen: { Ingress: "6" } } });
    await stream.reportsOf("applied", 2);
    const before = scene.lines.length;
    fill(scene.folder);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(scene.applied.length, 2);
    assert.deepEqual(scene.lines.slice(before), []);
  }
});

Deno.test("the same content with a newer version updates the version", async () => {
  const file = seeing(5);
  await using scene = await StreamScene.start(file);
  const stream = await scene.controller.stream(0);
  stream.hello();
  stream.same(seeing(8));
  await stream.report("applied");
  assert.equal(scene.sources.state.version?.seen.Ingress, "8");
  assert.equal(scene.applied.at(-1)!.routes, scene.applied[0].routes);
});

Deno.test("applied is reported once every worker has the snapshot, not before", async () => {
  await using scene = await StreamScene.start();
  const gate = Promise.withResolvers<void>();
  scene.gate = gate.promise;
  const stream = await scene.controller.stream(0);
  stream.hello();
  stream.whole(seeing(5));
  await until(() => scene.applied.length === 1, "it was applied");
  stream.say({ kind: "ping" });
  assert.deepEqual(stream.reports.map(({ kind }) => kind), ["hello"]);
  gate.resolve();
  await stream.report("applied");
});

Deno.test("an update that is sent again while it is applied is not active any sooner", async () => {
  await using scene = await StreamScene.start();
  const gate = Promise.withResolvers<void>();
  scene.gate = gate.promise;
  const stream = await scene.controller.stream(0);
  stream.hello();
  stream.whole(seeing(5));
  stream.whole(seeing(5));
  // The answer to it comes after what there is to say of those before.
  stream.whole(seeing(4));
  await stream.report("refused");
  assert.deepEqual(stream.reports.map(({ kind }) => kind), ["hello", "refused"]);
  gate.resolve();
  await stream.reportsOf("applied", 2);
  assert.equal(scene.applied.length, 1);
});

Deno.test("an older, mixed, empty, invalid or too much smaller snapshot is rejected with a reason, and stays the base", async (t) => {
  const many = Array.from({ length: 10 }, (_, i) => `h${i}.test`);
  const mixed = {
    ...seeing(10),
    version: { epoch: "cluster", seen: { Ingress: "10", Service: "1" } },
  };
  const start = {
    ...seeing(9, many),
    version: { epoch: "cluster", seen: { Ingress: "9", Service: "5" } },
  };
  const nothing = { ...seeing(10, []), version: start.version };
  const table = [
    ["older", "older", seeing(8, many)],
    ["mixed", "older", mixed],
    ["nothing at all", "empty", nothing],
    ["nine of ten routes less", "loss", { ...seeing(10, ["h0.test"]), version: start.version }],
  ] as const;
  for (const [says, code, snapshot] of table) {
    await t.step(says, async () => {
      await using scene = await StreamScene.start(null, { maxRouteLoss: 80 });
      const stream = await scene.controller.stream(0);
      stream.hello();
      stream.whole(start);
      await stream.report("applied");
      const refused = stream.whole(snapshot);
      const report = await stream.report("refused");
      assert.deepEqual([report.code, report.hash], [code, refused.hash]);
      assert.notEqual(report.reason, "");
      assert.deepEqual(scene.revisions, [9]);
      assert.equal(scene.refused, 1);
      assert.equal(scene.sources.state.stream?.refused?.code, code);
      // The next delta is from what was refused.
      const next = { ...seeing(11, many), version: { epoch: "cluster", seen: { Ingress: "11" } } };
      stream.delta(refused, next);
      await stream.reportsOf("applied", 2);
      assert.deepEqual(scene.revisions, [9, 11]);
      assert.equal(scene.sources.state.stream?.refused, null);
    });
  }
});

Deno.test("a delta may remove all routes: each of them was removed explicitly", async () => {
  await using scene = await StreamScene.start();
  const stream = await scene.controller.stream(0);
  stream.hello();
  const content = stream.whole(seeing(5));
  stream.delta(content, seeing(6, []));
  await stream.reportsOf("applied", 2);
  assert.deepEqual(scene.applied[1].routes, []);
});

Deno.test("a snapshot rejected as empty is not accepted with another version either", async () => {
  await using scene = await StreamScene.start(seeing(1));
  const stream = await scene.controller.stream(0);
  stream.hello();
  let content = stream.whole(seeing(5, []));
  await stream.report("refused");
  content = stream.delta(content, seeing(6, []));
  await stream.reportsOf("refused", 2);
  assert.equal(scene.sources.state.stream?.refused?.code, "empty");
  assert.deepEqual(scene.revisions, [1]);
  const told = () => scene.lines.filter(({ fields }) => /no route/.test(`${fields.problem}`));
  await until(() => told().length > 0, "it is told");
  // Longer than the log waits from one refusal to the next.
  await new Promise((resume) => setTimeout(resume, 1_100));
  assert.equal(told().length, 1);
  // Routes that come, and go one by one, are another matter.
  content = stream.delta(content, seeing(7));
  stream.delta(content, seeing(8, []));
  await stream.reportsOf("applied", 2);
  assert.deepEqual(scene.revisions, [1, 7, 8]);
});

Deno.test("an update that cannot be applied is rejected, and the next change is tried", async () => {
  await using scene = await StreamScene.start(seeing(1));
  const stream = await scene.controller.stream(0);
  stream.hello();
  scene.fault = new Error("no memory");
  const content = stream.whole(seeing(5));
  const { code, reason } = await stream.report("refused");
  assert.equal(code, "failed");
  assert.match(reason, /no memory/);
  assert.equal(scene.sources.state.version?.seen.Ingress, "1");
  scene.fault = null;
  stream.delta(content, seeing(6));
  await stream.report("applied");
  assert.deepEqual(scene.revisions, [1, 6]);
});

Deno.test("an internal error during an update ends only that stream, and the proxy reconnects", async () => {
  let zones = 0;
  const onZone = () => {
    if (++zones === 1) throw new Error("a mistake");
  };
  await using scene = await StreamScene.start(seeing(1), { onZone });
  const first = await scene.controller.stream(0);
  first.hello("zone-a");
  await first.ended();
  await until(() => scene.failures.length > 0, "it is told");
  assert.match(scene.failures[0], /a bug in the proxy/);
  const next = await scene.controller.stream(1);
  next.hello("zone-b");
  next.whole(seeing(2));
  await next.report("applied");
  assert.deepEqual(scene.revisions, [1, 2]);
});

Deno.test("another cluster is accepted from the stream, and no longer from a file", async () => {
  await using scene = await StreamScene.start(seeing(500));
  const stream = await scene.controller.stream(0);
  stream.hello();
  const rebuilt = { ...seeing(3), version: { epoch: "rebuilt", seen: { Ingress: "3" } } };
  stream.whole(rebuilt);
  await stream.report("applied");
  scene.write(seeing(501));
  await until(() => scene.refused === 1, "the file was refused");
  assert.deepEqual(scene.applied.map(({ version }) => version.epoch), ["cluster", "rebuilt"]);
  const said = scene.lines.find(({ message }) => message.startsWith("Configuration rejected"));
  assert.match(String(said?.fields.problem), /another cluster/);
});

Deno.test("files older than the stream are ignored without a log line, newer ones are applied", async () => {
  await using scene = await StreamScene.start(seeing(1));
  const stream = await scene.controller.stream(0);
  stream.hello();
  const content = stream.whole(seeing(9, ["a.test", "b.test"]));
  await stream.report("applied");
  const before = scene.lines.length;
  for (const [revision, hosts] of [[7, ["a.test"]], [9, ["a.test", "b.test"]]] as const) {
    scene.write(seeing(revision, hosts));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.deepEqual(scene.revisions, [1, 9]);
  assert.deepEqual(scene.lines.slice(before), []);
  scene.write(seeing(12, ["c.test"]));
  await until(() => scene.applied.length === 3, "the newer file is taken");
  assert.equal(scene.sources.state.origin, "file");
  // The controller still knows what it has sent, and is told what is in force.
  stream.delta(content, seeing(11));
  const { code } = await stream.report("refused");
  assert.equal(code, "older");
});

Deno.test("a full snapshot is requested for a delta with another base, and for an unreadable one", async () => {
  await using scene = await StreamScene.start();
  const stream = await scene.controller.stream(0);
  stream.hello();
  stream.whole(seeing(5));
  await stream.report("applied");
  stream.delta(Content.of(seeing(4, ["x.test"])), seeing(6));
  await stream.report("lost");
  // What was under way meanwhile is of no use, and asks for nothing more.
  stream.delta(Content.of(seeing(6)), seeing(7, ["y.test"]));
  stream.whole(seeing(8));
  await stream.reportsOf("applied", 2);
  stream.write('{"kind":"delta","ba\n');
  await stream.reportsOf("lost", 2);
  stream.whole(seeing(9));
  await stream.reportsOf("applied", 3);
  assert.deepEqual(scene.revisions, [5, 8, 9]);
  assert.deepEqual(scene.sources.scraped?.updates.delta, { applied: 0, refused: 0, lost: 1 });
});

Deno.test("a controller that keeps sending invalid data gets new streams with growing delays", async () => {
  await using scene = await StreamScene.start(seeing(1));
  for (const index of [0, 1]) {
    const stream = await scene.controller.stream(index);
    stream.hello();
    stream.write("nothing\n");
    await stream.report("lost");
    stream.write("nothing\n");
    await stream.ended();
  }
  assert.equal(scene.failures.length, 1);
  assert.match(scene.failures[0], /cannot be read/);
});

Deno.test("unknown messages of a newer controller are ignored, and reported once", async () => {
  await using scene = await StreamScene.start();
  const stream = await scene.controller.stream(0);
  stream.hello();
  for (const _ of [1, 2]) stream.say({ kind: "weather", of: "tomorrow" });
  stream.whole(seeing(5));
  await stream.report("applied");
  const said = scene.lines.filter(({ fields }) => fields.kind === "weather");
  assert.equal(said.length, 1);
});
