import assert from "node:assert/strict";
import { silentLogger } from "../../shared/log.ts";
import { HELLO } from "../../tests/support/stream_client.ts";
import {
  Certificates,
  hostsOf,
  judge,
  snapshot,
  startStream,
} from "../../tests/support/stream_server_scene.ts";
import type { Secret } from "../../shared/redacted.ts";

Deno.test("a proxy gets a full snapshot first, then deltas, each with a hash", async () => {
  await using scene = await startStream();
  const client = scene.connect();
  const hello = await client.line("hello");
  assert.deepEqual(
    [hello.controller, hello.heartbeat, hello.zone],
    ["controller-0", 1500, "zone-a"],
  );
  assert.deepEqual(client.lines.length, 1, "nothing is streamed before there is anything");
  scene.server.update(snapshot(1));
  const whole = await client.line("snapshot");
  assert.deepEqual(hostsOf(whole), ["a.example.com"]);
  scene.server.update(snapshot(2, ["a.example.com", "b.example.com"]));
  const delta = await client.line("delta");
  assert.equal(delta.base, whole.hash);
  assert.deepEqual(hostsOf(delta), ["b.example.com"]);
  const [session] = scene.server.sessions;
  await client.until("sync", () => session.isInSync);
  assert.deepEqual(session.inForce, { version: delta.version, hash: delta.hash });
  assert.match(await scene.metrics.text(), /propagation_seconds_count 1/);
});

Deno.test("a proxy that is up to date is told so, under any version", async () => {
  await using scene = await startStream();
  scene.server.update(snapshot(1));
  const first = scene.connect();
  const { hash } = await first.line("snapshot");
  scene.server.update(snapshot(2));
  const version = { epoch: "e", seen: { Ingress: "1" } };
  const second = scene.connect("proxy-2", { hello: { ...HELLO, version, hash } });
  assert.deepEqual((await second.line("same")).version, { epoch: "e", seen: { Ingress: "2" } });
  assert.deepEqual(scene.claims.at(0), version);
  const { version: later } = await first.line("delta");
  assert.deepEqual(later, { epoch: "e", seen: { Ingress: "2" } });
});

Deno.test("a translation with the same result is sent to no proxy", async () => {
  await using scene = await startStream({ timing: { heartbeat: 100 } });
  scene.server.update(snapshot(1));
  const client = scene.connect();
  await client.line("snapshot");
  scene.server.update(snapshot(1));
  await client.until("pings", () => client.pings > 3);
  assert.equal(client.lines.length, 2);
});

Deno.test("a proxy whose delta does not apply gets a full snapshot, at most once a second", async () => {
  await using scene = await startStream();
  scene.server.update(snapshot(1));
  const client = scene.connect();
  await client.line("snapshot");
  const at = performance.now();
  client.report({ kind: "lost", reason: "a hash does not match" });
  client.report({ kind: "lost", reason: "a hash does not match" });
  await client.line("snapshot", client.lines.length);
  assert.ok(performance.now() - at > 500);
  assert.equal(client.lines.filter(({ kind }) => kind === "snapshot").length, 2);
});

Deno.test("an update rejected by a proxy is shown, and the next one is sent on top of its state", async () => {
  await using scene = await startStream();
  scene.server.update(snapshot(1));
  const client = scene.connect("proxy-1", { acknowledges: false });
  const { version, hash } = await client.line("snapshot");
  client.report({ kind: "refused", version, hash, code: "invalid", reason: "$.hosts[0]: no" });
  const [session] = scene.server.sessions;
  await client.until("refusal", () => session.refusal);
  assert.deepEqual([session.refusal?.code, session.isInSync], ["invalid", false]);
  scene.server.update(snapshot(2, ["b.example.com"]));
  const delta = await client.line("delta");
  assert.equal(delta.base, hash);
  client.report({ kind: "applied", version: delta.version, hash: delta.hash });
  await client.until("sync", () => session.isInSync && session.refusal === null);
});

Deno.test("the same update rejected repeatedly is logged once, with the time of the first rejection", async () => {
  const told: string[] = [];
  const log = { ...silentLogger, info: (message: string) => void told.push(message) };
  await using scene = await startStream({ log });
  scene.server.update(snapshot(1));
  const client = scene.connect("proxy-1", { acknowledges: false });
  const { version, hash } = await client.line("snapshot");
  const refuse = () =>
    client.report({ kind: "refused", version, hash, code: "older", reason: "older" });
  refuse();
  const [session] = scene.server.sessions;
  const first = await client.until("refusal", () => session.refusal);
  refuse();
  const second = await client.until(
    "second refusal",
    () => session.refusal === first ? null : session.refusal,
  );
  assert.equal(second.at, first.at);
  assert.equal(told.filter((message) => message === "A proxy rejected an update").length, 1);
});

Deno.test("a proxy that rejected a version as too old gets the next one at once", async () => {
  await using scene = await startStream({ timing: { heartbeat: 60_000 } });
  scene.server.update(snapshot(1));
  const client = scene.connect("proxy-1", { acknowledges: false });
  const { version, hash } = await client.line("snapshot");
  client.report({ kind: "refused", version, hash, code: "older", reason: "older" });
  await client.until("refusal", () => scene.server.sessions[0].refusal);
  scene.server.update(snapshot(2));
  assert.deepEqual((await client.line("delta")).version, { epoch: "e", seen: { Ingress: "2" } });
});

Deno.test("a configuration too large for any proxy is not sent, and proxies keep theirs until it shrinks", async () => {
  let news = 0;
  await using scene = await startStream({ maxUpdate: 100_000, onNews: () => void news++ });
  const hosts = (count: number) => Array.from({ length: count }, (_, i) => `h${i}.example.com`);
  scene.server.update(snapshot(1, hosts(100)));
  const client = scene.connect();
  const whole = await client.line("snapshot");
  await client.until("sync", () => scene.server.sessions[0].isInSync);
  const before = news;
  for (const revision of [2, 3]) scene.server.update(snapshot(revision, hosts(600)));
  assert.ok(scene.server.tooLarge! > 100_000, String(scene.server.tooLarge));
  assert.equal(news, before + 1);
  const late = scene.connect("proxy-2");
  assert.equal((await late.line("snapshot")).hash, whole.hash);
  assert.equal(client.lines.length, 2);
  // All of the old is removed, and all of the new is there: more than either of them.
  const other = hosts(300).map((host) => `other-${host}`);
  scene.server.update(snapshot(4, other));
  assert.equal(scene.server.tooLarge, null);
  assert.deepEqual((await client.line("delta")).hash, scene.server.updates.current?.hash);
});

Deno.test("an internal error in one stream ends only that stream", async () => {
  await using scene = await startStream({
    onClaim({ seen }) {
      if (seen.Ingress === "666") throw new Error("a mistake");
    },
  });
  scene.server.update(snapshot(1));
  const good = scene.connect("proxy-2");
  await good.line("snapshot");
  const version = { epoch: "e", seen: { Ingress: "666" } };
  const client = scene.connect("proxy-1", { hello: { ...HELLO, version } });
  await client.ended();
  scene.server.update(snapshot(2, ["b.example.com"]));
  await good.line("delta");
  assert.match(await scene.metrics.text(), /ends_total\{reason="failed"\} 1/);
});

Deno.test("a silent proxy is disconnected, and pings keep a proxy informed that the controller is alive", async () => {
  await using scene = await startStream({ timing: { silence: 1000, heartbeat: 200 } });
  const client = scene.connect();
  await client.line("bye");
  assert.ok(client.pings >= 2);
  const mute = scene.connect("proxy-2", { hello: null });
  await mute.answered();
});

Deno.test("a stream ends when its token expires, unless a newer token of the same pod arrives", async () => {
  await using scene = await startStream();
  const client = scene.connect("proxy-1/600");
  const other = scene.connect("proxy-2/600");
  await other.line("hello");
  const alive = { kind: "alive", version: null, hash: null };
  other.report({ ...alive, token: "proxy-2/60000" });
  await client.line("bye");
  await client.ended();
  assert.equal(other.isEnded, false);
  other.report({ ...alive, token: "outage" });
  other.report({ ...alive, token: "proxy-2" });
  await other.until(
    "longer life",
    () => scene.server.sessions[0].expiresAt > performance.now() + 1_000_000,
  );
  other.report({ ...alive, token: "proxy-3" });
  await other.line("bye");
});

Deno.test("streams end at their maximum age, so that proxies rebalance", async () => {
  await using scene = await startStream({ timing: { age: 500 } });
  const client = scene.connect();
  await client.line("bye");
  await client.ended();
});

Deno.test("a proxy that is newer than a replica without API server is sent to another replica", async () => {
  let isCutOff = false;
  await using scene = await startStream({
    isCutOff: () => isCutOff,
    timing: { behind: 0, heartbeat: 100 },
  });
  scene.server.update(snapshot(1));
  const version = { epoch: "e", seen: { Ingress: "2" } };
  const ahead = scene.connect("proxy-1", { hello: { ...HELLO, version }, acknowledges: false });
  const other = scene.connect("proxy-2");
  await Promise.all([ahead.line("snapshot"), other.line("snapshot")]);
  const { pings } = ahead;
  await ahead.until("pings", () => ahead.pings > pings + 5);
  isCutOff = true;
  await ahead.line("bye");
  await ahead.ended();
  assert.equal(other.isEnded, false);
  assert.match(await scene.metrics.text(), /ends_total\{reason="behind"\} 1/);
});

Deno.test("a proxy that reconnects replaces its previous stream", async () => {
  await using scene = await startStream();
  const first = scene.connect();
  await first.line("hello");
  const second = scene.connect();
  await second.line("hello");
  await first.line("bye");
  await first.ended();
  assert.equal(scene.server.sessions.length, 1);
});

Deno.test("the number of connected proxies is limited", async () => {
  await using scene = await startStream({ maxSessions: 1 });
  await scene.connect("proxy-1").line("hello");
  assert.equal(await scene.connect("proxy-2").answered(), 503);
});

Deno.test("a controller that shuts down tells every proxy", async () => {
  const scene = await startStream();
  const clients = ["proxy-1", "proxy-2"].map((token) => scene.connect(token));
  await Promise.all(clients.map((client) => client.line("hello")));
  await scene.server.stop();
  for (const client of clients) {
    assert.equal((await client.line("bye")).reason, "this controller ends");
    await client.ended();
  }
});

Deno.test("the next handshake uses the new certificate, and streams continue", async () => {
  await using scene = await startStream();
  const client = scene.connect();
  await client.line("hello");
  await scene.certificates.present("localhost", "other.example.com");
  const next = scene.connect("proxy-2", { servername: "other.example.com" });
  await next.line("hello");
  scene.server.update(snapshot(1));
  await client.line("snapshot");
});

Deno.test("an invalid certificate leaves the current one in use", async () => {
  await using scene = await startStream();
  await scene.certificates.break();
  await scene.connect().line("hello");
});

Deno.test("handshakes fail until there is a certificate, and then succeed", async () => {
  const certificates = new Certificates();
  await using scene = await startStream({ certificates });
  const early = scene.connect();
  await early.ended();
  await certificates.present("localhost");
  await scene.connect("proxy-2").line("hello");
});

Deno.test("a stream ends when the pod of its token is deleted, and others continue", async () => {
  const forgotten: string[] = [];
  const reviews = {
    review: (token: Secret) => Promise.resolve(judge(token.reveal())),
    stop: () => {},
    forget: (uid: string) => forgotten.push(uid),
  };
  await using scene = await startStream({ reviews });
  scene.server.update(snapshot(1));
  const gone = scene.connect("proxy-1");
  const other = scene.connect("proxy-2");
  await Promise.all([gone.line("snapshot"), other.line("snapshot")]);
  scene.server.podGone("uid-proxy-1");
  assert.match(
    String((await gone.line("bye")).reason),
    /pod that the proxy's token is bound to is gone/,
  );
  await gone.ended();
  assert.deepEqual(forgotten, ["uid-proxy-1"]);
  // Whatever is said of the token.
  const again = scene.connect("proxy-1");
  assert.equal(await again.answered(), 401);
  scene.server.update(snapshot(2, ["b.example.com"]));
  await other.line("delta");
  assert.deepEqual(scene.server.sessions.map(({ name }) => name), ["proxy-2"]);
});

Deno.test("a stream of a pod that is not watched ends when the API server refuses its token, and no other does", async () => {
  const asked: string[] = [];
  const good = (token: string) => judge(token);
  let say = good;
  const reviews = {
    review: (token: Secret, _: string, isAnew = false) => {
      if (isAnew) asked.push(token.reveal());
      return Promise.resolve(isAnew ? say(token.reveal()) : judge(token.reveal()));
    },
    stop: () => {},
    forget: () => {},
  };
  await using scene = await startStream({
    ...{ reviews, watchedPods: () => new Set(["uid-watched"]), unwatchedInterval: 1 },
  });
  const clients = ["gone", "watched", "kept"].map((token) => scene.connect(token));
  await Promise.all(clients.map((client) => client.line("hello")));
  const names = () => scene.server.sessions.map(({ identity }) => identity.pod);
  for (const answer of [good, () => judge("outage")]) {
    say = answer;
    asked.length = 0;
    await clients[0].until("questions", () => asked.length >= 4);
    assert.deepEqual(names(), ["gone", "watched", "kept"]);
  }
  say = (token) => judge(token === "kept" ? token : "bad");
  assert.match(String((await clients[0].line("bye")).reason), /pod .* is gone/);
  asked.length = 0;
  await clients[2].until("more questions", () => asked.length >= 2);
  assert.deepEqual(names(), ["watched", "kept"]);
  assert.deepEqual(new Set(asked), new Set(["kept"]));
  assert.match(await scene.metrics.text(), /stream_ends_total\{reason="pod_gone"\} 1/);
});

Deno.test("a proxy whose pod is deleted while it is let in gets no stream", async () => {
  const zone = Promise.withResolvers<string | null>();
  const asked = Promise.withResolvers<void>();
  await using scene = await startStream({
    zoneOf: () => {
      asked.resolve();
      return zone.promise;
    },
  });
  const client = scene.connect("proxy-1");
  await asked.promise;
  scene.server.podGone("uid-proxy-1");
  zone.resolve(null);
  assert.equal(await client.answered(), 401);
});
