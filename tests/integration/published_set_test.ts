/** A proxy as in a pod: its volume fills late, piece by piece, and is swapped while it serves. */
import assert from "node:assert/strict";
import tls from "node:tls";
import { layPublishedSet } from "../../controller/outputs/publish/layout.ts";
import { sha256Of } from "../../shared/snapshot/published_set.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { Certificate, Snapshot } from "../../shared/snapshot/types.ts";
import { Backend } from "../support/backend.ts";
import { MountedVolume } from "../support/mounted_volume.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { largeSnapshot, toFiles } from "../support/published_scene.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { authority } from "../support/tls_proxy.ts";

const HOST = "web.example.com";

async function certificate(): Promise<Certificate> {
  const { chain, key } = await authority.issue({ names: [HOST] });
  return {
    id: sha256Of(chain),
    hosts: [HOST],
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: new Redacted(key.reveal()) },
    origin: { kind: "Secret", namespace: "test", name: "web", field: "data" },
  };
}

/** All requests to one backend, with a certificate, and so much besides that it takes parts. */
async function large(backend: Backend, seen: string): Promise<Snapshot> {
  const { routes, upstreams } = largeSnapshot({ routes: 5000 });
  const own = snapshotOf([backend.port]);
  return {
    ...own,
    version: { epoch: "cluster", seen: { Ingress: seen } },
    routes: [...routes, ...own.routes],
    upstreams: [...upstreams, ...own.upstreams].sort((a, b) => a.id < b.id ? -1 : 1),
    certificates: [await certificate()],
  };
}

type Files = ReturnType<typeof toFiles>;

/** In a mounted volume under the name that the process reads. */
function publisher(): { publish: (folder: string) => void; volume: () => MountedVolume } {
  const volumes: MountedVolume[] = [];
  return {
    publish: (folder) => void volumes.push(new MountedVolume(folder)),
    volume: () => volumes[0],
  };
}

function named(files: Files): Files {
  const { "proxy-v2.json": first, ...rest } = files;
  return { "snapshot.json": first, ...rest };
}

/** Fingerprint of the certificate that a client is shown. */
function shown(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = tls.connect({
    host: "127.0.0.1",
    port,
    servername: HOST,
    ca: authority.certificate,
  });
  socket.once("secureConnect", () => {
    resolve(socket.getPeerCertificate().fingerprint256);
    socket.destroy();
  });
  socket.once("error", reject);
  return promise;
}

async function status(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { redirect: "manual" });
  await response.body?.cancel();
  return response.status;
}

Deno.test("a proxy without a configuration stays alive and unready, and serves once it is complete", async () => {
  await using backend = new Backend();
  const { publish, volume } = publisher();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([]),
    publish,
    started: "Not ready",
    args: ["--workers=2", "--allow-loopback-upstreams", "--ssl-redirect=false"],
  });
  const expectNotReady = async (reason: RegExp) => {
    for (;;) {
      const { status, text } = await proxy.admin("/readyz");
      assert.equal(status, 503);
      if (reason.test(text)) break;
      await new Promise((resume) => setTimeout(resume, 20));
    }
    assert.equal((await proxy.admin("/healthz")).status, 200);
    assert.equal((await proxy.admin("/metrics")).status, 200);
  };
  await expectNotReady(/^starting; configuration: it does not exist$/m);

  const whole = named(toFiles(layPublishedSet(await large(backend, "1"))));
  const { "proxy-v2-1.json": _, ...incomplete } = whole;
  volume().publish(incomplete);
  await expectNotReady(/^starting; configuration: proxy-v2-1\.json: it does not exist$/m);

  volume().publish(whole);
  await proxy.line("Ready");
  assert.equal((await proxy.admin("/readyz")).status, 200);
  assert.equal(await status(proxy.httpPort), 200);
  const first = await shown(proxy.httpsPort);

  volume().publish(named(toFiles(layPublishedSet(await large(backend, "2")))));
  const deadline = performance.now() + 20_000;
  while (await shown(proxy.httpsPort) === first) {
    assert.ok(performance.now() < deadline, "the next key is used");
    await new Promise((resume) => setTimeout(resume, 20));
  }
  assert.ok(!JSON.stringify(proxy.lines).includes("PRIVATE KEY"));
});

Deno.test("a proxy that waits for its configuration stops on a signal", async () => {
  const { publish } = publisher();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([]),
    publish,
    started: "Not ready",
    args: ["--workers=1"],
  });
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 0);
});
