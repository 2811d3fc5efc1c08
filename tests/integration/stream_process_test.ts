/** The proxy as a process with the permissions of deno.json, its workers, and a controller. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { MisbehavingController } from "../support/misbehaving_controller.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { seeing } from "../support/stream_scene.ts";
import { snapshotOf } from "../support/test_proxy.ts";

/** `a.test` to this port. */
function to(port: number, revision: number, hosts = ["a.test"]): Snapshot {
  return { ...seeing(revision, hosts), upstreams: snapshotOf([port]).upstreams };
}

async function statusFor(proxy: ProxyProcess, host: string): Promise<number> {
  using client = await Peer.connect(proxy.httpPort);
  return statusOf(await client.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
}

/** Debian's package `faketime`. */
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

const noFile = () => {};

for (const workers of [1, 2]) {
  Deno.test(`with ${workers} workers and no file, a proxy is ready by the stream alone, and serves each change`, async () => {
    await using backend = new Backend();
    await using controller = await MisbehavingController.start();
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([]),
      publish: noFile,
      started: "Not ready",
      // Bound to networks, it may dial the controller by its name all the same.
      args: [
        ...controller.flags,
        `--workers=${workers}`,
        "--allow-loopback-upstreams",
        "--upstream-networks=127.0.0.1/32",
      ],
    });
    const waiting = await proxy.admin("/readyz");
    assert.equal(waiting.status, 503);
    assert.match(waiting.text, /configuration: the file: it does not exist; the controller: /);
    const stream = await controller.stream(0);
    stream.hello("zone-a");
    const first = stream.whole(to(backend.port, 5));
    await proxy.line("Ready");
    await stream.report("applied");
    assert.equal(await statusFor(proxy, "a.test"), 200);
    assert.equal(await statusFor(proxy, "b.test"), 404);
    stream.delta(first, to(backend.port, 6, ["a.test", "b.test"]));
    await stream.reportsOf("applied", 2);
    // Applied means: by every worker, whichever takes the connection.
    for (let i = 0; i < 20; i++) assert.equal(await statusFor(proxy, "b.test"), 200);
    const shown = JSON.parse((await proxy.admin("/configuration")).text);
    assert.equal(shown.inForce.from, "stream");
    assert.equal(shown.inForce.version.seen.Ingress, "6");
    assert.deepEqual(shown.stream.controller, { name: "test", build: "0" });
    assert.equal(shown.stream.zone, "zone-a");
    const { text } = await proxy.admin("/metrics");
    assert.match(text, /^pingress_stream_connected 1$/m);
    assert.match(text, /^pingress_stream_updates_total\{kind="delta",result="applied"\} 1$/m);
    assert.match(text, /^pingress_stream_sync_age_seconds \d/m);
    proxy.signal("SIGTERM");
    assert.equal(await proxy.ended, 0);
    await stream.ended();
  });
}

Deno.test("with a file a proxy serves without a controller, reports it, and connects when one starts", async () => {
  await using backend = new Backend();
  await using controller = await MisbehavingController.start();
  await controller.leave();
  await using proxy = await ProxyProcess.start({
    snapshot: to(backend.port, 5),
    args: [...controller.flags, "--workers=2", "--allow-loopback-upstreams"],
  });
  const line = await proxy.line("No stream from the controller");
  assert.match(String(line.reason), /^nothing accepts connections at localhost:/);
  assert.equal(await statusFor(proxy, "a.test"), 200);
  await controller.listen();
  const stream = await controller.stream(0);
  stream.hello();
  const content = stream.same(to(backend.port, 5));
  stream.delta(content, to(backend.port, 6, ["b.test"]));
  await stream.reportsOf("applied", 2);
  assert.equal(await statusFor(proxy, "b.test"), 200);
  assert.equal(await statusFor(proxy, "a.test"), 404);
});

Deno.test("an invalid file at the start is reported, and the stream provides the configuration", async () => {
  await using controller = await MisbehavingController.start();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([]),
    publish: (folder) => Deno.writeTextFileSync(`${folder}/snapshot.json`, '{"format": 2, "rou'),
    started: "Not ready",
    args: [...controller.flags, "--workers=1"],
  });
  assert.ok(proxy.lines.some(({ message }) => message === "Configuration rejected"));
  const stream = await controller.stream(0);
  stream.hello();
  stream.whole(seeing(5));
  await proxy.line("Ready");
});

Deno.test("a clock that is an hour off in either direction does no harm", async () => {
  const isHere = await Deno.stat(FAKETIME).then(() => true, () => false);
  if (!isHere) return console.log("skipped: Debian's package faketime is not installed");
  await using controller = await MisbehavingController.start();
  for (const [index, offset] of ["+1h", "-1h"].entries()) {
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([]),
      publish: noFile,
      started: "Not ready",
      wrapper: [
        "env",
        `LD_PRELOAD=${FAKETIME}`,
        `FAKETIME=${offset}`,
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
      ],
      args: [...controller.flags, "--workers=1"],
    });
    const stream = await controller.stream(index);
    stream.hello();
    stream.whole(seeing(5));
    await stream.report("applied");
    const { time } = await proxy.line("Ready");
    const hours = Math.round((Date.parse(String(time)) - Date.now()) / 3_600_000);
    assert.equal(hours, offset === "+1h" ? 1 : -1, "the clock was off");
  }
});

Deno.test("a full folder with a truncated file leaves the active snapshot", async () => {
  const folder = await Deno.makeTempDir();
  const mounted = await new Deno.Command("mount", {
    args: ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder],
    stderr: "null",
  }).output().then(({ success }) => success, () => false);
  if (!mounted) {
    await Deno.remove(folder);
    return console.log("skipped: a tmpfs cannot be mounted here, which takes root");
  }
  try {
    await using backend = new Backend();
    await using controller = await MisbehavingController.start();
    const file = `${folder}/snapshot.json`;
    // The process's own folder leads there.
    const publish = (own: string, text: string) => {
      Deno.writeTextFileSync(file, text);
      Deno.symlinkSync(file, `${own}/snapshot.json`);
    };
    await using proxy = await ProxyProcess.start({
      snapshot: to(backend.port, 5),
      publish,
      args: [...controller.flags, `--watch=${folder}`, "--workers=2", "--allow-loopback-upstreams"],
    });
    assert.throws(
      () => Deno.writeTextFileSync(file, `{"x": "${"x".repeat(100_000)}`),
      "the disk is full",
    );
    await proxy.line("Configuration rejected, keeping the active one");
    assert.equal(await statusFor(proxy, "a.test"), 200);
    const stream = await controller.stream(0);
    stream.hello();
    stream.whole(to(backend.port, 6, ["b.test"]));
    await stream.report("applied");
    assert.equal(await statusFor(proxy, "b.test"), 200);
  } finally {
    await new Deno.Command("umount", { args: ["-l", folder] }).output();
    await Deno.remove(folder);
  }
});
