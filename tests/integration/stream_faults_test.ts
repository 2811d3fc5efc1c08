/**
 * What a proxy does with a controller that is gone, silent, somebody else, or speaks half a line:
 * what is in force stays, each reason is logged once, and another stream is begun.
 */
import assert from "node:assert/strict";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Content } from "../../shared/stream/content.ts";
import { deltaLine, wholeLine } from "../../shared/stream/change.ts";
import { unitHash } from "../../shared/stream/unit.ts";
import { type Answer } from "../support/misbehaving_controller.ts";
import { seeing, StreamScene, until } from "../support/stream_scene.ts";

/** A scene whose stream has brought revision 5. */
async function synced(options = {}) {
  const scene = await StreamScene.start(null, options);
  const stream = await scene.controller.stream(0);
  stream.hello();
  const content = stream.whole(seeing(5));
  await stream.report("applied");
  return { scene, stream, content };
}

/** The stream with this number takes up where the last one was. */
async function resumes(scene: StreamScene, index: number, content: Content): Promise<void> {
  const stream = await scene.controller.stream(index);
  const { hash, version } = await stream.report("hello");
  assert.deepEqual([hash, version], [content.hash, content.version]);
  stream.hello();
  stream.delta(content, seeing(100 + index, ["later.test"]));
  await stream.report("applied");
}

Deno.test("a stream that breaks within a line has no effect, and the next one continues", async () => {
  const { scene, stream, content } = await synced();
  await using _ = scene;
  const line = deltaLine(content, Content.of(seeing(6, ["half.test"]), content));
  stream.write(line.slice(0, line.length - 10));
  stream.say({});
  await new Promise((resolve) => setTimeout(resolve, 50));
  stream.cut();
  await resumes(scene, 1, content);
  assert.deepEqual(scene.revisions, [5, 101]);
});

Deno.test("a line without its end is ignored", async () => {
  const { scene, stream, content } = await synced();
  await using _ = scene;
  stream.write(deltaLine(content, Content.of(seeing(6), content)).trimEnd());
  stream.end();
  await resumes(scene, 1, content);
  assert.deepEqual(scene.revisions, [5, 101]);
});

Deno.test("a silent controller is considered dead, one that pings is not", async () => {
  const { scene, stream, content } = await synced({ stream: { times: { silence: 400 } } });
  await using _ = scene;
  for (let ping = 0; ping < 8; ping++) {
    stream.say({ kind: "ping" });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.equal(scene.controller.streams.length, 1);
  assert.equal(stream.hasEnded, false);
  await stream.ended();
  await resumes(scene, 1, content);
  assert.deepEqual(scene.failures, ["the controller has said nothing for 0.4 s"]);
});

Deno.test("a full snapshot that arrives byte by byte is waited for", async () => {
  await using scene = await StreamScene.start(null, { stream: { times: { silence: 300 } } });
  const stream = await scene.controller.stream(0);
  stream.hello();
  const line = wholeLine(Content.of(seeing(5)));
  const step = Math.ceil(line.length / 10);
  for (let at = 0; at < line.length; at += step) {
    stream.write(line.slice(at, at + step));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await stream.report("applied");
  assert.equal(scene.controller.streams.length, 1);
});

Deno.test("a line over the limit ends the stream, and is not kept in memory", async () => {
  const { scene, stream, content } = await synced({ stream: { maxLine: 4096 } });
  await using _ = scene;
  stream.write(`{"kind":"snapshot","x":"${"x".repeat(5000)}`);
  await stream.ended();
  await resumes(scene, 1, content);
  const ended = scene.lines.find(({ message }) => message === "Stream from the controller ended");
  assert.equal(ended?.fields.reason, "a line is longer than 4096 bytes");
});

Deno.test("after bye the proxy reconnects at once", async () => {
  const { scene, stream, content } = await synced();
  await using _ = scene;
  stream.say({ kind: "bye", reason: "draining" });
  await stream.ended();
  await resumes(scene, 1, content);
  assert.deepEqual(scene.failures, []);
});

Deno.test("while the controller is down the active snapshot stays, and then the stream continues from there", async () => {
  const { scene, content } = await synced();
  await using _ = scene;
  const { controller } = scene;
  await controller.leave();
  await until(() => scene.failures.length > 0, "it was missed");
  assert.match(scene.failures[0], /^nothing accepts connections at localhost:\d+$/);
  assert.equal(scene.sources.scraped?.isConnected, false);
  await until(() => scene.sources.scraped!.failed > 5, "some attempts have failed");
  assert.equal(scene.failures.length, 1, "the reason is said once");
  await controller.listen();
  await resumes(scene, 1, content);
  assert.deepEqual(scene.revisions, [5, 101]);
});

Deno.test("a foreign, misnamed or expired certificate is rejected, and the right one is accepted", async (t) => {
  const stranger = await CertificateAuthority.create("Stranger");
  const table: [says: string, show: (scene: StreamScene) => Promise<void>, reason: RegExp][] = [
    [
      "another authority",
      ({ controller }) => controller.show(["localhost"], undefined, stranger),
      /^its certificate is not valid now, or of no CA in --controller-ca$/,
    ],
    [
      "expired",
      ({ controller }) => controller.show(["localhost"], Date.now() - 1000),
      /^its certificate is not valid now, or of no CA in --controller-ca$/,
    ],
    [
      "another name",
      ({ controller }) => controller.show(["other.test"]),
      /^its certificate is not for localhost$/,
    ],
  ];
  for (const [says, show, reason] of table) {
    await t.step(says, async () => {
      const { scene, stream, content } = await synced();
      await using _ = scene;
      await show(scene);
      stream.cut();
      await until(() => scene.failures.length === 1, "it was refused");
      assert.match(scene.failures[0], reason);
      await until(() => scene.sources.scraped!.failed > 2, "it is tried again");
      assert.equal(scene.failures.length, 1);
      assert.equal(scene.controller.requests, 1, "no token was shown");
      await scene.controller.show(["localhost"]);
      await resumes(scene, 1, content);
    });
  }
});

Deno.test("the CA bundle is read again: a CA added to it is trusted", async () => {
  const { scene, stream, content } = await synced();
  await using _ = scene;
  const { controller } = scene;
  const next = await CertificateAuthority.create("Next");
  await controller.show(["localhost"], undefined, next);
  stream.cut();
  await until(() => scene.failures.length === 1, "it was refused");
  controller.writeCa(controller.authority.certificate + next.certificate);
  await resumes(scene, 1, content);
});

Deno.test("a missing or invalid CA or token file is reported, and waited for", async (t) => {
  const table: [says: string, spoil: (scene: StreamScene) => void, reason: RegExp][] = [
    [
      "no authority",
      ({ controller }) => Deno.removeSync(controller.caFile),
      /ca\.crt: it does not/,
    ],
    ["an empty one", ({ controller }) => controller.writeCa(""), /ca\.crt: it has no certificate/],
    ["no PEM", ({ controller }) => controller.writeCa("x"), /ca\.crt: it has no certificate/],
    ["no token", ({ controller }) => Deno.removeSync(controller.tokenFile), /token: it does not/],
    ["an empty token", ({ controller }) => controller.writeToken("\n"), /token: it is empty/],
    [
      "a header",
      ({ controller }) => controller.writeToken("a\r\nb: c"),
      /token: it holds no token/,
    ],
  ];
  for (const [says, spoil, reason] of table) {
    await t.step(says, async () => {
      const { scene, stream, content } = await synced();
      await using _ = scene;
      // Before an authority is mended, as the next stream may begin at that very moment.
      scene.controller.writeToken("token-2");
      spoil(scene);
      stream.cut();
      await until(() => scene.failures.length === 1, "it was told");
      assert.match(scene.failures[0], reason);
      const { fields } = scene.lines.at(-1)!;
      assert.notEqual(fields.remedy, "");
      scene.controller.writeCa(scene.controller.authority.certificate);
      scene.controller.writeToken("token-2");
      await resumes(scene, 1, content);
      assert.equal(scene.controller.streams[1].headers.authorization, "Bearer token-2");
    });
  }
});

Deno.test("a rejected token is read again for each attempt, and used once it is valid", async () => {
  const wanted: Answer = ({ headers }) => headers.authorization === "Bearer token-2" ? null : 401;
  await using scene = await StreamScene.start(seeing(1), {}, wanted);
  const { controller } = scene;
  await until(() => scene.failures.length > 0, "it was refused");
  assert.equal(scene.failures.at(-1), "it responded with 401: because the test says so");
  const { fields } = scene.lines.at(-1)!;
  assert.match(String(fields.remedy), /--controller-token/);
  controller.writeToken("token-2");
  await controller.stream(0);
  assert.equal(scene.failures.length, 1);
});

Deno.test("a response that is not a stream is reported with its status and a remedy", async (t) => {
  const table: [answer: number | "silence", reason: RegExp, remedy: RegExp][] = [
    [400, /^it responded with 400: because/, /versions that understand/],
    [403, /^it responded with 403: because/, /service account/],
    [404, /^it responded with 404: because/, /--controller names/],
    [426, /^it responded with 426: because/, /versions that understand/],
    [503, /^it responded with 503: because/, /wait/],
    ["silence", /^its answer took longer than 0\.2 s$/, /controller runs/],
  ];
  for (const [answer, reason, remedy] of table) {
    await t.step(String(answer), async () => {
      const options = { stream: { times: { head: 200 } } };
      await using scene = await StreamScene.start(seeing(1), options, () => answer);
      await until(() => scene.failures.some((said) => reason.test(said)), "it was told");
      const line = scene.lines.find(({ fields }) => reason.test(String(fields.reason)));
      assert.match(String(line?.fields.remedy), remedy);
      scene.controller.answer = () => null;
      const stream = await scene.controller.stream(0);
      stream.hello();
      stream.whole(seeing(5));
      await stream.report("applied");
    });
  }
});

Deno.test("a slow controller gets a longer timeout at each attempt, until there is a stream", async () => {
  const times = { head: 100 };
  await using scene = await StreamScene.start(seeing(1), { stream: { times } }, () => "silence");
  await until(() => scene.controller.requests > 0, "a request");
  scene.controller.answer = () => null;
  scene.controller.delay = 600;
  const stream = await scene.controller.stream(0);
  stream.hello();
  stream.whole(seeing(5));
  await stream.report("applied");
  assert.deepEqual(scene.failures, ["its answer took longer than 0.1 s"]);
  // After 100, 200 and 400 ms, and as many more as the machine was busy for.
  const { requests } = scene.controller;
  assert.ok(requests >= 3, `${requests} requests`);
  scene.controller.answer = () => "silence";
  stream.cut();
  await until(
    () => scene.failures.filter((said) => said === "its answer took longer than 0.1 s").length > 1,
    "the time of the beginning",
  );
});

Deno.test("the proxy sends heartbeats with the current token and the active version", async () => {
  const { scene, stream } = await synced({ stream: { times: { alive: 50 } } });
  await using _ = scene;
  const { token, hash } = await stream.report("alive");
  assert.deepEqual([token.reveal(), hash], ["token-1", scene.sources.state.hash]);
  scene.controller.writeToken("token-2");
  const from = stream.reports.length + 2;
  assert.equal((await stream.report("alive", from)).token.reveal(), "token-2");
});

Deno.test("no token, and no key of a certificate, is logged", async () => {
  await using scene = await StreamScene.start(seeing(1), {}, () => 401);
  await until(() => scene.sources.scraped!.failed > 0, "an attempt has failed");
  assert.equal(JSON.stringify(scene.lines).includes("token-1"), false);
});

Deno.test("a proxy that is busy for longer than the silence timeout does not consider its controller dead", async () => {
  const { scene, stream, content } = await synced({ stream: { times: { silence: 300 } } });
  await using _ = scene;
  const pings = setInterval(() => stream.say({ kind: "ping" }), 50);
  try {
    const end = performance.now() + 900;
    while (performance.now() < end);
    stream.delta(content, seeing(6));
    await stream.reportsOf("applied", 2);
    assert.equal(scene.controller.streams.length, 1);
  } finally {
    clearInterval(pings);
  }
});

/** The whole line of a controller that knows a field more of each route. */
function newerLine(snapshot: Snapshot): object {
  const content = Content.of(snapshot);
  const message = JSON.parse(wholeLine(content));
  const sum = content.sum();
  for (const unit of content.hosts) {
    const host = message.hosts.find(({ host }: { host: string }) => host === unit.key);
    host.weather = "fine";
    sum.toggle(unit);
    sum.toggle({ key: unit.key, hash: unitHash("host", unit.key, JSON.stringify(host)) });
  }
  return { ...message, hash: sum.toHex() };
}

Deno.test("a field that a newer controller adds to every part has no effect, and is reported once", async () => {
  await using scene = await StreamScene.start();
  const stream = await scene.controller.stream(0);
  stream.hello();
  const hosts = ["x.test", "y.test", "z.test"];
  for (let i = 0; i < 3; i++) {
    stream.say(newerLine(seeing(5 + i, hosts.slice(2 - i))));
    await stream.reportsOf("applied", i + 1);
  }
  assert.deepEqual(scene.revisions, [5, 6, 7]);
  const said = scene.lines.filter(({ fields }) => /weather/.test(String(fields.path)));
  assert.deepEqual(said.map(({ level }) => level), ["warn"]);
  // After a break, what is in force is known by the hash that the controller gave it.
  const { hash } = await stream.report("applied", stream.reports.length - 1);
  stream.cut();
  const next = await scene.controller.stream(1);
  assert.equal((await next.report("hello")).hash, hash);
  next.hello();
  next.say({ kind: "same", version: seeing(9).version, hash });
  await next.report("applied");
  assert.equal(scene.sources.state.version?.seen.Ingress, "9");
});
